"""Partitions are split by size and by throughput, and counters and streams stay right."""

from collections import defaultdict
from random import Random
from threading import Thread
from typing import Any

import pytest

from hashrange import Database, Settings, kv
from hashrange.testing import TestClock

TABLE = "events"
SMALL = Settings(partition_bytes=20_000, shard_seconds=60)


class Driven(Database):
    """A database whose upkeep runs when the test says so, and not in a thread."""

    def start_upkeep(self) -> None:
        pass

    def rest(self) -> None:
        """Run the upkeep until there is nothing to do."""
        while self._upkeep.run_once():
            pass


def create(db: Database, **parameters: Any) -> str:
    """A table with a global index and a stream; the stream's ARN."""
    request = {
        "TableName": TABLE,
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
                "KeySchema": [
                    {"AttributeName": "kind", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        "BillingMode": "PAY_PER_REQUEST",
        **parameters,
    }
    description = db.execute("CreateTable", request)["TableDescription"]
    arn: str = description["LatestStreamArn"]
    return arn


def write(db: Database, random: Random, number: int) -> None:
    """A put or a deletion; the number is in the item."""
    pk, sk = str(random.randrange(40)), str(random.randrange(5))
    key = {"pk": {"S": pk}, "sk": {"S": sk}}
    if random.random() < 0.1:
        db.execute("DeleteItem", {"TableName": TABLE, "Key": key})
        return
    kind = random.choice(["one", "one", "one", "two", str(random.randrange(100))])
    padding = {"S": "x" * random.randrange(3000)}
    item = {**key, "kind": {"S": kind}, "n": {"N": str(number)}, "padding": padding}
    db.execute("PutItem", {"TableName": TABLE, "Item": item})


def described(db: Database, arn: str) -> list[dict[str, Any]]:
    shards: list[dict[str, Any]] = []
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        page = db.execute("DescribeStream", request)["StreamDescription"]
        shards += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return shards
        request["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]


def records(db: Database, arn: str, shard: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = db.execute("GetShardIterator", place)["ShardIterator"]
    found: list[dict[str, Any]] = []
    while iterator:
        answer = db.execute("GetRecords", {"ShardIterator": iterator})
        found += answer["Records"]
        iterator = answer.get("NextShardIterator") if answer["Records"] else None
    return found


def walked(db: Database, arn: str) -> list[dict[str, Any]]:
    """All records, each shard after its parent, as the clients of streams read them."""
    waiting = described(db, arn)
    done: set[str] = set()
    found: list[dict[str, Any]] = []
    known = {shard["ShardId"] for shard in waiting}
    while waiting:
        ready = [s for s in waiting if s.get("ParentShardId") in {None, *done}]
        assert ready, "every parent is listed, and none is its own ancestor"
        for shard in ready:
            assert shard.get("ParentShardId") in {None, *known}
            found += records(db, arn, shard)
            done.add(shard["ShardId"])
            waiting.remove(shard)
    return found


def replayed(found: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    """The items that the records lead to. The records of an item must be in order."""
    items: dict[tuple[str, str], Any] = {}
    numbers: defaultdict[tuple[str, str], int] = defaultdict(int)
    for record in found:
        change = record["dynamodb"]
        key = change["Keys"]["pk"]["S"], change["Keys"]["sk"]["S"]
        assert int(change["SequenceNumber"]) > numbers[key]
        numbers[key] = int(change["SequenceNumber"])
        if record["eventName"] == "REMOVE":
            del items[key]
        else:
            items[key] = change["NewImage"]
    return items


def stored(db: Database) -> dict[tuple[str, str], Any]:
    items = []
    request: dict[str, Any] = {"TableName": TABLE}
    while True:
        page = db.execute("Scan", request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return {(item["pk"]["S"], item["sk"]["S"]): item for item in items}
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def open_shards(db: Database, arn: str) -> int:
    ranges = [shard["SequenceNumberRange"] for shard in described(db, arn)]
    return sum("EndingSequenceNumber" not in numbers for numbers in ranges)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in (1, 2))])
def test_a_growing_table_is_split(store: kv.Store, seed: int) -> None:
    random, clock = Random(seed), TestClock(1_800_000_000)
    with Driven(store, clock=clock, settings=SMALL) as db:
        arn = create(db)
        assert open_shards(db, arn) == 4
        for number in range(300):
            write(db, random, number)
            clock.advance(random.choice([0, 0.0001, 1, 20]))
            if random.random() < 0.2:
                db._upkeep.run_once()
        db.rest()
        assert list(db.check()) == []
        assert open_shards(db, arn) > 8
        assert replayed(walked(db, arn)) == stored(db)
        size = db.execute("DescribeTable", {"TableName": TABLE})["Table"]["TableSizeBytes"]
        assert size > 4 * SMALL.partition_bytes


def test_a_partition_is_split_in_the_middle(store: kv.Store) -> None:
    with Driven(store, settings=SMALL) as db:
        create(db)
        for number in range(200):
            item = {"pk": {"S": str(number)}, "sk": {"S": "-"}, "padding": {"S": "x" * 1000}}
            db.execute("PutItem", {"TableName": TABLE, "Item": item})
        db.rest()
        [found] = db.inspect(TABLE)
        sizes = [partition["bytes"] for partition in found["partitions"]]
        assert sum(sizes) > 10 * SMALL.partition_bytes
        assert SMALL.partition_bytes / 4 < min(sizes)
        assert max(sizes) <= SMALL.partition_bytes


def test_partitions_are_split_beside_writers(store: kv.Store) -> None:
    with Driven(store, settings=SMALL) as db:
        arn = create(db)

        def work(seed: int) -> None:
            random = Random(seed)
            for number in range(150):
                write(db, random, number)

        threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            db.rest()
        db.rest()
        assert list(db.check()) == []
        assert open_shards(db, arn) > 8
        assert replayed(walked(db, arn)) == stored(db)


def test_more_throughput_needs_more_partitions(store: kv.Store) -> None:
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10}
    index = {"IndexName": "by-kind", "ProvisionedThroughput": units}
    with Driven(store) as db:
        arn = create(db)
        db.rest()
        assert open_shards(db, arn) == 4
        units = {"ReadCapacityUnits": 6000, "WriteCapacityUnits": 5000}
        updates = [{"Update": index}]
        db.execute(
            "UpdateTable",
            {
                "TableName": TABLE,
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": units,
                "GlobalSecondaryIndexUpdates": updates,
            },
        )
        db.rest()
        assert open_shards(db, arn) == 7
        scan = {"TableName": TABLE, "ReturnConsumedCapacity": "TOTAL"}
        # Each partition that a Scan reaches is rounded up.
        assert db.execute("Scan", scan)["ConsumedCapacity"]["CapacityUnits"] == 7 * 0.5


def test_a_large_item_collection_is_divided_where_that_is_allowed(store: kv.Store) -> None:
    """In the table of this test it is; the shards of the stream keep whole collections."""
    random = Random(1)
    with Driven(store, settings=SMALL) as db:
        arn = create(db)
        for number in range(200):
            item = {"pk": {"S": "one"}, "sk": {"S": f"{number:04d}"}, "kind": {"S": "k"}}
            item["padding"] = {"S": "x" * random.randrange(2000)}
            db.execute("PutItem", {"TableName": TABLE, "Item": item})
        db.rest()
        assert list(db.check()) == []
        scan = {"TableName": TABLE, "ReturnConsumedCapacity": "TOTAL", "Limit": 1000}
        shards = open_shards(db, arn)
        partitions = db.execute("Scan", scan)["ConsumedCapacity"]["CapacityUnits"]
        assert shards < 8 < partitions
        assert replayed(walked(db, arn)) == stored(db)
