"""A table with indexes, time to live and a stream, and requests of its own."""

from collections.abc import Callable
from typing import Any

TABLE = "items"
Request = dict[str, Any]
Execute = Callable[[str, Request], Request]

DEFINITION: Request = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "color", "size")
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-color",
            "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-size",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "size", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "BillingMode": "PAY_PER_REQUEST",
}


def key(pk: str, sk: str = "-") -> Request:
    return {"TableName": TABLE, "Key": {"pk": {"S": pk}, "sk": {"S": sk}}}


def put(pk: str, sk: str = "-", **attributes: str) -> Request:
    item = key(pk, sk)["Key"] | {name: {"S": value} for name, value in attributes.items()}
    return {"TableName": TABLE, "Item": item}


def increment(pk: str, sk: str = "-") -> Request:
    return key(pk, sk) | {
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


def count(execute: Execute, pk: str, sk: str = "-") -> int:
    item = execute("GetItem", key(pk, sk)).get("Item", {"n": {"N": "0"}})
    return int(item["n"]["N"])


def scanned(execute: Execute, **members: Any) -> list[Request]:
    """All items of the table or of an index, over all pages."""
    request: Request = {"TableName": TABLE, **members}
    items: list[Request] = []
    while True:
        page = execute("Scan", request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
