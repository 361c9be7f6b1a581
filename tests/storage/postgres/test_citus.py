"""The `citus` dialect over plain PostgreSQL: what it promises, and that it routes statements."""

import asyncio
import re
from typing import Any

import pytest
from locks import waits
from planting import bug_in, found_by_a_test
from waiting import wait_until_async

from hashrange.kv import (
    SYSTEM_SPACE,
    Add,
    Append,
    Conflict,
    Counters,
    CreateSpace,
    Delete,
    DropSpace,
    Get,
    Page,
    Purge,
    Put,
    Range,
    Read,
    StoreError,
)
from hashrange.storage.postgres import PostgresStore, settle
from hashrange.storage.postgres.cluster import routed_writes
from hashrange.storage.postgres.cluster.nodes import Nodes
from hashrange.storage.postgres.pool import Pool
from hashrange.storage.postgres.transaction import PostgresTransaction
from hashrange.testing.store_model import value_of

from . import test_promises as promises
from .stores import SPACE, Scenario, Stall, read, run, write

ONE, OTHER = (SPACE, b"\x00one"), (SPACE, b"\xffother")
"""Keys of different slots."""
ELSEWHERE = (SPACE, b"\x00\x00")
"""A key of a slot at another node than those."""


@pytest.fixture
def dsn(postgres_dsn: str) -> str:
    return postgres_dsn + "&dialect=citus"


@pytest.mark.parametrize(
    "promise",
    [
        promises.written_rows_are_guarded,
        promises.a_row_that_came_back_is_another,
        promises.readers_of_a_log_miss_nothing,
        promises.no_write_is_under_way_when_the_catalog_changes,
        promises.a_range_that_was_read_does_not_change,
        promises.an_absent_row_stays_absent,
        promises.a_dropped_space_takes_no_row,
        promises.a_locking_transaction_does_not_lose,
        promises.records_of_a_slot_never_go_back_in_time,
        promises.nothing_is_lost_among_many,
    ],
    ids=lambda it: it.__name__,
)
def test_a_promise_is_kept(dsn: str, promise: Scenario) -> None:
    promises.keep(dsn, promise)


async def _waits_for(stall: Stall, store: PostgresStore, writer: Any, what: Any) -> Any:
    """Begin `what` while a writer is at its commit. Returns the result, for which it has waited."""
    stall.arm()
    writing = asyncio.create_task(writer)
    await stall.reached.wait()
    other = asyncio.create_task(what)
    waited = await waits(other, store.pool)
    stall.go.set()
    await writing
    assert waited
    return await other


def test_rows_of_several_slots_are_read_under_locks(dsn: str) -> None:
    """So the read waits for a commit that may be visible on another node already."""

    async def scenario(one: PostgresStore, other: PostgresStore) -> None:
        await write(one, CreateSpace(SPACE), Put(*ONE, value_of(1)), Put(*OTHER, value_of(1)))
        both = Get((OTHER, ONE), 1000)
        change = write(one, Put(*OTHER, value_of(2)))
        found = await _waits_for(Stall(), one, change, read(other, both))
        assert found == [value_of(2), value_of(1)]
        gone = write(one, Delete(*ONE), reads=[Get((ONE,))])
        assert await _waits_for(Stall(), one, gone, read(other, both)) == [
            value_of(2),
            None,
        ]
        new = write(one, Put(*ONE, value_of(3)), reads=[Get((ONE,))])
        found = await _waits_for(Stall(), one, new, read(other, both))
        assert found == [value_of(2), value_of(3)]
        assert await read(other, Get((ONE, (SPACE, b"\xffabsent")), 1000)) == [value_of(3), None]
        assert await read(other, Get(((SPACE, b"\xffabsent"),))) == [None]

    run(dsn, scenario, stores=2)


