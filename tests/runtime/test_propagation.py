"""Global indexes that are updated from a log: nothing is lost, doubled or reversed on the way.

Two servers share one store, whose steps take random time and sometimes fail. A seed that fails is
in the name of the test.
"""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from followers import (
    BY_COLOR,
    SEEDS,
    Server,
    both_at_once,
    built_beside_writers,
    compare,
    new_table,
    stop,
    sync,
    two_servers,
    write_all,
)
from running import TABLE, add_index, create_table, get, index_status, put, scanned
from waiting import run

from hashrange import kv
from hashrange.model.errors import ApiError, ThrottlingException
from hashrange.operations.upkeep import build_from_log, build_index
from hashrange.runtime import back_pressure
from hashrange.storage import MemoryStore
from hashrange.testing import TestClock
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.upkeep.integrity import problems
from hashrange.upkeep.upkeep import Upkeep


@pytest.fixture
def inner() -> MemoryStore:
    return MemoryStore()


@pytest.mark.parametrize("seed", SEEDS)
def test_indexes_become_what_the_items_are(seed: int, inner: MemoryStore) -> None:
    two_servers(seed, inner, rate=0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_doubled_when_commits_fail(seed: int, inner: MemoryStore) -> None:
    two_servers(seed, inner, rate=0.03)


# ---- servers that end, or do not keep up ----


def test_another_server_carries_out_what_one_has_left_behind(inner: MemoryStore) -> None:
    async def scenario() -> None:
        clock = TestClock()
        store = AsyncMemoryStore(inner, indexes_follow=True)
        dying, other = Server(store, clock), Server(store, clock)
        await new_table(dying)
        stop(dying)
        await write_all([dying], Random(1))
        assert not scanned(sync(inner), IndexName="by-color")
        assert list(problems(inner)) == []
        clock.advance(11)
        assert await other.lag() >= 11
        await other.upkeep()
        await other.caught_up()
        await other.runtime.aclose()

    run(scenario)
    compare(inner)


class Troubled(AsyncMemoryStore):
    """While there is a problem, nobody can read several rows at once, as the records of a log."""

    problem: Exception | None = None

    async def read(self, reads: Sequence[kv.Read], /) -> list[kv.Answer]:
        if self.problem and any(isinstance(each, kv.Range) for each in reads):
            raise self.problem
        return await super().read(reads)


@pytest.mark.parametrize(
    ("problem", "seconds"),
    [
        (ThrottlingException("Other writers are in the way."), back_pressure.LAG_SECONDS_MAX),
        (kv.StoreError("the node at db3 is away"), back_pressure.AWAY_SECONDS_MAX),
    ],
    ids=["slow", "away"],
)
def test_a_table_whose_indexes_fall_behind_is_throttled(
    inner: MemoryStore,
    problem: Exception,
    seconds: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        clock = TestClock()
        store = Troubled(inner, indexes_follow=True)
        server = Server(store, clock)
        await new_table(server)
        await new_table(server, TableName="plain")
        store.problem = problem
        await server.send("PutItem", put("one", color="red"))
        await asyncio.sleep(0.01)  # until the first step has failed
        clock.advance(seconds - 1)
        await server.send("PutItem", put("two"))
        clock.advance(2)
        with pytest.raises(ApiError) as refused:
            await server.send("PutItem", put("two"))
        error: Any = refused.value
        assert error.code == "ThrottlingException"
        named = (
            f"writes to {TABLE} are throttled, because an index lags: the node at db3 is away"
            in caplog.text
        )
        assert named == isinstance(problem, kv.StoreError)
        assert error.message == (
            "Throughput exceeds the current capacity for one or more global secondary indexes. "
            "DynamoDB is automatically scaling your index so please try again shortly."
        )
        reasons = error.members["throttlingReasons"]
        assert [reason["reason"] for reason in reasons] == [
            "IndexWriteKeyRangeThroughputExceeded"
        ] * 2
        assert reasons[0]["resource"].endswith(f"{TABLE}/index/by-color")
        requests = [{"PutRequest": {"Item": put("two")["Item"]}}]
        everything = {TABLE: requests, "plain": requests}
        answer = await server.send("BatchWriteItem", {"RequestItems": everything})
        assert answer["UnprocessedItems"] == {TABLE: requests}
        assert (await server.send("GetItem", get("one")))["Item"]["color"] == {"S": "red"}
        store.problem = None
        await server.caught_up()
        await server.send("PutItem", put("two"))
        await server.runtime.aclose()

    run(scenario)
    assert [i["pk"]["S"] for i in scanned(sync(inner), IndexName="by-color")] == ["one"]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_record_is_carried_out_once(seed: int, inner: MemoryStore) -> None:
    both_at_once(seed, inner)


def test_large_items_are_carried_out(inner: MemoryStore) -> None:
    """Their writes are decided aside, and not many of them are in one step."""

    async def scenario() -> None:
        server = Server(AsyncMemoryStore(inner, indexes_follow=True))
        await new_table(server)
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
        await server.send("UpdateTable", {"TableName": TABLE, "StreamSpecification": stream})
        numbers = {"L": [{"N": str(number)} for number in range(20_000)]}
        for color in "red", "blue":
            requests = [put(f"p{number}", color=color, size=color) for number in range(6)]
            for request in requests:
                request["Item"]["numbers"] = numbers
            await asyncio.gather(*(server.send("PutItem", request) for request in requests))
        await server.caught_up()
        await server.runtime.aclose()

    run(scenario)
    compare(inner)


# ---- indexes that come and go ----


@pytest.mark.parametrize("seed", SEEDS)
def test_an_index_is_built_while_others_follow(
    seed: int, inner: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In many steps, few of which change the definition, which stops all writers."""
    states: set[object] = set()
    change = build_index._change

    def noted(table: Any, index: Any, **members: Any) -> Any:
        states.add((index.name, *members.items()))
        return change(table, index, **members)

    monkeypatch.setattr(build_index, "_change", noted)
    built_beside_writers(seed, inner)
    assert len(states) == 6
    snapshot = inner.snapshot()
    assert snapshot.read(kv.Dropped()) == []


def test_a_build_ends_when_its_records_have_been_carried_out(inner: MemoryStore) -> None:
    async def scenario() -> None:
        server = Server(AsyncMemoryStore(inner, indexes_follow=True))
        await new_table(server, BillingMode="PAY_PER_REQUEST")
        await server.send("PutItem", put("one", color="red"))
        go_on = stop(server)
        requests: list[tuple[str, Any]] = []

        def note(operation: str, request: Any) -> dict[str, Any]:
            requests.append((operation, request))
            return {}

        add_index(note)
        await server.send(*requests[0])
        upkeep = Upkeep(server.runtime)
        for _ in range(10):
            assert await asyncio.to_thread(upkeep.run_once)
        assert index_status(sync(inner)) == "CREATING"
        go_on()
        while await asyncio.to_thread(upkeep.run_once):
            pass
        assert index_status(sync(inner)) == "ACTIVE"
        assert [i["pk"]["S"] for i in scanned(sync(inner), IndexName="by-color")] == ["one"]
        await server.runtime.aclose()

    run(scenario)


def test_a_build_notes_how_far_it_has_come(
    inner: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a server that takes over need not begin again."""
    monkeypatch.setattr(build_from_log, "NOTED_SECONDS", 0.0)
    built_beside_writers(1, inner)


def test_a_database_that_is_spread_later_gets_its_logs(inner: MemoryStore) -> None:
    execute = sync(inner)
    create_table(execute, **BY_COLOR)
    execute("PutItem", put("old", color="red", size="a"))

    async def scenario() -> None:
        server = Server(AsyncMemoryStore(inner, indexes_follow=True))
        go_on = stop(server)
        await server.send("PutItem", put("new", color="red", size="a"))
        assert [i["pk"]["S"] for i in scanned(execute, IndexName="by-color")] == ["old"]
        go_on()
        await write_all([server], Random(1))
        await server.caught_up()
        await server.runtime.aclose()

    run(scenario)
    compare(inner)


def test_expired_items_leave_the_indexes(inner: MemoryStore) -> None:
    async def scenario() -> None:
        clock = TestClock()
        server = Server(AsyncMemoryStore(inner, indexes_follow=True), clock)
        await new_table(server)
        ttl = {"AttributeName": "expires", "Enabled": True}
        await server.send("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": ttl})
        await server.upkeep()
        for number in range(5):
            request = put(f"p{number}", color="red", size="a")
            request["Item"]["expires"] = {"N": str(int(clock.now()) + 10 * number + 5)}
            await server.send("PutItem", request)
        clock.advance(30)
        await server.upkeep()
        await server.caught_up()
        await server.runtime.aclose()

    run(scenario)
    compare(inner)
    left = scanned(sync(inner), IndexName="by-color")
    assert sorted(i["pk"]["S"] for i in left) == ["p3", "p4"]


def test_the_answer_tells_what_the_indexes_will_consume(inner: MemoryStore) -> None:
    async def scenario() -> None:
        server = Server(AsyncMemoryStore(inner, indexes_follow=True))
        await new_table(server)
        wanted = put("one", color="red", size="a") | {"ReturnConsumedCapacity": "INDEXES"}
        answer = await server.send("PutItem", wanted)
        await server.runtime.aclose()
        consumed = answer["ConsumedCapacity"]
        assert consumed["CapacityUnits"] == 4.0
        assert consumed["GlobalSecondaryIndexes"]["by-size"]["CapacityUnits"] == 1.0

    run(scenario)
