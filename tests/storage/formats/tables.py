"""A database with everything that the engine stores, and questions whose answers show it.

    python tests/storage/formats/tables.py FOLDER VERSION

writes `vVERSION-tables.db` and its answers with the hashrange that is installed. A file that was
written by an older version is upgraded when it is opened, and must answer the same.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hashrange
from hashrange.runtime.clock import Clock

NOON = 1_800_000_000.0
Request = dict[str, Any]


class Time:
    """A clock that advances by a second each time it is read."""

    def __init__(self, now: float) -> None:
        self.value = now

    def now(self) -> float:
        self.value += 1
        return self.value


def connect(path: str, now: float) -> hashrange.Database:
    return hashrange.connect(path, clock=Clock(Time(now).now), durability="memory")


def _key(name: str, kind: str) -> Request:
    return {"AttributeName": name, "KeyType": kind}


def _index(name: str, *keys: Request, projection: str = "ALL") -> Request:
    return {
        "IndexName": name,
        "KeySchema": list(keys),
        "Projection": {"ProjectionType": projection},
    }


def _types(**types: str) -> list[Request]:
    return [{"AttributeName": n, "AttributeType": t} for n, t in types.items()]


ORDERS = {
    "TableName": "orders",
    "KeySchema": [_key("customer", "HASH"), _key("number", "RANGE")],
    "AttributeDefinitions": _types(customer="S", number="N", state="S", total="N"),
    "LocalSecondaryIndexes": [
        _index("by-total", _key("customer", "HASH"), _key("total", "RANGE")),
        _index(
            "by-state", _key("customer", "HASH"), _key("state", "RANGE"), projection="KEYS_ONLY"
        ),
    ],
    "GlobalSecondaryIndexes": [_index("in-state", _key("state", "HASH"), _key("total", "RANGE"))],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "Tags": [{"Key": "team", "Value": "shop"}],
}
SESSIONS = {
    "TableName": "sessions",
    "KeySchema": [_key("id", "HASH")],
    "AttributeDefinitions": _types(id="B"),
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
GONE = SESSIONS | {"TableName": "gone"}
TRANSACTION = {
    "TransactItems": [
        {"Put": {"TableName": "orders", "Item": {"customer": {"S": "t"}, "number": {"N": "1"}}}},
        {"Put": {"TableName": "sessions", "Item": {"id": {"B": "dA=="}, "of": {"S": "t"}}}},
    ],
    "ClientRequestToken": "a-token-of-format-1",
}


def _order(customer: str, number: int) -> Request:
    return {
        "customer": {"S": customer},
        "number": {"N": str(number)},
        "state": {"S": ["new", "paid", "sent"][number % 3]},
        "total": {"N": f"{number * 7 % 11}.5"},
        "lines": {"L": [{"S": "x" * number}]},
    }


def fill(database: hashrange.Database) -> None:
    for table in (GONE, ORDERS, SESSIONS):
        database.execute("CreateTable", table)
    for number in range(40):
        item = _order("abc"[number % 3], number)
        database.execute("PutItem", {"TableName": "orders", "Item": item})
    for number in range(0, 40, 9):
        key = {name: _order("abc"[number % 3], number)[name] for name in ("customer", "number")}
        database.execute("DeleteItem", {"TableName": "orders", "Key": key})
    ttl = {"Enabled": True, "AttributeName": "until"}
    database.execute("UpdateTimeToLive", {"TableName": "sessions", "TimeToLiveSpecification": ttl})
    for number in range(6):
        until = {"N": str(int(NOON) + 100_000 + number)}
        item = {"id": {"B": f"c{number}A="}, "until": until}
        database.execute("PutItem", {"TableName": "sessions", "Item": item})
    database.execute("TransactWriteItems", TRANSACTION)
    index = _index("of-total", _key("total", "HASH"), projection="KEYS_ONLY")
    database.execute(
        "UpdateTable",
        {
            "TableName": "orders",
            "AttributeDefinitions": _types(total="N"),
            "GlobalSecondaryIndexUpdates": [{"Create": index}],
        },
    )
    database.execute("DeleteTable", {"TableName": "gone"})


def answers(database: hashrange.Database) -> Iterator[Any]:
    """The database's answers to requests that do not change stored data."""
    yield database.execute("ListTables", {})
    for name in ("orders", "sessions"):
        yield database.execute("DescribeTable", {"TableName": name})
        yield database.execute("DescribeTimeToLive", {"TableName": name})
        yield database.execute("Scan", {"TableName": name})
    for index in ("by-total", "by-state", "in-state", "of-total"):
        request = {"TableName": "orders", "IndexName": index, "ReturnConsumedCapacity": "INDEXES"}
        yield database.execute("Scan", request)
    for stream in database.execute("ListStreams", {})["Streams"]:
        arn = {"StreamArn": stream["StreamArn"]}
        description = database.execute("DescribeStream", arn)["StreamDescription"]
        yield description
        for shard in description["Shards"]:
            place = arn | {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = database.execute("GetShardIterator", place)
            yield database.execute("GetRecords", iterator)["Records"]
    yield database.execute("TransactWriteItems", TRANSACTION)


def collection_sizes(database: hashrange.Database) -> Iterator[Any]:
    """A write that changes nothing reports the size of its collection, also in bytes."""
    for number in range(1, 4):
        request = {
            "TableName": "orders",
            "Item": _order("abc"[number % 3], number),
            "ReturnItemCollectionMetrics": "SIZE",
        }
        yield database.execute("PutItem", request)


def is_building(database: hashrange.Database) -> bool:
    table = database.execute("DescribeTable", {"TableName": "orders"})["Table"]
    return any(index["IndexStatus"] != "ACTIVE" for index in table["GlobalSecondaryIndexes"])


def main(folder: Path, version: str) -> None:
    path = folder / f"v{version}-tables.db"
    with connect(str(path), NOON) as database:
        fill(database)
        while is_building(database):
            pass
    with connect(str(path), NOON + 1000) as database:
        found = [*answers(database), *collection_sizes(database)]
        assert not list(database.check())
    path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
