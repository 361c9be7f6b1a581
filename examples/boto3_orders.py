"""A shop with boto3: customers, their carts and orders, and products, in one table.

All items of a customer have the customer's partition key. An order has the index's keys only until
it is shipped, so the index is sparse: it holds open orders and nothing else. Its entries are spread
over ten partition keys, because a single one would be hot. A product is stored as two items: a
large one that hardly changes, and a small one that changes often, because an update consumes
capacity for the size of the whole item.

orders.py declares the same table.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from heapq import merge
from typing import Any

from boto3.dynamodb.conditions import Key
from showing import Client, Item, Pattern, items, key_schema, main, strings

TABLE = "shop"
SHARDS = 10
LONG_DESCRIPTION = "Brews four cups. " * 400

MARCH = datetime(2024, 3, 1, 10, tzinfo=UTC)
APRIL = datetime(2024, 4, 2, 11, tzinfo=UTC)
BOBS = datetime(2024, 5, 1, 9, tzinfo=UTC)
MAY = datetime(2024, 5, 3, 12, tzinfo=UTC)


def create(client: Client) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=key_schema("pk", "sk"),
        AttributeDefinitions=strings("pk", "sk", "unfulfilled-pk", "unfulfilled-sk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "unfulfilled",
                "KeySchema": key_schema("unfulfilled-pk", "unfulfilled-sk"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


# ---- items ----


def new_customer(customer_id: str, name: str, email: str) -> Item:
    key = {"pk": f"customer#{customer_id}", "sk": "profile"}
    fields = {"customer_id": customer_id, "name": name, "email": email}
    return {"entityType": "Customer", **key, **fields}


def new_product(product_id: str, title: str, price: str, available: int) -> list[Item]:
    """The two items of a product: its content, which a page shows, and its stock, which changes."""
    both = {"pk": f"product#{product_id}", "product_id": product_id}
    content = {"title": title, "description": LONG_DESCRIPTION, "price": Decimal(price)}
    stock = {"available": available, "version": 1}
    return [
        {"entityType": "Product", **both, "sk": "content", **content},
        {"entityType": "Stock", **both, "sk": "stock", **stock},
    ]


def cart_key(customer_id: str, product_id: str) -> Item:
    return {"pk": f"customer#{customer_id}", "sk": f"cart#{product_id}"}


def time_text(at: datetime) -> str:
    """The time in UTC, with a fixed width, so that the strings sort in the order of time."""
    return f"{at:%Y-%m-%dT%H:%M:%S.%fZ}"


def order_key(customer_id: str, placed: datetime, order_id: str) -> Item:
    return {"pk": f"customer#{customer_id}", "sk": f"order#{time_text(placed)}#{order_id}"}


def new_order(
    customer_id: str, placed: datetime, order_id: str, lines: dict[str, int], status: str = "open"
) -> Item:
    new = {
        "entityType": "Order",
        **order_key(customer_id, placed, order_id),
        "customer_id": customer_id,
        "order_id": order_id,
        "placed": time_text(placed),
        "status": status,
        "lines": lines,
    }
    if status == "open":
        new["unfulfilled-pk"] = f"unfulfilled#{shard(order_id)}"
        new["unfulfilled-sk"] = f"{time_text(placed)}#{order_id}"
    return new


def shard(order_id: str) -> int:
    """The shard of an order, from 0 to 9. It depends on the id alone, so it never changes."""
    digest = hashlib.blake2b(order_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % SHARDS


def shop() -> Iterator[Item]:
    """Two customers and two products. Ann ordered three times, Bob once; two orders are open."""
    yield new_customer("ann", "Ann", "ann@example.com")
    yield new_customer("bob", "Bob", "bob@example.com")
    yield from new_product("pot", "Pot", "29.90", available=10)
    yield from new_product("cup", "Cup", "4.50", available=100)
    yield new_order("ann", MARCH, "o-1", {"cup": 2}, "shipped")
    yield new_order("ann", APRIL, "o-2", {"pot": 1}, "shipped")
    yield new_order("ann", MAY, "o-4", {"cup": 6})
    yield new_order("bob", BOBS, "o-3", {"pot": 2})


def load(client: Client) -> None:
    for item in shop():
        client.put_item(TableName=TABLE, Item=item)
    add_to_cart(client, "bob", "cup", 2)


# ---- what a customer does ----


def add_to_cart(client: Client, customer_id: str, product_id: str, quantity: int) -> int:
    """Add to the quantity of a product in the cart. Returns the new quantity."""
    response = client.update_item(
        TableName=TABLE,
        Key=cart_key(customer_id, product_id),
        UpdateExpression="SET entityType = :t, customer_id = :c, product_id = :p ADD quantity :q",
        ExpressionAttributeValues={
            ":t": "CartLine",
            ":c": customer_id,
            ":p": product_id,
            ":q": quantity,
        },
        ReturnValues="UPDATED_NEW",
    )
    return int(response["Attributes"]["quantity"])


def cart(client: Client, customer_id: str) -> list[Item]:
    return _of_customer(client, customer_id, Key("sk").begins_with("cart#"))


def cart_line(client: Client, customer_id: str, product_id: str) -> Item | None:
    return _get(client, cart_key(customer_id, product_id))


def place_order(client: Client, customer_id: str, placed: datetime, order_id: str) -> Item:
    """Turn the cart into an order and reduce the stock, in one transaction.

    Raises TransactionCanceledException if there is not enough of a product.
    """
    lines = {line["product_id"]: int(line["quantity"]) for line in cart(client, customer_id)}
    new = new_order(customer_id, placed, order_id, lines)
    actions: list[Item] = [
        {"Put": {"Item": new, "ConditionExpression": "attribute_not_exists(pk)"}},
        *({"Delete": {"Key": cart_key(customer_id, product_id)}} for product_id in lines),
        *(_take(product_id, quantity) for product_id, quantity in lines.items()),
    ]
    for action in actions:
        for details in action.values():
            details["TableName"] = TABLE
    client.transact_write_items(TransactItems=actions)
    return new


def _take(product_id: str, quantity: int) -> Item:
    return {
        "Update": {
            "Key": {"pk": f"product#{product_id}", "sk": "stock"},
            "UpdateExpression": "SET available = available - :quantity ADD version :one",
            "ConditionExpression": "available >= :quantity",
            "ExpressionAttributeValues": {":quantity": quantity, ":one": 1},
        }
    }


def customer(client: Client, customer_id: str) -> Item | None:
    return _get(client, {"pk": f"customer#{customer_id}", "sk": "profile"})


def orders(client: Client, customer_id: str) -> list[Item]:
    """The orders of a customer, the oldest first."""
    return _of_customer(client, customer_id, Key("sk").begins_with("order#"))


def orders_since(client: Client, customer_id: str, since: datetime) -> list[Item]:
    """Orders since a time. `>=` alone would also read the profile, which follows the orders."""
    between = Key("sk").between(f"order#{time_text(since)}", "order#~")
    return _of_customer(client, customer_id, between)


def order(client: Client, customer_id: str, placed: datetime, order_id: str) -> Item | None:
    return _get(client, order_key(customer_id, placed, order_id))


def latest_order(client: Client, customer_id: str) -> Item | None:
    page = client.query(
        TableName=TABLE,
        KeyConditionExpression=Key("pk").eq(f"customer#{customer_id}")
        & Key("sk").begins_with("order#"),
        ScanIndexForward=False,
        Limit=1,
    )
    return next(iter(page["Items"]), None)


def _get(client: Client, key: Item) -> Item | None:
    item: Item | None = client.get_item(TableName=TABLE, Key=key).get("Item")
    return item


def _of_customer(client: Client, customer_id: str, sort_key: Any) -> list[Item]:
    condition = Key("pk").eq(f"customer#{customer_id}") & sort_key
    return items(client.query, TableName=TABLE, KeyConditionExpression=condition)


# ---- what the company does ----


def unfulfilled(client: Client) -> list[Item]:
    """The open orders, the oldest first: queries all ten keys, and merges the results."""
    shards = (
        items(
            client.query,
            TableName=TABLE,
            IndexName="unfulfilled",
            KeyConditionExpression=Key("unfulfilled-pk").eq(f"unfulfilled#{number}"),
        )
        for number in range(SHARDS)
    )
    return list(merge(*shards, key=lambda item: str(item["unfulfilled-sk"])))


def ship(client: Client, customer_id: str, placed: datetime, order_id: str) -> None:
    """Ship an order. This removes the index's keys from the item, so the order leaves the index."""
    client.update_item(
        TableName=TABLE,
        Key=order_key(customer_id, placed, order_id),
        UpdateExpression="SET #status = :shipped REMOVE #pk, #sk",
        ConditionExpression="#status = :open",
        ExpressionAttributeNames={
            "#status": "status",
            "#pk": "unfulfilled-pk",
            "#sk": "unfulfilled-sk",
        },
        ExpressionAttributeValues={":open": "open", ":shipped": "shipped"},
    )


