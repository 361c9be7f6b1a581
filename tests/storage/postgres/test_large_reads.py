"""Reads whose rows would be too much for one round trip: the first of them are answered."""

import pytest

from hashrange.kv import READ_BYTES_MAX, Conflict, CreateSpace, Get, Put
from hashrange.paging import bytes_of
from hashrange.storage.postgres import PostgresStore
from hashrange.testing.store_model import value_of

from .stores import SPACE, run, write

ROWS = 12
LARGE = value_of(1) + bytes(READ_BYTES_MAX // 4)
READS = [Get(((SPACE, b"%02d" % number),)) for number in range(ROWS)]


async def fill(store: PostgresStore) -> None:
    await write(store, CreateSpace(SPACE))
    for read in READS:
        [key] = read.keys
        await write(store, Put(*key, LARGE))


def test_a_round_trip_answers_the_first_reads(postgres_dsn: str) -> None:
    async def scenario(store: PostgresStore) -> None:
        await fill(store)
        snapshot = await store.snapshot()
        left = READS
        while left:
            answers = await snapshot.read(left)
            assert answers == [[LARGE]] * len(answers)
            assert sum(map(bytes_of, answers)) < READ_BYTES_MAX + len(LARGE)
            left = left[len(answers) :]
        await snapshot.close()

    run(postgres_dsn, scenario)


def test_the_first_two_reads_are_answered_whatever_they_weigh(postgres_dsn: str) -> None:
    every = Get(tuple(read.keys[0] for read in READS))

    async def scenario(store: PostgresStore) -> None:
        await fill(store)
        first, second = await store.read([every, every, *READS[:0]])
        assert first == second == [LARGE] * ROWS
        assert len(await store.read([READS[0], every, READS[1]])) >= 2

    run(postgres_dsn, scenario)


def test_rows_that_were_left_out_are_not_guarded(postgres_dsn: str) -> None:
    """A transaction may land after a row has changed that it was not told of."""

    async def scenario(store: PostgresStore, other: PostgresStore) -> None:
        await fill(store)
        for number, conflicts in (ROWS - 1, False), (0, True):
            transaction = await store.begin()
            assert len(await transaction.read(READS)) < ROWS
            [key] = READS[number].keys
            await write(other, Put(*key, value_of(2)))
            own = Put(SPACE, b"own", value_of(3))
            if conflicts:
                with pytest.raises(Conflict):
                    await transaction.commit([own])
            else:
                await transaction.commit([own])

    run(postgres_dsn, scenario, stores=2)