def test_a_locking_transaction_waits_for_those_that_read_its_range(dsn: str) -> None:
    """Other transactions lose the race, and are decided again."""

    async def scenario(store: PostgresStore, other: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*ONE, value_of(1)))
        range_of_one = Range(SPACE, *(ONE[1], ONE[1] + b"\0"))
        for locking in False, True:
            reader = await other.begin(True)
            await reader.read([range_of_one])
            writer = await store.begin(locking)
            await writer.read([Get((OTHER,))])
            commit = asyncio.create_task(writer.commit([Put(*ONE, value_of(2))]))
            if locking:
                assert await waits(commit, store.pool)
                await reader.rollback()
                await commit
            else:
                with pytest.raises(Conflict):
                    await commit
                await reader.rollback()
        assert await read(store, Get((ONE,))) == [value_of(2)]

    run(dsn, scenario, stores=2)


def test_a_transaction_answers_a_read_of_one_moment(dsn: str) -> None:
    """Without its locks, because the transaction compares what was read when it ends."""

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(*ONE, value_of(1)), Put(*OTHER, value_of(2)))
        for locking in False, True:
            transaction = await store.begin(locking)
            [found] = await transaction.read([Get((ONE, OTHER), weight_max=1000)])
            assert found == [value_of(1), value_of(2)]
            await transaction.confirm()

    run(dsn, scenario)


def test_a_row_that_is_deleted_unread_may_not_be_visible_yet(dsn: str) -> None:
    """An entry of an index, whose item is visible on another node before the entry is here."""

    async def scenario(one: PostgresStore, other: PostgresStore) -> None:
        await write(one, CreateSpace(SPACE))
        stall = Stall()
        await _waits_for(stall, one, write(one, Put(*ONE, value_of(1))), write(other, Delete(*ONE)))
        assert await read(one, Get((ONE,))) == [None]

    run(dsn, scenario, stores=2)


def test_a_decision_not_to_write_is_confirmed(dsn: str) -> None:
    """Rows that were read on several nodes may never have been there at once."""

    async def scenario(one: PostgresStore, other: PostgresStore) -> None:
        await write(one, CreateSpace(SPACE), Put(*ONE, value_of(1)))
        for change in Put(*ONE, value_of(2)), Put(*OTHER, value_of(2)):
            transaction = await one.begin()
            await transaction.read([Get((ONE,)), Get((OTHER,))])
            await write(other, change)
            with pytest.raises(Conflict):
                await transaction.confirm()
        transaction = await one.begin()
        await transaction.read([Get((ONE,)), Get((OTHER,)), Get(((SPACE, b"absent"),))])
        await transaction.confirm()
        page = await read(one, Range(SPACE, b"", None))
        assert isinstance(page, Page)
        assert [key for key, _ in page.rows] == [ONE[1], OTHER[1]]

    run(dsn, scenario, stores=2)


def test_snapshots_do_not_wait_for_each_others_connections(dsn: str) -> None:
    """A snapshot holds a connection, and rows of one moment are read with another, under locks."""

    async def scenario(store: PostgresStore) -> None:
        written = [Put(*key, value_of(1)) for key in (ONE, ELSEWHERE)]
        await write(store, CreateSpace(SPACE), *written)
        held = 0

        async def one_reader() -> None:
            nonlocal held
            snapshot = await store.snapshot()
            held += 1
            await wait_until_async(lambda: held >= store.pool.size - 1)
            for weight_max in None, 1000:
                [found] = await snapshot.read([Get((ONE, ELSEWHERE), weight_max)])
                assert found == [value_of(1), value_of(1)]
            await snapshot.close()

        await asyncio.gather(*(one_reader() for _ in range(2 * store.pool.size)))

    run(dsn, scenario)


ROUTED = re.compile(
    r"slot = (\$\d|ANY \(\$\d\))"
    r"|^INSERT INTO \w+ \([^)]*\bslot\b[^)]*\) VALUES \(\$1, [^()]*\)"
)
DISTRIBUTED = re.compile(r"\b(rows|counters|log_heads|batches)\b")
ON_ALL_SHARDS = (
    "SELECT min(slot) FROM rows WHERE space = ",
    "SELECT DISTINCT slot FROM rows WHERE space = ",
    "SELECT name, sum(value)::bigint FROM counters WHERE name = ",
    "SELECT slot FROM log_heads WHERE space = ",
    "INSERT INTO rows (space, slot, key, version, weight, value) SELECT -1",  # the fences
    "BEGIN; SET LOCAL lock_timeout = ",  # the fences again, at one node
)
"""They change nothing and lock nothing, but for the fences."""


