"""How long `inspect` takes on a large table, and that its counts are right.

`HASHRANGE_SOAK=1` loads 1,000,000 items; the short form 5,000. The time is printed.
"""

from pathlib import Path
from time import perf_counter

import hashrange
from hashrange import Settings

from .runs import SOAK

ITEMS = 1_000_000 if SOAK >= 1 else 5_000
CHUNK = 25
TABLE = {
    "TableName": "table",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "kind")
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-kind",
            "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def item(number: int) -> dict[str, dict[str, str]]:
    key = {"pk": {"S": str(number % 50_000)}, "sk": {"S": str(number)}}
    return {**key, "kind": {"S": str(number % 300)}, "text": {"S": "x" * 100}}


def test_inspect_a_large_table(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    settings = Settings(throughput="measured")
    with hashrange.connect(path, durability="memory", settings=settings) as db:
        db.execute("CreateTable", TABLE)
        for first in range(0, ITEMS, CHUNK):
            puts = [{"PutRequest": {"Item": item(first + n)}} for n in range(CHUNK)]
            db.execute("BatchWriteItem", {"RequestItems": {"table": puts}})
        seconds = []
        for _ in range(3):
            started = perf_counter()
            [found] = db.inspect("table")
            seconds.append(perf_counter() - started)
        print(f"{ITEMS:,} items: inspect took {', '.join(f'{each:.2f} s' for each in seconds)}")
    [index] = found["indexes"]
    for shown in (found, index):
        assert shown["items"] == sum(part["items"] for part in shown["partitions"]) == ITEMS
