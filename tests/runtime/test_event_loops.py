"""The event loop never waits for a commit, a long read or another thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
import uvloop
from running import (
    TABLE,
    HeldStore,
    count,
    create_table,
    get,
    increment,
    put,
    scanned,
    standing,
)
from small import steps_of
from waiting import SECONDS_MAX, wait_until_async

from hashrange import Database, kv
from hashrange.storage import MemoryStore

QUERY = {
    "TableName": TABLE,
    "KeyConditionExpression": "pk = :a",
    "ExpressionAttributeValues": {":a": {"S": "a"}},
}


@pytest.fixture
def held(store: kv.Store) -> Iterator[HeldStore]:
    held = HeldStore(store)
    yield held
    held.go.set()


def test_reads_go_on_while_a_commit_is_held(held: HeldStore) -> None:
    """They do not see its writes."""
    with Database(held) as database:
        create_table(database.execute)
        database.execute("PutItem", put("a", color="old"))

        async def scenario() -> None:
            held.held = True
            writes = [
                asyncio.create_task(database.execute_async("PutItem", put("a", color="new"))),
                asyncio.create_task(database.execute_async("PutItem", put("a", "2", color="new"))),
            ]
            await wait_until_async(held.reached.is_set)
            for operation, request in (
                ("GetItem", get("a")),
                ("Query", QUERY),
                ("Scan", {"TableName": TABLE}),
                ("TransactGetItems", {"TransactItems": [{"Get": get("a")}]}),
            ):
                response = await asyncio.wait_for(
                    database.execute_async(operation, request), SECONDS_MAX
                )
                assert "old" in str(response)
                assert "new" not in str(response)
            described = await database.execute_async("DescribeTable", {"TableName": TABLE})
            assert described["Table"]["ItemCount"] == 1
            assert not any(write.done() for write in writes)
            held.go.set()
            await asyncio.wait_for(asyncio.gather(*writes), SECONDS_MAX)
            found = await database.execute_async("GetItem", get("a"))
            assert found["Item"]["color"] == {"S": "new"}

        asyncio.run(scenario())


def test_requests_during_a_commit_form_the_next_batch(held: HeldStore) -> None:
    with Database(held, clock=standing()) as database:
        create_table(database.execute)

        async def scenario() -> None:
            before = held.commits
            held.held = True
            first = asyncio.create_task(database.execute_async("UpdateItem", increment("a")))
            await wait_until_async(held.reached.is_set)
            rest = [database.execute_async("UpdateItem", increment("a")) for _ in range(50)]
            waiting = asyncio.gather(*rest)
            await asyncio.sleep(0)  # they are submitted in the next turn
            held.go.set()
            await asyncio.wait_for(asyncio.gather(first, waiting), SECONDS_MAX)
            assert held.commits - before == 2

        asyncio.run(scenario())
        assert count(database.execute, "a") == 51


def test_writes_that_come_during_the_last_commit_are_made(held: HeldStore) -> None:
    """The database is closed meanwhile, in another thread."""
    database = Database(held)
    create_table(database.execute)

    async def scenario() -> list[Any]:
        held.held = True
        first = asyncio.create_task(database.execute_async("PutItem", put("a")))
        await wait_until_async(held.reached.is_set)
        rest = [
            asyncio.create_task(database.execute_async("PutItem", put(str(number))))
            for number in range(5)
        ]
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(database.runtime.close))
        await wait_until_async(lambda: database.runtime._closed)
        held.go.set()
        return await asyncio.wait_for(asyncio.gather(first, *rest, closing), SECONDS_MAX)

    assert asyncio.run(scenario()) == [{}] * 6 + [None]


@pytest.mark.usefixtures("small_steps")
def test_a_long_read_lets_others_run(store: kv.Store) -> None:
    """Others are served between any two chunks of a Scan."""
    with Database(store) as database:
        create_table(database.execute)
        for number in range(100):
            database.execute("PutItem", put(str(number)))
        order: list[str] = []

        async def call(name: str, operation: str, request: Any) -> Any:
            response = await database.execute_async(operation, request)
            order.append(name)
            return response

        async def scenario() -> None:
            scan = asyncio.create_task(call("scan", "Scan", {"TableName": TABLE}))
            for number in range(5):
                await call("get", "GetItem", get(str(number)))
                await call("put", "PutItem", put("new", str(number)))
            assert (await scan)["Count"] == 100  # as of its beginning

        asyncio.run(scenario())
        assert order.index("scan") > 5


def test_answers_come_on_the_loop_that_asked(store: kv.Store) -> None:
    """This holds even if a thread or another loop did the work."""
    with Database(store) as database:
        create_table(database.execute)
        stop = threading.Event()
        wrong: list[str] = []

        def in_thread() -> int:
            done = 0
            while not stop.is_set():
                database.execute("UpdateItem", increment("a"))
                done += 1
            return done

        async def on_loop() -> int:
            home = threading.get_ident()
            loop = asyncio.get_running_loop()
            for _ in range(100):
                answered: asyncio.Future[None] = loop.create_future()

                def done(outcome: object, answered: asyncio.Future[None] = answered) -> None:
                    if threading.get_ident() != home:
                        wrong.append(str(outcome))
                    loop.call_soon_threadsafe(answered.set_result, None)

                body = msgspec.json.encode(increment("a"))
                database.runtime.submit("UpdateItem", body, done)
                await asyncio.wait_for(answered, SECONDS_MAX)
            return 100

        with ThreadPoolExecutor(4) as pool:
            threads = [pool.submit(in_thread) for _ in range(2)]
            loops = [pool.submit(asyncio.run, on_loop()) for _ in range(2)]
            expected = sum(loop.result(SECONDS_MAX) for loop in loops)
            stop.set()
            expected += sum(thread.result(SECONDS_MAX) for thread in threads)
        assert not wrong
        assert count(database.execute, "a") == expected


def test_a_loop_that_ends_during_a_commit_leaves_the_next_one_alone(held: HeldStore) -> None:
    with Database(held) as database:
        create_table(database.execute)

        async def give_up() -> None:
            asyncio.create_task(database.execute_async("PutItem", put("a")))  # noqa: RUF006
            await wait_until_async(held.reached.is_set)

        async def write(pk: str) -> None:
            await asyncio.wait_for(database.execute_async("PutItem", put(pk)), SECONDS_MAX)

        held.held = True
        asyncio.run(give_up())
        held.held = False
        held.go.set()
        asyncio.run(write("b"))
        assert len(scanned(database.execute)) == 2


def test_a_blocked_loop_does_not_delay_others(held: HeldStore) -> None:
    with Database(held) as database, ThreadPoolExecutor(1) as pool:
        create_table(database.execute)
        held.held = True
        writing = pool.submit(database.execute, "PutItem", put("a"))
        assert held.reached.wait(SECONDS_MAX)
        still = asyncio.new_event_loop()

        async def submit_and_stop() -> None:
            database.runtime.submit("PutItem", msgspec.json.encode(put("b")), lambda outcome: None)
            await asyncio.sleep(0.01)  # for its turn, which finds somebody else at work

        async def write_behind_it() -> None:
            write = asyncio.create_task(database.execute_async("PutItem", put("c")))
            await asyncio.sleep(0.01)
            held.go.set()
            await asyncio.wait_for(write, SECONDS_MAX)

        still.run_until_complete(submit_and_stop())
        asyncio.run(write_behind_it())
        still.close()
        writing.result(SECONDS_MAX)
        assert len(scanned(database.execute)) == 3


def test_a_loop_that_ends_before_its_turn_leaves_the_next_one_alone(store: kv.Store) -> None:
    """Its write is not made later, together with another commit."""
    with Database(store) as database:
        create_table(database.execute)
        loop = asyncio.new_event_loop()

        body = msgspec.json.encode(put("a"))
        loop.call_soon(database.runtime.submit, "PutItem", body, lambda outcome: None)
        loop.stop()  # at the end of the turn that submits
        loop.run_forever()
        loop.close()

        async def write() -> None:
            await asyncio.wait_for(database.execute_async("PutItem", put("b")), SECONDS_MAX)

        asyncio.run(write())
        assert [item["pk"]["S"] for item in scanned(database.execute)] == ["b"]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_loop_that_ends_during_a_long_read_leaves_no_snapshot(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    store = MemoryStore()
    with steps_of(1), Database(store) as database:
        create_table(database.execute)
        for number in range(50):
            database.execute("PutItem", put("a", str(number)))

        async def give_up() -> None:
            asyncio.create_task(database.execute_async("Query", QUERY))  # noqa: RUF006
            await asyncio.sleep(0)

        def run(scenario: Coroutine[Any, Any, Any]) -> None:
            with asyncio.Runner(loop_factory=new_loop) as runner:
                runner.run(scenario)

        run(give_up())
        assert len(store._snapshots) == 1
        run(database.execute_async("Query", QUERY))
        assert not store._snapshots
        run(give_up())
    assert not store._snapshots


def test_a_cancelled_caller_does_not_affect_others(held: HeldStore) -> None:
    with Database(held) as database:
        create_table(database.execute)

        async def scenario() -> None:
            held.held = True
            tasks = [
                asyncio.create_task(database.execute_async("PutItem", put(pk))) for pk in "abc"
            ]
            await wait_until_async(held.reached.is_set)
            tasks[1].cancel()
            await asyncio.sleep(0)
            held.go.set()
            await asyncio.wait_for(asyncio.gather(tasks[0], tasks[2]), SECONDS_MAX)
            assert tasks[1].cancelled()

        asyncio.run(scenario())


def test_the_loop_does_not_wait_for_a_thread_that_commits(held: HeldStore) -> None:
    with Database(held) as database:
        create_table(database.execute)
        held.held = True

        async def scenario() -> None:
            thread = asyncio.create_task(
                asyncio.to_thread(database.execute, "PutItem", put("thread"))
            )
            await wait_until_async(held.reached.is_set)
            write = asyncio.create_task(database.execute_async("PutItem", put("loop")))
            read: Awaitable[Any] = database.execute_async("GetItem", get("thread"))
            assert await asyncio.wait_for(read, SECONDS_MAX) == {}
            assert not write.done()
            held.go.set()
            await asyncio.wait_for(asyncio.gather(thread, write), SECONDS_MAX)

        asyncio.run(scenario())
        assert len(scanned(database.execute)) == 2


def test_errors_of_reads_and_writes_are_raised_where_they_are_awaited() -> None:
    with Database(MemoryStore()) as database:

        async def scenario() -> None:
            for operation in ("GetItem", "Query", "PutItem", "Nothing"):
                with pytest.raises(Exception, match=r"Request|resource|Either|validation|is no"):
                    await database.execute_async(operation, get("a"))

        asyncio.run(scenario())


def test_a_callback_that_fails_does_not_affect_the_others(
    store: kv.Store, caplog: pytest.LogCaptureFixture
) -> None:
    with Database(store) as database:
        create_table(database.execute)
        told: list[bytes | BaseException] = []

        def deaf(outcome: bytes | BaseException) -> None:
            raise RuntimeError("deaf")

        async def scenario() -> None:
            for done in (deaf, told.append):
                body = msgspec.json.encode(put("a"))
                database.runtime.submit("PutItem", body, done)
            await wait_until_async(lambda: bool(told))

        asyncio.run(scenario())
    assert told == [b"{}"]
    assert "RuntimeError: deaf" in caplog.text