def test_each_statement_is_routed_to_one_shard(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: set[str] = set()
    connect = Pool._connect

    async def logged(pool: Pool) -> Any:
        connection = await connect(pool)
        connection.add_query_logger(lambda record: statements.add(record.query))
        return connection

    async def scenario(store: PostgresStore) -> None:
        await store.open()
        statements.clear()
        await write(
            *(store, CreateSpace(SPACE), CreateSpace(SPACE + 1)),
            *(Put(SPACE, b"%d" % n, value_of(n)) for n in range(20)),
            *(Append(SPACE, n, b"%d" % n, value_of(n)) for n in range(3)),
            *(Add(b"one", 1), Add(b"two", 2), Put(SYSTEM_SPACE, b"row", value_of(1))),
        )
        reads: list[Read] = [
            *(Get((ONE, OTHER)), Get(((SPACE, b"1"),)), Get(((SPACE, b"2"),))),
            *(Range(SPACE, b"", None), Range(SPACE, b"", None, True, 7), Counters((b"one",))),
        ]
        writes = Put(SPACE, b"1", value_of(9)), Put(*ONE, value_of(1)), Delete(SPACE, b"3")
        await write(store, *writes, reads=reads)
        await write(store, Delete(SPACE, b"2"), reads=[Get(((SPACE, b"2"),))])
        transaction = await store.begin(True)
        page, backward, [count] = await transaction.read(reads[3:])  # type: ignore[misc]
        await transaction.rollback()
        assert isinstance(page, Page)
        assert isinstance(backward, Page)
        assert len(page.rows) == 22
        assert backward.rows == page.rows[:-8:-1]
        assert count == 1
        assert [problem async for problem in store.verify()] == []
        await settle.forget_old_at(store.nodes.of(0), store.milliseconds() + 10**9)
        await write(store, DropSpace(SPACE))
        await write(store, Purge(SPACE, 5))
        await write(store, Purge(SPACE, 100))

    monkeypatch.setattr(Pool, "_connect", logged)
    # Nothing is said to shards themselves.
    monkeypatch.setattr(Nodes, "one_for", lambda *_: None)
    monkeypatch.setattr(PostgresStore, "concerns_several_nodes", lambda *_: False)
    run(dsn, scenario)
    asked = {text for text in statements if DISTRIBUTED.search(text)}
    assert len(asked) > 15
    for text in asked:
        assert ROUTED.search(text) or text.startswith(ON_ALL_SHARDS), text
        assert "unnest" not in text


def test_a_dialect_that_does_not_exist_is_refused(postgres_dsn: str) -> None:
    with pytest.raises(StoreError, match="dialect must be citus or omitted, not 'oracle'"):
        PostgresStore(postgres_dsn + "&dialect=oracle")


# ---- bugs that are planted ----


def test_rows_that_are_read_without_locks_may_be_torn(dsn: str) -> None:
    async def planted(*_: object) -> None:
        pass

    with bug_in(PostgresStore, "read_bounded", planted), found_by_a_test():
        test_rows_of_several_slots_are_read_under_locks(dsn)


def test_a_row_that_is_deleted_without_being_written_stays(dsn: str) -> None:
    put = routed_writes._put

    async def planted(connection: Any, statement: str, places: Any, new: Any, version: int) -> None:
        for at in places:
            if new[at] is None:
                text = "DELETE FROM rows WHERE space = $1 AND slot = $2 AND key = $3"
                await connection.execute(text, *at[:3])
        left = [at for at in places if new[at] is not None]
        await put(connection, statement, left, new, version)

    with bug_in(routed_writes, "_put", planted), found_by_a_test():
        test_a_row_that_is_deleted_unread_may_not_be_visible_yet(dsn)


def test_a_refusal_that_is_not_confirmed_may_be_wrong(dsn: str) -> None:
    rolled_back = bug_in(PostgresTransaction, "confirm", PostgresTransaction.rollback)
    with rolled_back, found_by_a_test():
        test_a_decision_not_to_write_is_confirmed(dsn)
