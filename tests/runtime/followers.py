"""Servers whose global indexes are updated from a log, on one store, and writes to few items."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
from running import TABLE, create_table, get, put, scanned
from small import steps_of
from waiting import run

from hashrange import kv
from hashrange.model.errors import ApiError
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.awaited.threads import in_thread
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore
from hashrange.testing import FaultyStore, TestClock
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.testing.faulty import InjectedError, LandedUnknown, LostUnknown
from hashrange.upkeep.integrity import problems
from hashrange.upkeep.upkeep import Upkeep

SEEDS = range(8)
WRITES = 60
KEYS = 6
FAULTS = {"commit": (kv.Conflict, LandedUnknown, LostUnknown), "read": (InjectedError,)}

Request = dict[str, Any]
BY_COLOR: Request = {
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "color", "size")
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-color",
            "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        },
        {
            "IndexName": "by-size",
            "KeySchema": [{"AttributeName": "size", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "color", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


class Server:
    """One of several on the same store."""

    def __init__(self, store: AsyncMemoryStore, clock: TestClock | None = None) -> None:
        self.runtime = AsyncRuntime(store, asyncio.get_running_loop(), clock)

    async def send(self, operation: str, request: Request) -> Request:
        told: asyncio.Future[Request] = asyncio.get_running_loop().create_future()

        def done(outcome: bytes | BaseException) -> None:
            if isinstance(outcome, bytes):
                told.set_result(msgspec.json.decode(outcome))
            else:
                told.set_exception(outcome)

        self.runtime.submit(operation, msgspec.json.encode(request), done)
        return await told

    async def upkeep(self) -> None:
        upkeep = Upkeep(self.runtime)
        while await asyncio.to_thread(upkeep.run_once):
            pass

    async def caught_up(self) -> None:
        """Wait until no change is on its way, whichever server has made it."""
        while await self.lag():
            await asyncio.sleep(0.001)

    async def lag(self) -> float:
        capacities = await in_thread(self.runtime.capacities)
        return max((each.lag_seconds or 0.0 for each in capacities), default=0.0)


def sync(store: MemoryStore) -> Callable[[str, Request], Request]:
    """The same database without a loop, once all is at rest."""
    runtime = Runtime(store)

    def execute(operation: str, request: Request) -> Request:
        response: Request = msgspec.json.decode(
            runtime.call(operation, msgspec.json.encode(request)) or b"{}"
        )
        return response

    return execute


async def new_table(server: Server, **members: Any) -> None:
    requests: list[tuple[str, Request]] = []

    def note(operation: str, request: Request) -> Request:
        requests.append((operation, request))
        return {}

    create_table(note, **(members or BY_COLOR))
    for operation, request in requests:
        await server.send(operation, request)


def some_writes(random: Random, count: int) -> Iterator[tuple[str, Request]]:
    """Writes to few items, so that they race."""
    for number in range(count):
        pk = f"p{random.randrange(KEYS)}"
        attributes = {"n": str(number)}
        for name in "color", "size":
            if random.random() < 0.8:
                attributes[name] = random.choice("abc")
        kind = random.randrange(5)
        if kind == 0:
            yield "DeleteItem", get(pk)
        elif kind == 1:
            other = put(f"p{random.randrange(KEYS)}", "other", **attributes)
            yield (
                "TransactWriteItems",
                {"TransactItems": [{"Put": put(pk, **attributes)}, {"Put": other}]},
            )
        elif kind == 2:
            requests = [{"PutRequest": {"Item": put(pk, **attributes)["Item"]}}]
            yield "BatchWriteItem", {"RequestItems": {TABLE: requests}}
        else:
            yield "PutItem", put(pk, **attributes)


async def write_all(servers: Sequence[Server], random: Random, count: int = WRITES) -> None:
    async def one(operation: str, request: Request) -> None:
        with suppress(ApiError):  # a fault of the store, or a transaction that met another one
            await random.choice(servers).send(operation, request)

    writes = [one(*each) for each in some_writes(random, count)]
    for start in range(0, count, 10):
        await asyncio.gather(*writes[start : start + 10])


def compare(store: MemoryStore) -> None:
    """The indexes show exactly the items, and counters are right."""
    assert list(problems(store)) == []
    execute = sync(store)
    items = scanned(execute)
    assert items
    for index, name in ("by-color", "color"), ("by-size", "size"):
        shown = {(i["pk"]["S"], i["sk"]["S"]) for i in scanned(execute, IndexName=index)}
        assert shown == {(i["pk"]["S"], i["sk"]["S"]) for i in items if name in i}
    table = execute("DescribeTable", {"TableName": TABLE})["Table"]
    for described in table["GlobalSecondaryIndexes"]:
        assert described["ItemCount"] == len(scanned(execute, IndexName=described["IndexName"]))


def two_servers(seed: int, inner: MemoryStore, rate: float) -> None:
    """Both write the same items, and both carry the changes to the indexes."""

    faulty = FaultyStore(inner, seed=seed, faults=FAULTS)

    async def write(servers: Sequence[Server]) -> None:
        faulty.rate = rate
        random = Random(seed)
        for _ in range(3):
            await write_all(servers, random, WRITES // 3)
            assert list(problems(inner)) == []  # also while the indexes are behind
        faulty.rate = 0.0

    _beside_each_other(AsyncMemoryStore(faulty, seed=seed, indexes_follow=True), write)
    compare(inner)


def stop(server: Server) -> Callable[[], None]:
    """From now on the server carries out no change, until what is returned is called."""
    propagator = server.runtime._propagator
    assert propagator is not None
    start = propagator._start
    propagator._start = lambda: None  # type: ignore[method-assign]

    def go_on() -> None:
        propagator._start = start  # type: ignore[method-assign]
        start()

    return go_on


def both_at_once(seed: int, inner: MemoryStore) -> None:
    """Two servers begin to carry out the same records in the same moment."""

    async def write(servers: Sequence[Server]) -> None:
        go_on = [stop(server) for server in servers]
        await write_all(servers, Random(seed))
        for each in go_on:
            each()

    _beside_each_other(AsyncMemoryStore(inner, seed=seed, indexes_follow=True), write)
    compare(inner)


def built_beside_writers(seed: int, inner: MemoryStore) -> None:
    """Two indexes are added one after the other, while two servers write. One is deleted again."""

    async def scenario() -> None:
        store = AsyncMemoryStore(inner, seed=seed, indexes_follow=True)
        servers = [Server(store), Server(store)]
        local = BY_COLOR | {"AttributeDefinitions": BY_COLOR["AttributeDefinitions"][:3]}
        del local["GlobalSecondaryIndexes"]
        await new_table(servers[0], **local)
        random = Random(seed)
        await write_all(servers, random)
        for index, name in zip(BY_COLOR["GlobalSecondaryIndexes"], ("color", "size"), strict=True):
            request = {
                "TableName": TABLE,
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [{"Create": index}],
            }
            await servers[0].send("UpdateTable", request)
            writing = asyncio.create_task(write_all(servers, random))
            await servers[1].upkeep()
            assert list(problems(inner)) == []  # also while the indexes are behind
            await writing
        for server in servers:
            await server.caught_up()
        compare(inner)
        delete = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-color"}}]}
        await write_all(servers, random)
        await servers[0].send("UpdateTable", {"TableName": TABLE, **delete})
        await write_all(servers, random)
        for server in servers:
            await server.caught_up()
        assert list(problems(inner)) == []
        await servers[0].send("DeleteTable", {"TableName": TABLE})
        await servers[0].upkeep()
        for server in servers:
            await server.runtime.aclose()

    with steps_of(1):  # builds of many steps
        run(scenario)


def _beside_each_other(
    store: AsyncMemoryStore, write: Callable[[Sequence[Server]], Awaitable[None]]
) -> None:
    """Let two servers on a store write to a new table, and carry all changes to its indexes."""

    async def scenario() -> None:
        servers = [Server(store), Server(store)]
        await new_table(servers[0])
        await write(servers)
        # A commit of unknown outcome may have landed. Its changes are carried out with the next
        # ones in their slots, or, if none come, by the upkeep.
        while await servers[0].lag():
            await servers[0].upkeep()
        for server in servers:
            await server.runtime.aclose()

    run(scenario)