def restock(client: Client, product_id: str, quantity: int) -> float:
    """Add to the stock. Returns the consumed capacity: one unit, because the item is small."""
    response = client.update_item(
        TableName=TABLE,
        Key={"pk": f"product#{product_id}", "sk": "stock"},
        UpdateExpression="ADD available :quantity, version :one",
        ExpressionAttributeValues={":quantity": quantity, ":one": 1},
        ReturnConsumedCapacity="TOTAL",
    )
    return float(response["ConsumedCapacity"]["CapacityUnits"])


def product(client: Client, product_id: str) -> Item | None:
    return _get(client, {"pk": f"product#{product_id}", "sk": "content"})


def stock(client: Client, product_id: str) -> Item | None:
    return _get(client, {"pk": f"product#{product_id}", "sk": "stock"})


def product_in_full(client: Client, product_id: str) -> list[Item]:
    """Both items of a product, in one query."""
    condition = Key("pk").eq(f"product#{product_id}")
    return items(client.query, TableName=TABLE, KeyConditionExpression=condition)


PATTERNS = [
    Pattern(
        "Get a customer",
        *("Base table", "GetItem", "pk = `ann`", "sk = `profile`", ""),
        run=lambda client: [customer(client, "ann")],
    ),
    Pattern(
        "Get a customer's cart",
        *("Base table", "Query", "pk = `bob`", "sk begins_with `cart#`", ""),
        run=lambda client: cart(client, "bob"),
    ),
    Pattern(
        "Get a customer's orders",
        *("Base table", "Query", "pk = `ann`", "sk begins_with `order#`", ""),
        run=lambda client: orders(client, "ann"),
    ),
    Pattern(
        "Get a customer's orders since a moment",
        *("Base table", "Query", "pk = `ann`"),
        *("sk BETWEEN `order#2024-04-02…` AND `order#~`", ""),
        run=lambda client: orders_since(client, "ann", APRIL),
    ),
    Pattern(
        "Get a customer's latest order",
        *("Base table", "Query", "pk = `ann`", "sk begins_with `order#`"),
        "Limit = 1, ScanIndexForward = false",
        run=lambda client: [latest_order(client, "ann")],
    ),
    Pattern(
        "Get all unfulfilled orders",
        *("GSI, sparse", "Query", "unfulfilled-pk = `unfulfilled#0` to `#9`", "", "ten queries"),
        run=unfulfilled,
    ),
    Pattern(
        "Get a product, both parts",
        *("Base table", "Query", "pk = `pot`", "", ""),
        run=lambda client: product_in_full(client, "pot"),
    ),
]


def prepare(client: Client) -> None:
    create(client)
    load(client)


if __name__ == "__main__":
    main("Customers, carts and orders", prepare, PATTERNS)
