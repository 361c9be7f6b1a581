"""What a runtime over a store that is awaited does besides answering: limits, order, refusals."""

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Any

import msgspec
import pytest
from running import TABLE, create_table, get, increment, put
from waiting import SECONDS_MAX, run, wait_until_async

from hashrange import kv
from hashrange.model.caller import DEFAULT_CALLER
from hashrange.model.consistency import Eventual
from hashrange.model.errors import InternalServerError, ThrottlingException
from hashrange.model.faults import Faults
from hashrange.model.settings import Settings
from hashrange.runtime.aside import jobs
from hashrange.runtime.awaited import backlog
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.awaited.threads import LoopThread
from hashrange.runtime.clock import Clock
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore
from hashrange.testing import TestClock
from hashrange.testing.async_memory import AsyncMemoryStore, AsyncMemoryTransaction

Request = dict[str, Any]


class Gate(AsyncMemoryStore):
    """Commits and reads wait until the gate is open. It counts what waits."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store, turns_max=0)
        self.open = asyncio.Event()
        self.committing: list[Sequence[kv.Write]] = []

    async def read(self, reads: Sequence[kv.Read], /) -> list[kv.Answer]:
        await self.open.wait()
        return await super().read(reads)

    async def begin(self, locking: bool = False, /) -> AsyncMemoryTransaction:
        return GatedTransaction(self, self.store.snapshot())


class GatedTransaction(AsyncMemoryTransaction):
    async def commit(self, writes: Sequence[kv.Write], /) -> None:
        gate = self._store
        assert isinstance(gate, Gate)
        gate.committing.append(writes)
        await gate.open.wait()
        await super().commit(writes)


@pytest.fixture
def inner() -> MemoryStore:
    store = MemoryStore()
    runtime = Runtime(store)
    create_table(lambda name, request: _decoded(runtime.call(name, _encoded(request))))
    return store


def _encoded(request: Request) -> bytes:
    return msgspec.json.encode(request)


def _decoded(body: bytes) -> Request:
    return msgspec.json.decode(body, type=Request)


def send(runtime: AsyncRuntime, operation: str, request: Request) -> "asyncio.Future[Any]":
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    runtime.submit(operation, _encoded(request), told.set_result, DEFAULT_CALLER)
    return told


async def many_turns() -> None:
    """More turns of the loop than a request needs until it waits for the gate or for another."""
    for _ in range(100):
        await asyncio.sleep(0)


def test_items_are_written_in_several_transactions_at_once(inner: MemoryStore) -> None:
    async def scenario() -> None:
        store = Gate(inner)
        runtime = AsyncRuntime(store, asyncio.get_running_loop())
        store.open.set()
        await send(runtime, "PutItem", put("first"))
        store.open.clear()
        store.committing.clear()
        answers = []
        for number in range(6):
            answers.append(send(runtime, "UpdateItem", increment(str(number % 3))))
            await many_turns()
        assert len(store.committing) == 3  # one for each item: its second request waits
        store.open.set()
        assert await asyncio.gather(*answers) == [b"{}"] * 6
        found = [_decoded(await send(runtime, "GetItem", get(str(n)))) for n in range(3)]
        assert [item["Item"]["n"] for item in found] == [{"N": "2"}] * 3
        await runtime.aclose()

    run(scenario)


def test_no_request_passes_one_that_waits_for_the_same_items(inner: MemoryStore) -> None:
    async def scenario() -> None:
        store = Gate(inner)
        runtime = AsyncRuntime(store, asyncio.get_running_loop())
        store.open.set()
        await send(runtime, "PutItem", put("first"))
        store.open.clear()
        store.committing.clear()
        both = {"TransactItems": [{"Put": put(pk, color="both")} for pk in "ab"]}
        answers = []
        for operation, request in (
            ("PutItem", put("a", color="one")),
            ("TransactWriteItems", both),  # waits for a
            ("PutItem", put("b", color="last")),  # b is free, but wanted
        ):
            answers.append(send(runtime, operation, request))
            await many_turns()
        assert len(store.committing) == 1
        store.open.set()
        assert await asyncio.gather(*answers) == [b"{}"] * 3
        colors = [_decoded(await send(runtime, "GetItem", get(pk)))["Item"]["color"] for pk in "ab"]
        assert colors == [{"S": "both"}, {"S": "last"}]
        await runtime.aclose()

    run(scenario)


def test_a_costly_write_is_dropped_if_its_caller_was_told_to_try_again(
    inner: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        now = 0.0
        clock = Clock(timer=lambda: now)
        runtime = AsyncRuntime(AsyncMemoryStore(inner), asyncio.get_running_loop(), clock)
        await send(runtime, "PutItem", COSTLY_PUT)
        held = threading.Event()
        monkeypatch.setattr(jobs.Jobs, "_advance", _after(held, jobs.Jobs._advance))
        told = send(runtime, "UpdateItem", COSTLY_UPDATE)
        now = backlog.REQUEST_SECONDS_MAX
        assert isinstance(await told, ThrottlingException)
        held.set()
        await wait_until_async(lambda: not (runtime._jobs._count or runtime._jobs._writing))
        found = _decoded(await send(runtime, "GetItem", get("a", "0")))
        assert "m" not in found["Item"]
        await runtime.aclose()

    run(scenario)


def _after(event: threading.Event, function: Callable[..., bool]) -> Callable[..., bool]:
    def waited(*arguments: Any) -> bool:
        assert event.wait(SECONDS_MAX)
        return function(*arguments)

    return waited


COSTLY_PUT: Request = {
    "TableName": TABLE,
    "Item": {
        "pk": {"S": "a"},
        "sk": {"S": "0"},
        "l": {"L": [{"N": str(number)} for number in range(9000)]},
    },
}
COSTLY_UPDATE: Request = get("a", "0") | {
    "UpdateExpression": "SET l[0] = :n, m = list_append(l, l)",
    "ExpressionAttributeValues": {":n": {"N": "7"}},
}


def test_too_many_requests_are_refused_and_the_others_answered(
    inner: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "REQUESTS_MAX", 5)

    async def scenario() -> None:
        store = Gate(inner)
        runtime = AsyncRuntime(store, asyncio.get_running_loop())
        for operation, request in (("PutItem", put("a")), ("GetItem", get("a"))):
            store.open.clear()
            answers = [send(runtime, operation, request) for _ in range(8)]
            await wait_until_async(partial(_told, answers, 3))
            assert all(isinstance(one.result(), ThrottlingException) for one in answers[5:])
            store.open.set()
            assert all(isinstance(one, bytes) for one in await asyncio.gather(*answers[:5]))
        await runtime.aclose()

    run(scenario)


def test_the_bytes_that_wait_are_limited(
    inner: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "BYTES_MAX", 5000)

    async def scenario() -> None:
        store = Gate(inner)
        runtime = AsyncRuntime(store, asyncio.get_running_loop())
        large = put("a") | {"Item": {"pk": {"S": "a"}, "sk": {"S": "0"}, "l": {"S": "x" * 3000}}}
        first, second = (send(runtime, "PutItem", large) for _ in range(2))
        assert isinstance(await second, ThrottlingException)
        store.open.set()
        assert isinstance(await first, bytes)
        await runtime.aclose()

    run(scenario)


def test_nothing_waits_for_ever(inner: MemoryStore) -> None:
    async def scenario() -> None:
        now = 0.0
        store = Gate(inner)
        runtime = AsyncRuntime(store, asyncio.get_running_loop(), Clock(timer=lambda: now))
        put_, got = send(runtime, "PutItem", put("a")), send(runtime, "GetItem", get("a"))
        now = backlog.REQUEST_SECONDS_MAX
        assert isinstance(await put_, InternalServerError)  # it may still land
        assert isinstance(await got, ThrottlingException)
        store.open.set()
        await runtime.aclose()

    run(scenario)


def _told(answers: "list[asyncio.Future[Any]]", count: int) -> bool:
    return sum(one.done() for one in answers) == count


def test_what_a_read_has_found_is_not_kept_in_a_cycle(inner: MemoryStore) -> None:
    costly = get("a", "0") | {"ProjectionExpression": "l[0], m[17999]"}
    refused = get("a") | {"TableName": "missing"}

    def tracebacks() -> int:
        """Those through our code: a thread of a pool keeps one of its own from Python 3.12 on."""
        found = [each for each in gc.get_objects() if isinstance(each, TracebackType)]
        return sum("hashrange" in each.tb_frame.f_code.co_filename for each in found)

    async def scenario() -> None:
        runtime = AsyncRuntime(AsyncMemoryStore(inner), asyncio.get_running_loop())
        await send(runtime, "PutItem", COSTLY_PUT)
        gc.collect()
        before = tracebacks()
        for request in costly, refused:
            for _ in range(5):
                await send(runtime, "GetItem", request)
        await wait_until_async(lambda: tracebacks() == before)
        await runtime.aclose()

    gc.disable()
    try:
        run(scenario)
    finally:
        gc.enable()


# ---- from threads ----


@pytest.fixture
def runtime(inner: MemoryStore) -> Iterator[AsyncRuntime]:
    own = LoopThread()
    runtime = AsyncRuntime(
        AsyncMemoryStore(inner), own.loop, settings=Settings(throughput="measured")
    )
    yield runtime
    runtime.close()
    own.close()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_costly_requests_are_evaluated_aside(runtime: AsyncRuntime, elsewhere: bool) -> None:
    if elsewhere:
        runtime.evaluate_elsewhere()
    runtime.call("PutItem", _encoded(COSTLY_PUT))
    assert runtime.call("UpdateItem", _encoded(COSTLY_UPDATE)) == b"{}"
    wanted = get("a", "0") | {"ProjectionExpression": "l[0], m[17999]"}
    assert _decoded(runtime.call("GetItem", _encoded(wanted)))["Item"] == {
        "l": {"L": [{"N": "7"}]},
        "m": {"L": [{"N": "8999"}]},
    }


def test_explanations_inspections_and_usage_are_those_of_a_synchronous_store(
    runtime: AsyncRuntime, inner: MemoryStore
) -> None:
    other = Runtime(inner, settings=Settings(throughput="measured"))
    request = _encoded(put("a") | {"Item": {"pk": {"S": "a"}, "sk": {"S": "0"}}})
    assert runtime.explain("PutItem", request) == other.explain("PutItem", request)
    runtime.call("PutItem", request)
    [usage] = runtime.usage()
    assert usage.write_units == 1
    [found], [expected] = runtime.inspect(TABLE), other.inspect(TABLE)
    assert found["items"] == expected["items"] == 1
    assert found["collections"] == expected["collections"]
    runtime.probe()


@pytest.mark.parametrize(
    "settings",
    [
        Settings(throughput="enforced"),
        Settings(consistency=Eventual()),
        Settings(faults=Faults(rates={"throttle": 0.1})),
    ],
)
def test_what_needs_one_process_is_refused(settings: Settings) -> None:
    own = LoopThread()
    with pytest.raises(kv.StoreError, match="needs a database that only one process uses"):
        AsyncRuntime(AsyncMemoryStore(), own.loop, settings=settings)
    own.close()


def test_a_call_on_the_loop_itself_says_what_to_do(inner: MemoryStore) -> None:
    async def scenario() -> None:
        runtime = AsyncRuntime(AsyncMemoryStore(inner), asyncio.get_running_loop())
        calls: list[Callable[[], object]] = [
            lambda: runtime.call("GetItem", _encoded(get("a"))),
            lambda: runtime.explain("GetItem", _encoded(get("a"))),
            runtime.inspect,
            runtime.probe,
            runtime.close,
        ]
        for call in calls:
            with pytest.raises(RuntimeError, match="await execute_async"):
                call()
        await runtime.aclose()

    run(scenario)


# ---- streams ----


class SlowCommits(AsyncMemoryStore):
    """It says that a commit may land after others that have read a later time."""

    commit_seconds_max = 5.0


async def first_shard_is_closed(
    ask: Callable[[str, Request], Coroutine[Any, Any, Request]], arn: str
) -> bool:
    """Also according to a reader of its records."""
    stream = (await ask("DescribeStream", {"StreamArn": arn}))["StreamDescription"]
    shard = stream["Shards"][0]
    start = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = await ask("GetShardIterator", {"StreamArn": arn} | start)
    page = await ask("GetRecords", iterator)
    closed = "EndingSequenceNumber" in shard["SequenceNumberRange"]
    assert closed == ("NextShardIterator" not in page)
    return closed


def test_a_shard_is_closed_when_no_more_records_can_land_in_it(inner: MemoryStore) -> None:
    clock = TestClock("2030-01-31")
    streaming = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}

    async def scenario() -> None:
        loop, settings = asyncio.get_running_loop(), Settings(shard_seconds=10)
        runtime = AsyncRuntime(SlowCommits(inner), loop, clock, settings)

        async def ask(operation: str, request: Request) -> Request:
            return _decoded(await send(runtime, operation, request))

        enabled = await ask("UpdateTable", {"TableName": TABLE, "StreamSpecification": streaming})
        arn = enabled["TableDescription"]["LatestStreamArn"]
        closed = []
        for seconds in (0, 12, 4):
            clock.advance(seconds)
            await ask("PutItem", put("a", color=str(clock.now())))
            closed.append(await first_shard_is_closed(ask, arn))
        await runtime.aclose()
        assert closed == [False, False, True]

    asyncio.run(scenario())
