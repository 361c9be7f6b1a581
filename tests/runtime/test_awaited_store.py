"""Every promise also holds over a store that is awaited, however its steps interleave.

The store draws how long each step takes; a seed that fails is in the name of the test.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from running import TABLE, create_table, get, increment, put
from waiting import run

from hashrange import kv
from hashrange.engine.decision import Decide, Decision
from hashrange.model.errors import ApiError, InternalServerError, ThrottlingException
from hashrange.operations import OPERATIONS
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.awaited.threads import LoopThread
from hashrange.runtime.mistaken_calls import Closed
from hashrange.runtime.overlay import Overlay
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore
from hashrange.testing import FaultyStore
from hashrange.testing.async_memory import AsyncMemoryStore, AsyncMemoryTransaction
from hashrange.testing.faulty import InjectedError, LandedUnknown, LostUnknown
from hashrange.testing.store_model import value_of
from hashrange.upkeep.integrity import problems

SEEDS = range(20)
Request = dict[str, Any]
BY_COLOR: Request = {
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "color")
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-color",
            "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


class Client:
    def __init__(self, runtime: AsyncRuntime) -> None:
        self.runtime = runtime

    def send(self, operation: str, request: Request) -> "asyncio.Future[Any]":
        """The response, or the error as a value."""
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(outcome: bytes | BaseException) -> None:
            if not told.cancelled():
                told.set_result(
                    msgspec.json.decode(outcome) if isinstance(outcome, bytes) else outcome
                )

        self.runtime.submit(operation, msgspec.json.encode(request), done)
        return told


@pytest.fixture
def inner() -> MemoryStore:
    """A store with a table that has an index."""
    store = MemoryStore()
    runtime = Runtime(store)

    def execute(operation: str, request: Request) -> Request:
        response: Request = msgspec.json.decode(
            runtime.call(operation, msgspec.json.encode(request))
        )
        return response

    create_table(execute, **BY_COLOR)
    return store


@asynccontextmanager
async def client_of(store: AsyncMemoryStore) -> AsyncIterator[Client]:
    runtime = AsyncRuntime(store, asyncio.get_running_loop())
    yield Client(runtime)
    await runtime.aclose()


def count(store: kv.Store, pk: str) -> int:
    item = msgspec.json.decode(Runtime(store).call("GetItem", msgspec.json.encode(get(pk))))
    return int(item["Item"]["n"]["N"]) if "Item" in item else 0


# ---- order, and races ----


@pytest.mark.parametrize("seed", SEEDS)
def test_commits_are_in_the_order_of_arrival(seed: int, inner: MemoryStore) -> None:
    async def scenario() -> None:
        random = Random(seed)
        async with client_of(AsyncMemoryStore(inner, seed=seed)) as client:
            answers = []
            for number in range(40):
                request = put("a", color=str(number)) | {"ReturnValues": "ALL_OLD"}
                answers.append(client.send("PutItem", request))
                for _ in range(random.randint(0, 4)):
                    await asyncio.sleep(0)
            replaced = [(await one).get("Attributes", {}).get("color") for one in answers]
        assert replaced == [None, *({"S": str(number)} for number in range(39))]

    run(scenario)
    assert not list(problems(inner))


@pytest.mark.parametrize("seed", SEEDS)
def test_two_processes_race_and_lose_nothing(seed: int, inner: MemoryStore) -> None:
    async def scenario() -> None:
        first, second = AsyncMemoryStore(inner, seed=seed), AsyncMemoryStore(inner, seed=~seed)
        async with client_of(first) as one, client_of(second) as other:
            answers = []
            for number in range(30):
                client = (one, other)[number % 2]
                answers.append(client.send("UpdateItem", increment("shared")))
                answers.append(client.send("PutItem", put(str(number), color="red")))
                await asyncio.sleep(0)
            assert await asyncio.gather(*answers) == [{}] * 60

    run(scenario)
    assert count(inner, "shared") == 30
    assert not list(problems(inner))


class Interrupted(AsyncMemoryStore):
    """Before the next commit, another client increments `b`."""

    interrupted = True

    async def begin(self, locking: bool = False, /) -> AsyncMemoryTransaction:
        transaction = await super().begin(locking)
        if not self.interrupted:
            self.interrupted = True
            Runtime(self.store).call("UpdateItem", msgspec.json.encode(increment("b")))
        return transaction


def test_only_decisions_with_changed_reads_are_made_again(
    inner: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided: list[str] = []
    operation = OPERATIONS["UpdateItem"]

    def decide(request: Any, table: Any, moment: Any) -> Decide:
        decided.append(request.body.key["pk"]["S"])
        decision: Decision = yield from operation.decide(request, table, moment)
        return decision

    async def scenario() -> None:
        store = Interrupted(inner, turns_max=0)
        async with client_of(store) as client:
            await client.send("GetItem", get("a"))  # the table is known from now on
            store.interrupted = False
            monkeypatch.setitem(OPERATIONS, "UpdateItem", replace(operation, decide=decide))
            await asyncio.gather(*(client.send("UpdateItem", increment(pk)) for pk in "ab"))

    run(scenario)
    assert (count(inner, "a"), count(inner, "b")) == (1, 2)
    assert Counter(decided) == Counter("abbb")  # one is the other client's


# ---- the overlay ----


@pytest.mark.parametrize("seed", range(60))
def test_an_overlay_answers_as_a_transaction_that_has_written(seed: int) -> None:
    """Every kind of read, after random writes."""
    random = Random(seed)
    keys = [bytes([letter]) for letter in b"abcdefgh"]
    store = MemoryStore()
    transaction = store.begin()
    transaction.write([kv.CreateSpace(space) for space in (1, 2)])
    for space in (1, 2):
        transaction.write([kv.Put(space, k, value_of(5)) for k in random.sample(keys, 5)])
    transaction.write([kv.Add(b"n", 3), kv.Max(b"clock", 10), kv.CreateSpace(9), kv.DropSpace(9)])
    transaction.commit()
    snapshot, transaction, overlay = store.snapshot(), store.begin(), Overlay()
    spaces, fresh = [1, 2], itertools.count(21)

    def some_write() -> kv.Write:
        space, key = random.choice(spaces), random.choice(keys)
        match random.randrange(8):
            case 0 | 1 | 2:
                return kv.Put(space, key, value_of(random.randint(1, 9), bytes([len(spaces)])))
            case 3 | 4:
                return kv.Delete(space, key)
            case 5:
                return kv.Add(b"n", random.randint(-3, 3))
            case 6:
                return kv.Max(b"clock", random.randint(5, 20))
        if len(spaces) > 2 and random.random() < 0.5:
            return kv.DropSpace(spaces.pop(random.randrange(1, len(spaces))))
        spaces.append(next(fresh))
        return kv.CreateSpace(spaces[-1])

    def some_read() -> kv.Read:
        space = random.choice([1, 2, 9, 21, 22])
        match random.randrange(6):
            case 0:
                return kv.Get(tuple((space, key) for key in random.sample(keys, 3)))
            case 1:
                return kv.Counters((b"n", b"clock", b"none"))
            case 2:
                return kv.Dropped()
        start, end = sorted(random.choices([b"", *keys], k=2))
        rows_max = random.choice([None, 1, 2, 5])
        weight_max = random.choice([None, None, 1, 12])
        last = random.choice([end, None])
        return kv.Range(space, start, last, random.random() < 0.5, rows_max, weight_max)

    for _ in range(40):
        if random.random() < 0.5:
            writes = [some_write()]
            transaction.write(writes)
            overlay.write(writes)
        read = some_read()
        asking = overlay.read(read)
        reply: Any = None
        try:
            while True:
                reply = snapshot.read(asking.send(reply))
        except StopIteration as end:
            found, expected = end.value, transaction.read(read)
            assert found == expected, read
    transaction.rollback()


# ---- what goes wrong ----


@pytest.mark.parametrize("fault", [kv.Full, InjectedError, OSError])
@pytest.mark.parametrize("step", range(12))
def test_each_step_may_fail(step: int, fault: type[Exception], inner: MemoryStore) -> None:
    """All callers of the batch get the error once, and the next attempt succeeds."""

    async def scenario() -> None:
        faults: Any = dict.fromkeys(("begin", "read", "write", "commit"), (fault,))
        faulty = FaultyStore(inner, countdown=step, faults=faults)
        async with client_of(AsyncMemoryStore(faulty, seed=step)) as client:
            first = [client.send("UpdateItem", increment("n")) for _ in range(3)]
            first.append(client.send("Query", QUERY))
            told = await asyncio.gather(*first)
            written = count(inner, "n")
            failed = [isinstance(outcome, InternalServerError) for outcome in told]
            assert all(isinstance(o, dict) or f for o, f in zip(told, failed, strict=True))
            assert len(set(failed[:3])) == 1
            assert written == (0 if failed[0] else 3)
            assert await client.send("UpdateItem", increment("n")) == {}
            assert count(inner, "n") == written + 1

    run(scenario)
    assert not list(problems(inner))


QUERY = {
    "TableName": TABLE,
    "KeyConditionExpression": "pk = :pk",
    "ExpressionAttributeValues": {":pk": {"S": "n"}},
}


@pytest.mark.parametrize("fault", [LandedUnknown, LostUnknown])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_unknown_outcome_is_never_run_again(
    seed: int, fault: type[kv.StoreError], inner: MemoryStore
) -> None:
    async def scenario() -> None:
        faulty = FaultyStore(inner, rate=0.3, seed=seed, faults={"commit": (fault, kv.Conflict)})
        async with client_of(AsyncMemoryStore(faulty, seed=seed)) as client:
            for number in range(10):
                outcome = await client.send("UpdateItem", increment(str(number)))
                unknown = isinstance(outcome, InternalServerError)
                assert unknown or outcome == {}
                landed = not unknown or fault is LandedUnknown
                assert count(inner, str(number)) == landed

    run(scenario)


def test_a_write_that_loses_many_races_lands(inner: MemoryStore) -> None:
    async def scenario() -> None:
        faulty = FaultyStore(inner, rate=0.95, seed=1, faults={"commit": (kv.Conflict,)})
        async with client_of(AsyncMemoryStore(faulty, turns_max=0)) as client:
            assert await client.send("UpdateItem", increment("a")) == {}
        assert faulty.struck[kv.Conflict] > 20

    run(scenario)
    assert count(inner, "a") == 1


def test_lost_races_are_not_retried_forever(inner: MemoryStore) -> None:
    async def scenario() -> None:
        faulty = FaultyStore(inner, rate=1.0, faults={"commit": (kv.Conflict,)})
        async with client_of(AsyncMemoryStore(faulty, turns_max=0)) as client:
            outcome = await client.send("PutItem", put("a"))
            assert isinstance(outcome, ThrottlingException)

    run(scenario)
    assert count(inner, "a") == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_cancelled_callers_do_not_affect_others(seed: int, inner: MemoryStore) -> None:
    async def scenario() -> None:
        random = Random(seed)
        async with client_of(AsyncMemoryStore(inner, seed=seed)) as client:
            answers = [client.send("UpdateItem", increment("n")) for _ in range(20)]
            answers += [client.send("GetItem", get("n")) for _ in range(5)]
            for one in random.sample(answers, 10):
                for _ in range(random.randint(0, 3)):
                    await asyncio.sleep(0)
                one.cancel()
            outcomes = await asyncio.gather(*answers, return_exceptions=True)
        told = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert len(told) >= 15

    run(scenario)
    assert count(inner, "n") == 20


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loop_that_is_shut_down_leaves_all_or_nothing(seed: int, inner: MemoryStore) -> None:
    """`asyncio.run` cancels all tasks at its end, at any step."""
    told: list[Any] = []

    async def scenario() -> None:
        store = AsyncMemoryStore(inner, seed=seed)
        client = Client(AsyncRuntime(store, asyncio.get_running_loop()))
        for _ in range(3):
            client.send("UpdateItem", increment("n")).add_done_callback(
                lambda one: told.append(one.result())
            )
        for _ in range(seed):
            await asyncio.sleep(0)

    run(scenario)
    written = count(inner, "n")
    assert written in (0, 3)
    if any(outcome == {} for outcome in told):
        assert written == 3
    assert not list(problems(inner))


@pytest.mark.parametrize("seed", SEEDS)
def test_closing_waits_for_requests_that_have_arrived(seed: int, inner: MemoryStore) -> None:
    async def scenario() -> None:
        store = AsyncMemoryStore(inner, seed=seed)
        client = Client(AsyncRuntime(store, asyncio.get_running_loop()))
        answers = [client.send("UpdateItem", increment("n")) for _ in range(5)]
        answers.append(client.send("Scan", {"TableName": TABLE}))
        for _ in range(seed % 7):
            await asyncio.sleep(0)
        answers.append(client.send("UpdateItem", increment("n")))
        await client.runtime.aclose()
        assert all(one.done() for one in answers)
        assert isinstance(await client.send("GetItem", get("n")), Closed)
        assert not [one for one in answers if isinstance(one.result(), Exception)]

    run(scenario)
    assert count(inner, "n") == 6


# ---- from threads and other loops ----


def test_from_threads_and_from_another_loop(inner: MemoryStore) -> None:
    own = LoopThread()
    runtime = AsyncRuntime(AsyncMemoryStore(inner), own.loop)
    body = msgspec.json.encode(increment("n"))
    assert runtime.call("UpdateItem", body) == b"{}"
    with pytest.raises(ApiError, match="validation"):
        runtime.call("UpdateItem", b"{}")
    with pytest.raises(ApiError, match="is not an operation"):
        runtime.call("upkeep.Pending", b"{}")

    async def scenario() -> None:
        assert await Client(runtime).send("UpdateItem", increment("n")) == {}

    run(scenario)
    runtime.close()
    with pytest.raises(Closed):
        runtime.call("UpdateItem", body)
    own.close()
    assert count(inner, "n") == 2
