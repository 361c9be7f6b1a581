"""The requests: every implementation gets the same bodies, drawn from one seed.

A table has string keys pk and sk, and ten items in each partition. Reads and updates go to the
items of `load_bodies`. Puts go to other partitions, so that reads find the same items throughout.
"""

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

SEED = 20260101
SIZES = {100: "100 B", 1_024: "1 KB", 10_240: "10 KB", 409_000: "400 KB"}
"""Item sizes in bytes by DynamoDB's rules; the last stays just under the limit."""
ITEMS_PER_PARTITION = 10
KEYS_BYTES = 25
"""How many bytes of an item are not filler."""
INDEX_KEY_BYTES = 5
"""How many bytes more the attribute `gpk` takes than the attribute `hits`, which it replaces."""
BATCH_BYTES_MAX = 4_000_000

Json = dict[str, Any]


class Table(NamedTuple):
    """`items` of `size` bytes each, ten to a partition.

    An indexed table has one global index, on the attribute gpk, in which each item is alone in
    its partition.
    """

    name: str
    size: int
    items: int
    indexed: bool = False

    def definition(self) -> bytes:
        names = ["pk", "sk", "gpk"] if self.indexed else ["pk", "sk"]
        index = {
            "IndexName": INDEX,
            "KeySchema": key_schema("gpk"),
            "Projection": {"ProjectionType": "ALL"},
        }
        return encode(
            TableName=self.name,
            KeySchema=key_schema("pk", "sk"),
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in names],
            BillingMode="PAY_PER_REQUEST",
            **({"GlobalSecondaryIndexes": [index]} if self.indexed else {}),
        )

    def key(self, number: int, kind: str = "p") -> Json:
        partition, position = divmod(number, ITEMS_PER_PARTITION)
        return {"pk": {"S": f"{kind}{partition:07}"}, "sk": {"S": f"s{position:02}"}}

    def item(self, number: int, kind: str = "p") -> Json:
        used = KEYS_BYTES + (INDEX_KEY_BYTES if self.indexed else 0)
        last = {"gpk": {"S": f"g{number:07}"}} if self.indexed else {"hits": {"N": "1"}}
        return self.key(number, kind) | {"data": {"S": "x" * (self.size - used)}} | last

    def load_bodies(self) -> Iterator[bytes]:
        """BatchWriteItem requests that fill the table."""
        step = max(1, min(25, BATCH_BYTES_MAX // self.size))
        for first in range(0, self.items, step):
            numbers = range(first, min(first + step, self.items))
            puts = [{"PutRequest": {"Item": self.item(number)}} for number in numbers]
            yield encode(RequestItems={self.name: puts})


class Workload(NamedTuple):
    """Requests of one operation on one table."""

    name: str
    operation: str
    table: Table
    bodies: list[bytes]
    writes: bool

    @property
    def label(self) -> str:
        return f"{self.name}, {SIZES[self.table.size]}"


def encode(**members: Any) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode()


def tables() -> list[Table]:
    counts = {100: 1_000, 1_024: 1_000, 10_240: 200, 409_000: 20}
    return [Table(f"bench-{size}", size, counts[size]) for size in SIZES]


def key_schema(*names: str) -> list[Json]:
    kinds = zip(names, ("HASH", "RANGE"), strict=False)
    return [{"AttributeName": name, "KeyType": kind} for name, kind in kinds]


INDEX = "by-gpk"
INDEXED = Table("bench-indexed", 100, 1_000, indexed=True)

SCANNED = Table("bench-scanned", 100, 10_000)
"""The table of the filtered Scan, which evaluates a page of 1 MB and returns nothing."""


def get_item(table: Table) -> Workload:
    bodies = [encode(TableName=table.name, Key=table.key(n)) for n in drawn(table, 1_000)]
    return Workload("GetItem", "GetItem", table, bodies, writes=False)


def put_item(table: Table) -> Workload:
    bodies = [
        encode(TableName=table.name, Item=table.item(number, "w"))
        for number in range(min(10_000, 10 * table.items))
    ]
    return Workload("PutItem", "PutItem", table, bodies, writes=True)


def update_item(table: Table) -> Workload:
    bodies = [
        encode(
            TableName=table.name,
            Key=table.key(number),
            UpdateExpression="SET #d = :d ADD hits :one",
            ExpressionAttributeNames={"#d": "data"},
            ExpressionAttributeValues={":d": table.item(number)["data"], ":one": {"N": "1"}},
        )
        for number in drawn(table, 1_000)
    ]
    return Workload("UpdateItem", "UpdateItem", table, bodies, writes=True)


def query(table: Table) -> Workload:
    bodies = [
        encode(
            TableName=table.name,
            KeyConditionExpression="pk = :p",
            ExpressionAttributeValues={":p": table.key(number)["pk"]},
        )
        for number in drawn(table, 1_000)
    ]
    return Workload("Query of 10", "Query", table, bodies, writes=False)


def transact_write_items(table: Table) -> Workload:
    """Two puts, an update and a condition check, without a client token."""
    bodies = [
        encode(
            TransactItems=[
                {"Put": {"TableName": table.name, "Item": table.item(2 * number, "t")}},
                {"Put": {"TableName": table.name, "Item": table.item(2 * number + 1, "t")}},
                {
                    "Update": {
                        "TableName": table.name,
                        "Key": table.key(number),
                        "UpdateExpression": "ADD hits :one",
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                },
                {
                    "ConditionCheck": {
                        "TableName": table.name,
                        "Key": table.key((number + 1) % table.items),
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
            ]
        )
        for number in range(table.items)
    ]
    return Workload("TransactWriteItems (4)", "TransactWriteItems", table, bodies, writes=True)


def batch_get_item(table: Table) -> Workload:
    pick = random.Random(SEED)
    bodies = [
        encode(
            RequestItems={
                table.name: {"Keys": [table.key(n) for n in pick.sample(range(table.items), 100)]}
            }
        )
        for _ in range(200)
    ]
    return Workload("BatchGetItem (100)", "BatchGetItem", table, bodies, writes=False)


def batch_write_item(table: Table) -> Workload:
    batches = [[table.item(25 * n + i, "b") for i in range(25)] for n in range(200)]
    bodies = [
        encode(RequestItems={table.name: [{"PutRequest": {"Item": item}} for item in batch]})
        for batch in batches
    ]
    return Workload("BatchWriteItem (25)", "BatchWriteItem", table, bodies, writes=True)


def scan(table: Table) -> Workload:
    return Workload(
        "Scan page of 100", "Scan", table, [encode(TableName=table.name, Limit=100)], writes=False
    )


def filtered_scan(table: Table) -> Workload:
    body = encode(
        TableName=table.name,
        FilterExpression="hits > :most",
        ExpressionAttributeValues={":most": {"N": "1000000000"}},
    )
    return Workload("Scan, filtered", "Scan", table, [body], writes=False)


def indexed_workloads() -> list[Workload]:
    """The workloads that show what an index adds. Only the last one changes the items that it
    writes."""
    table = INDEXED
    numbers = drawn(table, 1_000)
    get = get_item(table).bodies
    put = [encode(TableName=table.name, Item=table.item(number)) for number in numbers]
    update = [
        encode(
            TableName=table.name,
            Key=table.key(number),
            UpdateExpression="SET #d = :d",
            ExpressionAttributeNames={"#d": "data"},
            ExpressionAttributeValues={":d": table.item(number)["data"]},
        )
        for number in numbers
    ]
    find = [
        encode(
            TableName=table.name,
            IndexName=INDEX,
            KeyConditionExpression="gpk = :g",
            ExpressionAttributeValues={":g": table.item(number)["gpk"]},
        )
        for number in numbers
    ]
    move = [
        encode(
            TableName=table.name,
            Key=table.key(number % 500, "m"),
            UpdateExpression="SET gpk = :g",
            ExpressionAttributeValues={":g": {"S": f"moved-{number}"}},
        )
        for number in range(1_000)
    ]
    return [
        Workload("GetItem, index", "GetItem", table, get, writes=False),
        Workload("Query of an index", "Query", table, find, writes=False),
        Workload("PutItem, index", "PutItem", table, put, writes=True),
        Workload("UpdateItem, index", "UpdateItem", table, update, writes=True),
        Workload("UpdateItem of an index key", "UpdateItem", table, move, writes=True),
    ]


def drawn(table: Table, count: int) -> list[int]:
    pick = random.Random(SEED)
    return [pick.randrange(table.items) for _ in range(count)]


def all_workloads() -> list[Workload]:
    """The workloads that every implementation is measured with."""
    small, *larger = tables()
    every = (
        get_item, put_item, update_item, query,
        transact_write_items, batch_get_item, batch_write_item, scan,
    )  # fmt: skip
    return [make(small) for make in every] + [
        make(table) for make in (get_item, put_item) for table in larger
    ]
