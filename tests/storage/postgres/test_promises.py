"""What many writers on one database may rely on; each promise is also broken on purpose."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

import pytest
from locks import waits
from planting import Bug, bug_in, found_by_a_test

from hashrange.kv import (
    CATALOG,
    CLOCK,
    Add,
    Append,
    Conflict,
    Counters,
    CreateSpace,
    Delete,
    DropSpace,
    Get,
    Head,
    Page,
    Put,
    Range,
)
from hashrange.storage.postgres import PostgresStore, guards, script, settle
from hashrange.storage.postgres.guards import Guards
from hashrange.testing.store_model import value_of

from .stores import SPACE, Scenario, Stall, read, run, write

HEAD = Head(CATALOG, CLOCK)
KEY = (SPACE, b"key")
EVERYTHING = Range(SPACE, b"", None)


async def written_rows_are_guarded(_: Stall, one: PostgresStore, other: PostgresStore) -> None:
    """Two transactions read one row and write it: only one of them may."""
    await write(one, CreateSpace(SPACE), Put(*KEY, value_of(1)))
    slow = await one.begin()
    await slow.read([Get((KEY,))])
    await write(other, Put(*KEY, value_of(2)), reads=[Get((KEY,))])
    with pytest.raises(Conflict):
        await slow.commit([Put(*KEY, value_of(3))])
    assert await read(one, Get((KEY,))) == [value_of(2)]


async def a_row_that_came_back_is_another(
    _: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    """It was deleted and put again meanwhile, so that its entries in indexes are others too."""
    await write(one, CreateSpace(SPACE), Put(*KEY, value_of(1)), reads=[Get((KEY,))])
    slow = await one.begin()
    await slow.read([Get((KEY,))])
    await write(other, Delete(*KEY), reads=[Get((KEY,))])
    await write(other, Put(*KEY, value_of(2)), reads=[Get((KEY,))])
    with pytest.raises(Conflict):
        await slow.commit([Put(*KEY, value_of(3))])


async def readers_of_a_log_miss_nothing(
    stall: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    """A reader goes on after the last record that it has seen."""
    await write(one, CreateSpace(SPACE))
    stall.arm()
    slow = asyncio.create_task(write(one, Append(SPACE, 1, b"\x01", value_of(1))))
    await stall.reached.wait()
    fast = asyncio.create_task(write(other, Append(SPACE, 1, b"\x01", value_of(2))))
    await waits(fast, one.pool)
    first = await read(other, EVERYTHING)
    stall.go.set()
    await asyncio.gather(slow, fast)
    assert isinstance(first, Page)
    last = first.rows[-1][0] + b"\x00" if first.rows else b""
    rest = await read(other, Range(SPACE, last, None))
    assert isinstance(rest, Page)
    assert len(first.rows) + len(rest.rows) == 2


async def no_write_is_under_way_when_the_catalog_changes(
    stall: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    """So the build of an index, which begins with that, sees every row that has no entry yet."""
    await write(one, CreateSpace(SPACE), Put(*CATALOG, value_of(0, b"before")))
    stall.arm()
    writer = asyncio.create_task(write(one, Put(*KEY, value_of(1)), reads=[HEAD]))
    await stall.reached.wait()
    change = Put(*CATALOG, value_of(0, b"an index"))
    builder = asyncio.create_task(write(other, change, reads=[HEAD]))
    if not await waits(builder, one.pool):
        assert await read(other, Get((KEY,))) == [value_of(1)], "the build misses this row"
    stall.go.set()
    await asyncio.gather(writer, builder)
    late = await one.begin()
    await late.read([HEAD])
    await write(other, Put(*CATALOG, value_of(0, b"another")), reads=[HEAD])
    with pytest.raises(Conflict):
        await late.commit([Put(*KEY, value_of(2))])


async def what_is_answered_is_committed(_: Stall, one: PostgresStore, other: PostgresStore) -> None:
    await write(one, CreateSpace(SPACE), Put(*KEY, value_of(1)))
    assert await read(other, Get((KEY,))) == [value_of(1)]


async def _is_kept_out(writer: "asyncio.Task[None]", store: PostgresStore) -> bool:
    """Whether it waits for a lock, or has lost the race."""
    return await waits(writer, store.pool) or isinstance(writer.exception(), Conflict)


async def a_range_that_was_read_does_not_change(
    stall: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    """Nobody adds a row to it between the look that is taken at the commit and the commit."""
    await write(one, CreateSpace(SPACE), CreateSpace(SPACE + 1))
    stall.arm()
    counter = asyncio.create_task(
        write(one, Put(SPACE + 1, b"rows", value_of(0)), reads=[EVERYTHING])
    )
    await stall.reached.wait()
    adder = asyncio.create_task(write(other, Put(*KEY, value_of(1))))
    assert await _is_kept_out(adder, one)
    stall.go.set()
    await counter
    with suppress(Conflict):
        await adder


async def an_absent_row_stays_absent(
    stall: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    await write(one, CreateSpace(SPACE), CreateSpace(SPACE + 1))
    stall.arm()
    checker = asyncio.create_task(
        write(one, Put(SPACE + 1, b"checked", value_of(0)), reads=[Get((KEY,))])
    )
    await stall.reached.wait()
    adder = asyncio.create_task(write(other, Put(*KEY, value_of(1)), reads=[Get((KEY,))]))
    assert await waits(adder, one.pool)
    stall.go.set()
    await asyncio.gather(checker, adder)
    assert await read(one, Get((KEY,))) == [value_of(1)]


async def a_dropped_space_takes_no_row(
    stall: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    await write(one, CreateSpace(SPACE))
    stall.arm()
    writer = asyncio.create_task(write(one, Put(*KEY, value_of(1))))
    await stall.reached.wait()
    dropper = asyncio.create_task(write(other, DropSpace(SPACE)))
    assert await waits(dropper, one.pool)
    stall.go.set()
    await asyncio.gather(writer, dropper)
    with pytest.raises(Conflict):
        await write(one, Put(*KEY, value_of(1)))


async def a_space_that_never_was_is_a_bug(
    _: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    with pytest.raises(LookupError):
        await write(one, Put(99, b"key", value_of(1)))
    await write(other, CreateSpace(SPACE))
    with pytest.raises(Conflict):
        await write(one, CreateSpace(SPACE))


async def two_reads_of_a_transaction_come_from_one_moment(
    _: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    await write(one, CreateSpace(SPACE), Put(*KEY, value_of(1)))
    brief = await one.begin()
    assert await brief.read([Get((KEY,))]) == [[value_of(1)]]
    await write(other, Put(*KEY, value_of(2)), Put(SPACE, b"new", value_of(2)))
    with pytest.raises(Conflict):
        await brief.read([Get(((SPACE, b"new"),))])
    await brief.rollback()
    again = await one.begin()
    assert await again.read([Get((KEY,))]) == [[value_of(2)]]
    await write(other, Put(SPACE, b"new", value_of(3)))
    assert await again.read([Get(((SPACE, b"new"),))]) == [[value_of(3)]]
    await again.rollback()


async def a_locking_transaction_does_not_lose(
    _: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    """The rows and ranges that it reads first stay as they are until it ends."""
    elsewhere = SPACE + 1, b"new"
    await write(one, CreateSpace(SPACE), CreateSpace(SPACE + 1), Put(*KEY, value_of(1)))
    for first in Get((KEY,)), EVERYTHING:
        locking = await one.begin(True)
        await locking.read([HEAD, first])
        late = asyncio.create_task(write(other, Put(*KEY, value_of(3)), reads=[Get((KEY,))]))
        assert await _is_kept_out(late, one)
        await locking.read([Get((elsewhere, KEY))])
        await locking.commit([Put(*KEY, value_of(2)), Put(*elsewhere, value_of(2))])
        with pytest.raises(Conflict):
            await late
        await write(one, Put(*KEY, value_of(1)), Delete(*elsewhere))
    absent = await one.begin(True)
    assert await absent.read([Get((elsewhere,))]) == [[None]]
    await write(other, Put(*elsewhere, value_of(2)))
    with pytest.raises(Conflict):
        await absent.read([Get((KEY,))])
    await absent.rollback()


async def records_of_a_slot_never_go_back_in_time(
    _: Stall, one: PostgresStore, other: PostgresStore
) -> None:
    """The keys of a log begin with the time, and a server's clock may be behind another's."""
    await write(one, CreateSpace(SPACE), Append(SPACE, 1, b"\x01\x05", value_of(1)))
    await write(other, Append(SPACE, 1, b"\x01\x04", value_of(2)))
    await write(other, Append(SPACE, 1, b"\x01\x85", value_of(3)))
    await write(other, Append(SPACE, 2, b"\x02\x04", value_of(4)))
    log = await read(one, EVERYTHING)
    assert isinstance(log, Page)
    prefixes = [b"\x01\x05", b"\x01\x05", b"\x01\x85", b"\x02\x04"]
    assert [key[:2] for key, _ in log.rows] == prefixes
    assert [key[-1] for key, _ in log.rows] == [1, 2, 3, 1]
    assert [problem async for problem in one.verify()] == []


async def nothing_is_lost_among_many(_: Stall, one: PostgresStore, other: PostgresStore) -> None:
    """Increments, moves between two rows, additions and appends, from eight tasks."""
    await write(one, CreateSpace(SPACE), *(Put(SPACE, b"%d" % n, value_of(100)) for n in range(4)))
    drawn = random.Random(3)

    async def move(store: PostgresStore) -> None:
        while True:
            transaction = await store.begin()
            source, target = drawn.sample(range(4), 2)
            keys = (SPACE, b"%d" % source), (SPACE, b"%d" % target)
            [answer] = await transaction.read([Get(keys)])
            taken, given = cast(list[bytes], answer)
            amounts = int.from_bytes(taken[4:8], "big") - 1, int.from_bytes(given[4:8], "big") + 1
            rows = [Put(*key, value_of(left)) for key, left in zip(keys, amounts, strict=True)]
            drawn.shuffle(rows)
            try:
                await transaction.commit(
                    [*rows, Add(b"moves", 1), Append(SPACE, 1, b"\x01", value_of(1))]
                )
                return
            except Conflict:
                pass

    async def work(store: PostgresStore) -> None:
        for _ in range(15):
            await move(store)

    await asyncio.gather(*(work(store) for store in (one, other) * 4))
    page = await read(one, Range(SPACE, b"0", b"9"))
    assert isinstance(page, Page)
    assert sum(int.from_bytes(value[4:8], "big") for _, value in page.rows) == 400
    assert await read(one, Counters((b"moves",))) == [120]
    log = await read(one, Range(SPACE, b"\x01", b"\x02"))
    assert isinstance(log, Page)
    assert [int.from_bytes(key[1:], "big") for key, _ in log.rows] == list(range(1, 121))


def keep(dsn: str, promise: Scenario) -> None:
    async def scenario(one: PostgresStore, other: PostgresStore) -> None:
        await promise(Stall(), one, other)

    run(dsn, scenario, stores=2)


@pytest.mark.parametrize(
    "promise",
    [
        written_rows_are_guarded,
        a_row_that_came_back_is_another,
        readers_of_a_log_miss_nothing,
        no_write_is_under_way_when_the_catalog_changes,
        what_is_answered_is_committed,
        a_range_that_was_read_does_not_change,
        an_absent_row_stays_absent,
        a_dropped_space_takes_no_row,
        a_space_that_never_was_is_a_bug,
        two_reads_of_a_transaction_come_from_one_moment,
        a_locking_transaction_does_not_lose,
        records_of_a_slot_never_go_back_in_time,
        nothing_is_lost_among_many,
    ],
    ids=lambda it: it.__name__,
)
def test_a_promise_is_kept(postgres_dsn: str, promise: Scenario) -> None:
    keep(postgres_dsn, promise)


# ---- bugs that are planted ----


@contextmanager
def a_write_is_not_guarded() -> Iterator[None]:
    unguarded = _replaced(script.UPDATES, "AND r.version = q.expected", "")
    with bug_in(script, "GUARDED", frozenset()), unguarded:
        yield


@contextmanager
def versions_restart_after_a_deletion() -> Iterator[None]:
    with (
        _replaced(script.INSERTS, "q.version,", "1,"),
        _replaced(script.UPSERTS, "q.version,", "1,"),
        _replaced(script.UPDATES, "version = q.version", "version = r.version + 1"),
    ):
        yield


def numbers_come_from_a_sequence() -> Bug:
    text = (
        "SELECT space, slot, nextval(pg_get_serial_sequence('numbers', 'number')) AS number, "
        "prefix FROM unnest(${0}::int[], ${1}::smallint[], ${2}::bigint[], ${3}::bytea[]) "
        "AS q (space, slot, number, prefix)"
    )
    return bug_in(script._PARTS, script.HEADS, (text, 4))


def there_is_no_fence() -> Bug:
    locks = Guards.locks

    def planted(self: Guards, *arguments: object) -> dict[int, bool]:
        found = locks(self, *arguments)  # type: ignore[arg-type]
        found.pop(guards.FENCE, None)
        return found

    return bug_in(Guards, "locks", planted)


def the_answer_comes_before_the_commit() -> Bug:
    async def planted(*_: object) -> bool:
        return True

    return bug_in(settle, "commit", planted)


def _replaced(part: int, old: str, new: str) -> Bug:
    text, parameters = script._PARTS[part]
    assert old in text
    return bug_in(script._PARTS, part, (text.replace(old, new), parameters))


@pytest.mark.parametrize(
    ("plant", "promise"),
    [
        (a_write_is_not_guarded, written_rows_are_guarded),
        (versions_restart_after_a_deletion, a_row_that_came_back_is_another),
        (numbers_come_from_a_sequence, readers_of_a_log_miss_nothing),
        (there_is_no_fence, no_write_is_under_way_when_the_catalog_changes),
        (the_answer_comes_before_the_commit, what_is_answered_is_committed),
    ],
    ids=lambda it: it.__name__,
)
def test_a_planted_bug_breaks_it(
    postgres_dsn: str, plant: Callable[[], Bug], promise: Scenario
) -> None:
    async def opened(store: PostgresStore) -> None:
        await store.open()
        async with store.pool.connection() as connection:
            await connection.execute("CREATE TABLE numbers (number bigserial)")

    run(postgres_dsn, opened)
    script._statement.cache_clear()
    try:
        with plant(), found_by_a_test():
            keep(postgres_dsn, promise)
    finally:
        script._statement.cache_clear()


def test_the_time_is_the_databases(postgres_dsn: str) -> None:
    """It is read with the rows and estimated in between, and it never falls."""

    async def scenario(store: PostgresStore) -> None:
        last = 0
        for _ in range(20):
            [answer] = cast(list[list[int]], await store.read([Counters((CLOCK,))]))
            async with store.pool.connection() as connection:
                there = await connection.fetchval(
                    "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
                )
            assert last <= answer[0] <= there
            assert answer[0] <= store.milliseconds() <= there + 60_000
            last = answer[0]
        assert store.not_before(1) >= last

    run(postgres_dsn, scenario)
