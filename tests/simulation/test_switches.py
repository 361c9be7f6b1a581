"""Many clients with every switch on: throughput enforced, old reads, faults, and splits.

Clients try again as SDKs do. What they were told must hold: a write that was acknowledged is
there, a read is never older than allowed, counters, indexes and the stream agree with the items.
A failure names its seed.
"""

import asyncio
from collections import defaultdict
from random import Random
from typing import Any

import pytest

from hashrange import Database, Eventual, Faults, Settings
from hashrange.model.errors import ApiError, ValidationException
from hashrange.runtime.faults.unreliable import Disconnected
from hashrange.storage.memory import MemoryStore
from hashrange.testing import TestClock

CLIENTS = 16
STEPS = 40
LAG_MAX = 0.5
RATES = {
    "throttle": 0.05,
    "unprocessed": 0.05,
    "conflict": 0.05,
    "in-progress": 0.02,
    "error": 0.05,
    "error-after": 0.05,
    "disconnect": 0.05,
}
OPERATIONS = ("PutItem", "DeleteItem", "GetItem", "Query", "BatchWriteItem", "TransactWriteItems")


def settings(seed: int) -> Settings:
    return Settings(
        throughput="enforced",
        consistency=Eventual(seed=seed, lag=0.05, index_lag=0.1, lag_max=LAG_MAX),
        faults=Faults(seed=seed, rates=RATES, operations=OPERATIONS),
        partition_bytes=4_000,
        partition_write_units=15,
        partition_read_units=40,
        index_backlog_units=20,
        heat_seconds=5,
        growth_seconds=10,
        shard_seconds=20,
    )


TABLE: dict[str, Any] = {
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
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    "BillingMode": "PAY_PER_REQUEST",
}


class Driven(Database):
    """A database whose upkeep runs when the simulation says so."""

    def start_upkeep(self) -> None:
        """No thread."""

    def step(self) -> None:
        self._upkeep.run_once()


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = TestClock(1_800_000_000)
        self.db = Driven(MemoryStore(), clock=self.clock, settings=settings(seed))
        self.written: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
        """For each key the numbers that were acknowledged, with their times; -1 is a deletion."""
        self.deleting: set[str] = set()
        """The keys of deletions that are not acknowledged yet."""
        self.trace: list[str] = []

    async def ask(self, operation: str, **request: Any) -> dict[str, Any]:
        """Try until it succeeds, a little later each time."""
        while True:
            try:
                answer = await self.db.execute_async(operation, request)
                self.trace.append(f"{operation} done")
                return answer
            except ValidationException:
                raise
            except (ApiError, Disconnected) as error:
                self.trace.append(f"{operation} {type(error).__name__}")
                self.clock.advance(self.random.choice([0.01, 0.05, 0.2]))
                await asyncio.sleep(0)

    async def client(self, number: int) -> None:
        """Writes to keys of its own, and reads all keys."""
        for step in range(STEPS):
            pk, value = str(self.random.randrange(4)), number * 1000 + step
            sk = f"{number}-{self.random.randrange(3)}"
            key = {"pk": {"S": pk}, "sk": {"S": sk}}
            match self.random.randrange(8):
                case 0 | 1:
                    await self.ask("PutItem", TableName="table", Item=item(key, value))
                    self.note(pk, sk, value)
                case 2:
                    self.deleting.add(f"{pk}/{sk}")
                    await self.ask("DeleteItem", TableName="table", Key=key)
                    self.note(pk, sk, -1)
                    self.deleting.discard(f"{pk}/{sk}")
                case 3:
                    await self.put_batch(pk, number, value)
                case 4:
                    put = {"Put": {"TableName": "table", "Item": item(key, value)}}
                    token = {"ClientRequestToken": f"token-{value}"}
                    await self.ask("TransactWriteItems", TransactItems=[put], **token)
                    self.note(pk, sk, value)
                case 5:
                    await self.read(key, consistent=True, own=True)
                case 6:
                    other = {**key, "sk": {"S": f"{self.random.randrange(CLIENTS)}-0"}}
                    await self.read(other, consistent=False, own=False)
                case 7:
                    self.clock.advance(self.random.choice([0.1, 1, 3]))
                    self.db.step()

    async def put_batch(self, pk: str, number: int, value: int) -> None:
        items = [item({"pk": {"S": pk}, "sk": {"S": f"{number}-{n}"}}, value) for n in range(3)]
        left: Any = {"table": [{"PutRequest": {"Item": each}} for each in items]}
        while left:
            answer = await self.ask("BatchWriteItem", RequestItems=left)
            left = answer["UnprocessedItems"]
        for each in items:
            self.note(pk, each["sk"]["S"], value)

    def note(self, pk: str, sk: str, value: int) -> None:
        self.written[f"{pk}/{sk}"].append((self.clock.now(), value))

    async def read(self, key: Any, *, consistent: bool, own: bool) -> None:
        """What was acknowledged before the longest lag must be seen, or something newer."""
        asked = self.clock.now()
        name = f"{key['pk']['S']}/{key['sk']['S']}"
        before = list(self.written[name])
        answer = await self.ask("GetItem", TableName="table", Key=key, ConsistentRead=consistent)
        found = int(answer["Item"]["n"]["N"]) if "Item" in answer else -1
        if own:
            assert found == (before[-1][1] if before else -1)
            return
        old = sum(time < asked - LAG_MAX for time, _ in before)
        shown = {value for _, value in self.written[name][max(0, old - 1) :]}
        if found == -1:
            assert not old or -1 in shown or name in self.deleting
        else:
            assert found not in {value for _, value in before} - shown

    async def run(self) -> None:
        await self.ask("CreateTable", **TABLE)
        await asyncio.gather(*(self.client(number) for number in range(CLIENTS)))
        for _ in range(200):
            self.db.step()
            self.clock.advance(1)


