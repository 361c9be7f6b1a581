"""A shop with boto3: customers, their carts and orders, and products, in one table.

What belongs to a customer lies under the customer's partition key. An order has the attribute
`warehouse` only until it is fulfilled, so the index by it is sparse: it holds open orders and
nothing else. A product is two items: a large one that hardly changes, and a small one that
changes all the time, because an update is paid by the size of the whole item.
"""

from decimal import Decimal
from typing import Any

from boto3.dynamodb.conditions import Key
from showing import Client, Item, Pattern, items, key_schema, main, strings

TABLE = "shop"
LONG_DESCRIPTION = "Brews four cups. " * 400


def create(client: Client) -> None:
    client.create_table(
        TableName=TABLE,
        KeySchema=key_schema("pk", "sk"),
        AttributeDefinitions=strings("pk", "sk", "warehouse", "orderedAt"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "open-orders",
                "KeySchema": key_schema("warehouse", "orderedAt"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


# ---- items ----


def customer(customer_id: str, name: str) -> Item:
    return {"pk": f"customer#{customer_id}", "sk": "profile", "name": name}


def product(product_id: str, price: str, stock: int) -> list[Item]:
    """The static part (what a page shows) and the dynamic part (what a sale changes)."""
    pk = f"product#{product_id}"
    return [
        {"pk": pk, "sk": "static", "description": LONG_DESCRIPTION, "price": Decimal(price)},
        {"pk": pk, "sk": "dynamic", "stock": stock},
    ]


def cart_key(customer_id: str, product_id: str) -> Item:
    return {"pk": f"customer#{customer_id}", "sk": f"cart#{product_id}"}


def order_key(customer_id: str, ordered_at: str) -> Item:
    return {"pk": f"customer#{customer_id}", "sk": f"order#{ordered_at}"}


def order(customer_id: str, ordered_at: str, lines: dict[str, int]) -> Item:
    key = order_key(customer_id, ordered_at)
    return {**key, "customerId": customer_id, "orderedAt": ordered_at, "lines": lines}


def load(client: Client) -> None:
    """Two customers, two products; Ann has ordered three times, Bob once, two are open."""
    new = [customer("ann", "Ann"), customer("bob", "Bob")]
    new += product("pot", "29.90", stock=10) + product("cup", "4.50", stock=100)
    new += [
        order("ann", "2024-03-01T10:00", {"cup": 2}),
        order("ann", "2024-04-02T11:00", {"pot": 1}),
        {**order("ann", "2024-05-03T12:00", {"cup": 6}), "warehouse": "north"},
        {**order("bob", "2024-05-01T09:00", {"pot": 2}), "warehouse": "north"},
    ]
    for item in new:
        client.put_item(TableName=TABLE, Item=item)


# ---- what a customer does ----


def add_to_cart(client: Client, customer_id: str, product_id: str, quantity: int) -> int:
    """The quantity that is in the cart then."""
    response = client.update_item(
        TableName=TABLE,
        Key=cart_key(customer_id, product_id),
        UpdateExpression="SET productId = :product ADD quantity :quantity",
        ExpressionAttributeValues={":product": product_id, ":quantity": quantity},
        ReturnValues="UPDATED_NEW",
    )
    return int(response["Attributes"]["quantity"])


def cart(client: Client, customer_id: str) -> dict[str, int]:
    found = _of_customer(client, customer_id, Key("sk").begins_with("cart#"))
    return {line["productId"]: int(line["quantity"]) for line in found}


def place_order(client: Client, customer_id: str, ordered_at: str, warehouse: str) -> Item:
    """Turn the cart into an order and take it out of the stock: all of it, or nothing.

    Raises TransactionCanceledException if there is not enough of a product.
    """
    lines = cart(client, customer_id)
    new = {**order(customer_id, ordered_at, lines), "warehouse": warehouse}
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
            "Key": {"pk": f"product#{product_id}", "sk": "dynamic"},
            "UpdateExpression": "SET stock = stock - :quantity",
            "ConditionExpression": "stock >= :quantity",
            "ExpressionAttributeValues": {":quantity": quantity},
        }
    }


def profile(client: Client, customer_id: str) -> Item | None:
    key = {"pk": f"customer#{customer_id}", "sk": "profile"}
    found: Item | None = client.get_item(TableName=TABLE, Key=key).get("Item")
    return found


def orders(client: Client, customer_id: str) -> list[Item]:
    """The oldest first."""
    return _of_customer(client, customer_id, Key("sk").begins_with("order#"))


def orders_between(client: Client, customer_id: str, first: str, last: str) -> list[Item]:
    """Both ends belong to it."""
    between = Key("sk").between(f"order#{first}", f"order#{last}")
    return _of_customer(client, customer_id, between)


def latest_order(client: Client, customer_id: str) -> Item | None:
    page = client.query(
        TableName=TABLE,
        KeyConditionExpression=Key("pk").eq(f"customer#{customer_id}")
        & Key("sk").begins_with("order#"),
        ScanIndexForward=False,
        Limit=1,
    )
    return next(iter(page["Items"]), None)


def _of_customer(client: Client, customer_id: str, sort_key: Any) -> list[Item]:
    condition = Key("pk").eq(f"customer#{customer_id}") & sort_key
    return items(client.query, TableName=TABLE, KeyConditionExpression=condition)


# ---- what the company does ----


def unfulfilled(client: Client, warehouse: str) -> list[Item]:
    """The open orders of a warehouse, the oldest first."""
    return items(
        client.query,
        TableName=TABLE,
        IndexName="open-orders",
        KeyConditionExpression=Key("warehouse").eq(warehouse),
    )


def fulfil(client: Client, customer_id: str, ordered_at: str) -> None:
    """Without `warehouse` the order leaves the index."""
    client.update_item(
        TableName=TABLE,
        Key=order_key(customer_id, ordered_at),
        UpdateExpression="REMOVE warehouse",
        ConditionExpression="attribute_exists(warehouse)",
    )


def restock(client: Client, product_id: str, quantity: int) -> float:
    """The capacity it takes: one unit, as the long description is another item."""
    response = client.update_item(
        TableName=TABLE,
        Key={"pk": f"product#{product_id}", "sk": "dynamic"},
        UpdateExpression="ADD stock :quantity",
        ExpressionAttributeValues={":quantity": quantity},
        ReturnConsumedCapacity="TOTAL",
    )
    return float(response["ConsumedCapacity"]["CapacityUnits"])


def product_in_full(client: Client, product_id: str) -> Item:
    """Both parts as one, from one query."""
    condition = Key("pk").eq(f"product#{product_id}")
    parts = items(client.query, TableName=TABLE, KeyConditionExpression=condition)
    return {name: value for part in parts for name, value in part.items() if name != "sk"}


PATTERNS = [
    Pattern(
        "Get a customer's profile",
        *("Base table", "GetItem", "pk = `ann`", "sk = `profile`", ""),
        run=lambda client: [profile(client, "ann")],
    ),
    Pattern(
        "Get a customer's cart",
        *("Base table", "Query", "pk = `bob`", "sk begins_with `cart#`", ""),
        run=lambda client: list(cart(client, "bob")),
    ),
    Pattern(
        "Get a customer's orders",
        *("Base table", "Query", "pk = `ann`", "sk begins_with `order#`", ""),
        run=lambda client: orders(client, "ann"),
    ),
    Pattern(
        "Get a customer's orders of a time",
        *("Base table", "Query", "pk = `ann`"),
        *("sk BETWEEN `order#2024-03` AND `order#2024-05`", ""),
        run=lambda client: orders_between(client, "ann", "2024-03", "2024-05"),
    ),
    Pattern(
        "Get a customer's latest order",
        *("Base table", "Query", "pk = `ann`", "sk begins_with `order#`"),
        "Limit = 1, ScanIndexForward = false",
        run=lambda client: [latest_order(client, "ann")],
    ),
    Pattern(
        "Get a warehouse's unfulfilled orders",
        *("GSI, sparse", "Query", "warehouse = `north`", "", ""),
        run=lambda client: unfulfilled(client, "north"),
    ),
    Pattern(
        "Get a product, both parts",
        *("Base table", "Query", "pk = `pot`", "", ""),
        run=lambda client: [product_in_full(client, "pot")],
    ),
]


def prepare(client: Client) -> None:
    create(client)
    load(client)
    add_to_cart(client, "bob", "cup", 2)


if __name__ == "__main__":
    main("Customers, carts and orders", prepare, PATTERNS)
