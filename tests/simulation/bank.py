"""A bank: its table, its requests, and what is known about their outcomes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from world import Response, Violation, World

from hashrange.model.errors import InternalServerError

TABLE = "bank-table"
SCRATCH = "scratch-table"
INDEX = "by-bank"
ACCOUNTS = 6
OPENING = 100
NOTES = 3


def s(text: str) -> Response:
    return {"S": text}


def n(number: int) -> Response:
    return {"N": str(number)}


def key(pk: str, sk: object = "-") -> Response:
    return {"TableName": TABLE, "Key": {"pk": s(pk), "sk": s(str(sk))}}


def create_table(name: str) -> Response:
    keys = {"pk": "HASH", "sk": "RANGE"}
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": k, "KeyType": kind} for k, kind in keys.items()],
        "AttributeDefinitions": [
            {"AttributeName": k, "AttributeType": "S"} for k in (*keys, "size")
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
        "BillingMode": "PAY_PER_REQUEST",
    }


CREATE_INDEX = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": "bank", "AttributeType": "S"}],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": INDEX,
                "KeySchema": [{"AttributeName": "bank", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}
DELETE_INDEX = {
    "TableName": TABLE,
    "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": INDEX}}],
}
INCREMENT = key("counter") | {
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": {":one": n(1)},
}


@dataclass
class Note:
    """The number in a note: acknowledged, highest tried, and highest that any client has read."""

    written: int = 0
    tried: int = 0
    seen: int = 0


class Ledger:
    """The answers to all clients, and the writes that may have happened without an answer."""

    def __init__(self, names: list[str], unknown_outcomes: Callable[[], int]) -> None:
        self.unknown_outcomes = unknown_outcomes
        self.notes = {(name, number): Note() for name in names for number in range(NOTES)}
        self.transfers: dict[str, tuple[int, int, int]] = {}
        """Every one that was ever tried: from, to, amount."""
        self.acknowledged: set[str] = set()
        self.refused: set[str] = set()
        self.counted = 0
        self.perhaps_counted = 0


def open_bank(world: World) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    world.call("CreateTable", create_table(TABLE) | {"StreamSpecification": stream})
    for at in range(ACCOUNTS):
        bank = {"balance": n(OPENING), "bank": s("east"), "size": s(str(at))}
        account = key("account", at)["Key"] | bank
        world.call("PutItem", {"TableName": TABLE, "Item": account})
    world.call("UpdateTable", CREATE_INDEX)


def check_end(world: World, ledger: Ledger) -> None:
    """At the end the counter is exact, except for additions that died unanswered."""
    found = world.call("GetItem", key("counter")).get("Item", {"n": n(0)})
    extra = int(found["n"]["N"]) - ledger.counted
    if not 0 <= extra <= ledger.perhaps_counted:
        raise Violation(f"counted {ledger.counted}, the counter has {extra} more")
    check_stream(world)


def check_stream(world: World) -> None:
    """When the stream is replayed, each record begins where the previous one ended."""
    items: dict[str, Response] = {}
    for record in _records(world):
        images = record["dynamodb"]
        where = str(images["Keys"])
        if items.get(where) != images.get("OldImage"):
            raise Violation(f"{images} in the stream does not follow {items.get(where)}")
        items[where] = images.get("NewImage")
    replayed = [item for item in items.values() if item is not None]
    table = world.call("Scan", {"TableName": TABLE})["Items"]
    if sorted(map(_text, replayed)) != sorted(map(_text, table)):
        raise Violation("the stream does not replay to the table")


def _text(item: Response) -> str:
    return str(sorted(item.items()))


def _records(world: World) -> Iterator[Response]:
    arn = world.call("DescribeTable", {"TableName": TABLE})["Table"]["LatestStreamArn"]
    stream = world.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]
    for shard in stream["Shards"]:
        start = {"StreamArn": arn, "ShardIteratorType": "TRIM_HORIZON", "ShardId": shard["ShardId"]}
        page = world.call("GetShardIterator", start)
        iterator = page["ShardIterator"]
        while iterator:
            try:
                page = world.call("GetRecords", {"ShardIterator": iterator})
            except InternalServerError as error:
                raise Violation("the stream cannot be read") from error
            yield from page["Records"]
            iterator = page.get("NextShardIterator") if page["Records"] else None
