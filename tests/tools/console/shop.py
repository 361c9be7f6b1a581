"""A table with two entity types and an index, and items that are hard to show."""

from typing import Any

TABLE = {
    "TableName": "shop",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": kind}
        for name, kind in (("pk", "S"), ("sk", "S"), ("status", "S"), ("total", "N"))
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-status",
            "KeySchema": [
                {"AttributeName": "status", "KeyType": "HASH"},
                {"AttributeName": "total", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
ORDERS = 12
HOSTILE_KEY = {
    "pk": {"S": "<script>window.hit=1</script>"},
    "sk": {"S": '"><img src=x onerror=hit>'},
}


def make(client: Any) -> None:
    """Ann with her orders, and Bob."""
    client.create_table(**TABLE)
    for name in ("ann", "bob"):
        profile = {"pk": {"S": f"customer#{name}"}, "sk": {"S": "profile"}, "name": {"S": name}}
        client.put_item(TableName="shop", Item=profile)
    for number in range(ORDERS):
        client.put_item(TableName="shop", Item=order(number))


def order(number: int) -> dict[str, Any]:
    return {
        "pk": {"S": "customer#ann"},
        "sk": {"S": f"order#{number:02}"},
        "status": {"S": "open" if number % 3 == 0 else "shipped"},
        "total": {"N": str(number * 10)},
        "lines": {"M": {"cup": {"N": str(number)}}},
    }


def hostile() -> dict[str, Any]:
    """Values that pages, forms or logs could trip over."""
    deep: dict[str, Any] = {"S": "bottom"}
    for level in range(31):
        deep = {"M": {"<b>": deep}} if level % 2 else {"L": [deep]}
    return {
        **HOSTILE_KEY,
        "markup": {"S": "</textarea><script>window.hit=1</script>{{7*7}}{% raw %}&amp;"},
        "zero": {"S": "a\x00b\r\nc\rd\x1b[31m"},
        "mixed": {"S": "<img src=x onerror=hit>\x00<img src=x onerror=hit>"},
        "line ends": {"S": "\nfirst\nlast\n"},
        "direction": {"S": "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd \u2066x"},
        "long": {"S": "0123456789abcdef" * 20_000},
        "deep": deep,
        "number": {"N": "-1234567890123456789012345678901234567.8"},
        "bytes": {"B": bytes(range(256))},
        "sets": {"SS": ["<i>", "\x00"]},
        "numbers": {"NS": ["1", "2.5"]},
        "binaries": {"BS": [b"\x00", b"\xff"]},
        "nothing": {"NULL": True},
        "no": {"BOOL": False},
        "empty": {"S": ""},
        "none": {"L": []},
        "' onfocus=alert(1) autofocus '": {"S": "a name"},
    }
