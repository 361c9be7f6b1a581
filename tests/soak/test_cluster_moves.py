"""Shards of a real Citus cluster move while servers read and write: no read misses an item.

Only `make soak` runs it, and only where a PostgreSQL has Citus.
"""

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

import pytest

import hashrange
from hashrange import Database
from hashrange.model.errors import ApiError
from hashrange.testing.postgres_cluster import Cluster
from hashrange.testing.postgres_server import NoPostgres

from .runs import SOAK, chance, times

asyncpg = pytest.importorskip("asyncpg")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not SOAK, reason="shards are moved by make soak alone"),
]

NODES = 3
MOVES = times(8, 100)
ITEMS = 600
BATCH = 25
TABLE = "items"
SCANS: list[dict[str, Any]] = [{}, {"Limit": 37}, {"IndexName": "local"}]
KEY = [{"AttributeName": "pk", "KeyType": "HASH"}]
SHARDS = """SELECT shardid, nodename, nodeport
FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
WHERE logicalrelid = 'rows'::regclass"""


def sort_key(name: str) -> list[dict[str, str]]:
    return [*KEY, {"AttributeName": name, "KeyType": "RANGE"}]


CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "color")
    ],
    "KeySchema": sort_key("sk"),
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": sort_key("color"),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}, "sk": {"S": "-"}}


class Load:
    """Items that never change, which must be in each answer, and items that are written."""

    def __init__(self, servers: list[Database], random: Random) -> None:
        self.servers = servers
        self.random = random
        self.is_over = False
        self.names = {f"item {number}" for number in range(ITEMS)}
        self.written: dict[str, int] = {}
        self.answers = 0

    async def write(self, names: list[str], value: int = 0) -> None:
        items = [key(name) | {"color": {"S": "red"}, "n": {"N": str(value)}} for name in names]
        request = {"RequestItems": {TABLE: [{"PutRequest": {"Item": item}} for item in items]}}
        server = self.random.choice(self.servers)
        answer = await server.execute_async("BatchWriteItem", request)
        unprocessed = answer["UnprocessedItems"].get(TABLE, ())
        left = {each["PutRequest"]["Item"]["pk"]["S"] for each in unprocessed}
        self.written |= {name: value for name in names if name not in left}

    async def keep_writing(self, writer: int) -> None:
        value = 0
        while not self.is_over:
            value += 1
            names = [f"writer {writer}, {number}" for number in self.random.sample(range(40), 12)]
            with suppress(ApiError):
                await self.write(names, value)

    async def keep_scanning(self) -> None:
        while not self.is_over:
            scan: dict[str, Any] | None
            scan = {"TableName": TABLE, "Select": "ALL_ATTRIBUTES", **self.random.choice(SCANS)}
            server = self.random.choice(self.servers)
            found: list[str] = []
            with suppress(ApiError):
                while scan is not None:
                    page = await server.execute_async("Scan", scan)
                    found += [item["pk"]["S"] for item in page["Items"]]
                    start = page.get("LastEvaluatedKey")
                    scan = scan | {"ExclusiveStartKey": start} if start else None
                self.check([name for name in found if name in self.names], self.names)

    async def keep_getting(self) -> None:
        while not self.is_over:
            wanted = set(self.random.sample(sorted(self.names), 60))
            request = {"RequestItems": {TABLE: {"Keys": [key(name) for name in wanted]}}}
            with suppress(ApiError):
                server = self.random.choice(self.servers)
                answer = await server.execute_async("BatchGetItem", request)
                self.check([item["pk"]["S"] for item in answer["Responses"][TABLE]], wanted)

    def check(self, found: list[str], wanted: set[str]) -> None:
        self.answers += 1
        assert len(found) == len(wanted)
        assert set(found) == wanted


async def move_shards(dsn: str, cluster: Cluster, random: Random) -> int:
    """Move shards to other nodes, in both of Citus's ways. Returns how many moves succeeded."""
    connection = await asyncpg.connect(dsn.split("?")[0])
    await connection.execute("SET lock_timeout = 0")
    moves = 0
    for _ in range(MOVES):
        number, host, port = random.choice(await connection.fetch(SHARDS))
        others = [int(node.settings["port"]) for node in cluster.nodes]
        target = random.choice([other for other in others if other != port])
        mode = random.choice(["force_logical", "block_writes"])
        # A move is refused if the tables that an earlier one left behind are still in use.
        with suppress(asyncpg.PostgresError):
            await connection.execute(
                f"SELECT citus_move_shard_placement({number}, '{host}', {port}, "
                f"'127.0.0.1', {target}, '{mode}')"
            )
            moves += 1
    await connection.close()
    return moves


async def scenario(cluster: Cluster, random: Random) -> None:
    dsn = await asyncio.to_thread(cluster.new_distributed_database)
    async with await hashrange.connect_async(dsn) as one, await hashrange.connect_async(dsn) as two:
        await one.execute_async("CreateTable", CREATE)
        load = Load([one, two], random)
        names = sorted(load.names)
        for at in range(0, ITEMS, BATCH):
            await load.write(names[at : at + BATCH])
        async with asyncio.TaskGroup() as tasks:
            for number in range(3):
                tasks.create_task(load.keep_writing(number))
                tasks.create_task(load.keep_scanning())
                tasks.create_task(load.keep_getting())
            moves = await move_shards(dsn, cluster, random)
            load.is_over = True
        for name, value in load.written.items():
            answer = await one.execute_async("GetItem", {"TableName": TABLE, "Key": key(name)})
            assert int(answer["Item"]["n"]["N"]) >= value
    print(f"{moves} moves, {load.answers} complete answers, {len(load.written)} items written")
    assert moves
    assert load.answers


def test_no_read_misses_an_item_while_shards_move() -> None:
    try:
        cluster = Cluster(NODES)
    except NoPostgres as error:
        pytest.skip(str(error))
    try:
        with chance() as random:
            asyncio.run(scenario(cluster, random))
    finally:
        cluster.stop()
