"""The tables of the guided tour, with their items: five small applications in one database."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hashrange.tools.console.shapes import Item

if TYPE_CHECKING:
    from hashrange.database.database import Database

SENSORS = 20
MEASUREMENTS_PER_SENSOR = 48
DAY = "2024-05-01"

PROJECTS = (
    ("abc123", "Foo Project", "jane", "2018-08-02"),
    ("abc123", "Other Foo Project", "john", "2018-03-02"),
    ("def456", "Bar Project", "jane", "2018-03-12"),
    ("def456", "Other Bar Project", "sarah", "2017-12-06"),
    ("ghi789", "Baz Project", "sarah", "2018-06-21"),
    ("mno345", "Qux Project", "lee", "2018-05-14"),
)
ORDERS = (
    ("ann", "2024-03-01", "o-1", "shipped"),
    ("ann", "2024-04-02", "o-2", "shipped"),
    ("bob", "2024-05-01", "o-3", "open"),
    ("ann", "2024-05-03", "o-4", "open"),
    ("cleo", "2024-05-04", "o-5", "shipped"),
    ("cleo", "2024-05-06", "o-6", "shipped"),
)
ADDRESSES = (
    ("London", "Westminster", "Downing St"),
    ("London", "Westminster", "Buckingham Palace"),
    ("London", "Camden", "Parkway"),
    ("Leeds", "Headingley", "Otley Rd"),
)
ANIMALS = (
    ("Rex", "dog:command:roll over:Rex"),
    ("Bello", "dog:command:sit:Bello"),
    ("Waldi", "dog:command:beg:Waldi"),
    ("Lassie", "dog:command:sit:Lassie"),
    ("Tom", "cat:treeclimbed:spruce:Tom"),
    ("Mia", "cat:treeclimbed:oak:Mia"),
    ("Leo", "cat:treeclimbed:elm:Leo"),
    ("Polly", "parrot:words:000003:Polly"),
    ("Coco", "parrot:words:000101:Coco"),
    ("Rio", "parrot:words:000201:Rio"),
    ("Nemo", ""),
)
MEMBERS = (("1", "1", "Mike"), ("1", "2", "John"), ("2", "2", "John"))


def strings(**values: str) -> Item:
    """An item whose attributes are strings. Attributes with an empty string are left out.

    The argument `GSI1_pk` gives the attribute `GSI1-pk`, because an argument's name has no hyphen.
    """
    return {name.replace("_pk", "-pk").replace("_sk", "-sk"): {"S": text}
            for name, text in values.items() if text}  # fmt: skip


def fill(database: "Database") -> None:
    """Create the tables of the tour and put their items."""
    _create(
        database,
        "projects",
        ("organisation_id", "name"),
        {"by_owner": ("owner",)},
        {"by_last_updated": ("organisation_id", "last_updated")},
    )
    _create(database, "sensor-management", ("pk", "sk"), {"GSI1": ("GSI1-pk", "GSI1-sk")})
    _create(database, "shop", ("pk", "sk"), {"unfulfilled": ("unfulfilled-pk", "unfulfilled-sk")})
    _create(database, "animals", ("pk", "sk"), {"index1": ("index1pk", "index1sk")})
    _create(database, "chat", ("pk", "sk"), {"gs1": ("gs1pk", "gs1sk")})
    for table, item in _items():
        database.execute("PutItem", {"TableName": table, "Item": item})


def _create(
    database: "Database",
    name: str,
    key: tuple[str, ...],
    indexes: dict[str, tuple[str, ...]],
    local: dict[str, tuple[str, ...]] | None = None,
) -> None:
    """Create an on-demand table whose keys are strings. The `local` indexes hold only keys."""
    local = local or {}
    names = {*key, *(each for keys in (*indexes.values(), *local.values()) for each in keys)}
    request: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [
            {"AttributeName": each, "AttributeType": "S"} for each in sorted(names)
        ],
        "KeySchema": _key_schema(key),
        "GlobalSecondaryIndexes": _indexes(indexes, "ALL"),
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }
    if local:
        request["LocalSecondaryIndexes"] = _indexes(local, "KEYS_ONLY")
    database.execute("CreateTable", request)


def _indexes(indexes: dict[str, tuple[str, ...]], projection: str) -> list[dict[str, Any]]:
    return [
        {
            "IndexName": name,
            "KeySchema": _key_schema(key),
            "Projection": {"ProjectionType": projection},
        }
        for name, key in indexes.items()
    ]


def _key_schema(names: tuple[str, ...]) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, kinds, strict=False)]


# ---- items ----


def _items() -> Iterator[tuple[str, Item]]:
    for project in PROJECTS:
        yield "projects", new_project(*project)
    for each in _sensors():
        yield "sensor-management", each
    for each in _shop():
        yield "shop", each
    for each in _animals():
        yield "animals", each
    for each in _chat():
        yield "chat", each


def new_project(organisation: str, name: str, owner: str, updated: str) -> Item:
    return strings(organisation_id=organisation, name=name, owner=owner, last_updated=updated)


def _sensors() -> Iterator[Item]:
    for number in range(1, SENSORS + 1):
        sensor = f"sensor#s-{number}"
        yield strings(
            entityType="Sensor",
            pk=sensor,
            sk="info",
            GSI1_pk=f"building#b-{number % 2 + 1}",
            GSI1_sk=sensor,
        )
        for tick in range(MEASUREMENTS_PER_SENSOR):
            key = strings(pk=f"{sensor}#{DAY}", sk=f"{tick // 2:02}:{tick % 2 * 30:02}")
            value = {"N": f"{180 + (number + tick) % 50}"}
            yield {**key, "entityType": {"S": "Measurement"}, "value": value}


def new_order(customer: str, placed: str, order: str, status: str, note: str = "") -> Item:
    """The item of an order. It has the index's key attributes only while the order is open."""
    open_ = status == "open"
    return strings(
        entityType="Order",
        pk=f"customer#{customer}",
        sk=f"order#{placed}#{order}",
        status=status,
        note=note,
        unfulfilled_pk="unfulfilled" if open_ else "",
        unfulfilled_sk=f"{placed}#{order}" if open_ else "",
    )


def _shop() -> Iterator[Item]:
    for name in ("ann", "bob", "cleo"):
        yield strings(entityType="Customer", pk=f"customer#{name}", sk="profile", name=name)
    for order in ORDERS:
        yield new_order(*order)
    yield strings(entityType="Product", pk="product#pot", sk="content", title="Pot")
    yield {
        **strings(entityType="Stock", pk="product#pot", sk="stock"),
        "available": {"N": "10"},
    }


def _animals() -> Iterator[Item]:
    for number, place in enumerate(ADDRESSES):
        yield strings(
            entityType="Address",
            pk=f"address#{number}",
            sk="info",
            index1pk="addresses",
            index1sk=":".join(place),
        )
    for name, key in ANIMALS:
        kind = key.partition(":")[0].capitalize() or "Fish"
        index = {"index1pk": "animals", "index1sk": key} if key else {}
        yield strings(entityType=kind, pk=f"animal#{name}", sk="info", **index)


def _chat() -> Iterator[Item]:
    for server, user, name in MEMBERS:
        yield strings(
            entityType="Membership",
            pk=f"SERVER#{server}",
            sk=f"USER#{user}",
            gs1pk=f"USER#{user}",
            gs1sk=f"SERVER#{server}",
            username=name,
        )
    for number in range(5):
        yield strings(
            entityType="Message", pk="CHAT#1", sk=f"MSG#2024-10-14T01:01:0{number}", text="hello"
        )