def item(key: Any, value: int) -> dict[str, Any]:
    padding = {"S": "x" * (value % 300)}
    return {**key, "n": {"N": str(value)}, "kind": {"S": str(value % 3)}, "padding": padding}


def scanned(db: Database, **members: Any) -> dict[str, int]:
    """The numbers of all items, by key. Page by page, until the throughput suffices."""
    found: dict[str, int] = {}
    request: dict[str, Any] = {"TableName": "table", **members}
    while True:
        page = db.execute("Scan", request)
        for each in page["Items"]:
            found[f"{each['pk']['S']}/{each['sk']['S']}"] = int(each["n"]["N"])
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def replayed(db: Database) -> dict[str, int]:
    """What the stream leads to, each shard read after its parent."""
    arn = db.execute("DescribeTable", {"TableName": "table"})["Table"]["LatestStreamArn"]
    shards: list[Any] = []
    request: dict[str, Any] = {"StreamArn": arn}
    while True:
        page = db.execute("DescribeStream", request)["StreamDescription"]
        shards += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            break
        request["ExclusiveStartShardId"] = page["LastEvaluatedShardId"]
    items: dict[str, int] = {}
    known, done = {shard["ShardId"] for shard in shards}, set[str]()
    while len(done) < len(shards):
        for shard in shards:
            parent = shard.get("ParentShardId")
            if shard["ShardId"] in done or (parent in known and parent not in done):
                continue
            done.add(shard["ShardId"])
            place = {"StreamArn": arn, "ShardId": shard["ShardId"]}
            place["ShardIteratorType"] = "TRIM_HORIZON"
            iterator = db.execute("GetShardIterator", place)["ShardIterator"]
            while iterator:
                answer = db.execute("GetRecords", {"ShardIterator": iterator})
                for record in answer["Records"]:
                    keys = record["dynamodb"]["Keys"]
                    name = f"{keys['pk']['S']}/{keys['sk']['S']}"
                    if record["eventName"] == "REMOVE":
                        del items[name]
                    else:
                        items[name] = int(record["dynamodb"]["NewImage"]["n"]["N"])
                iterator = answer.get("NextShardIterator") if answer["Records"] else None
    return items


def simulate(seed: int) -> World:
    world = World(seed)
    asyncio.run(world.run())
    return world


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in range(1, 6))]
)
def test_promises_hold_with_every_switch_on(seed: int) -> None:
    world = simulate(seed)
    with world.db as db:
        assert list(db.check()) == []
        expected = {key: values[-1][1] for key, values in world.written.items() if values}
        expected = {key: value for key, value in expected.items() if value >= 0}
        assert scanned(db, ConsistentRead=True) == expected
        world.clock.advance(60)
        assert scanned(db, IndexName="by-kind") == expected
        assert replayed(db) == expected
        [found] = db.inspect("table")
        assert len(found["partitions"]) > 4
    for outcome in ("ThrottlingException", "Disconnected", "InternalServerError", "done"):
        assert any(line.endswith(outcome) for line in world.trace), outcome
