"""Keys as they are stored: any length, exact equality, the order of bytes."""

import os
import random

from hypothesis import given
from hypothesis import strategies as st

from hashrange.kv import CreateSpace, Delete, Get, Page, Put, Range, slot_of
from hashrange.storage.postgres import PostgresStore
from hashrange.storage.postgres.keys import KEY_BYTES_MAX, original, stored
from hashrange.testing.store_model import value_of

from .stores import SPACE, read, run, write

ESCAPED_KEY_BYTES_MAX = 16 + 2 * 3_072


@given(st.lists(st.binary(max_size=5), min_size=2, max_size=10))
def test_slots_have_the_order_of_keys(keys: list[bytes]) -> None:
    slots = [slot_of(key) for key in sorted(keys)]
    assert slots == sorted(slots)


def test_a_long_key_comes_back() -> None:
    for length in (KEY_BYTES_MAX, KEY_BYTES_MAX + 1, ESCAPED_KEY_BYTES_MAX):
        key = os.urandom(length)
        row = stored((SPACE, key))
        assert original(row.key, row.rest) == key


def test_random_bytes_of_any_length_fit_into_the_index(postgres_dsn: str) -> None:
    """They cannot be compressed, so that nothing but the cut makes them fit."""
    lengths = (0, 1, KEY_BYTES_MAX - 1, KEY_BYTES_MAX, KEY_BYTES_MAX + 1, ESCAPED_KEY_BYTES_MAX)
    keys = [os.urandom(length) for length in lengths for _ in range(3 if length > 1 else 1)]

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), *(Put(SPACE, key, value_of(1, key)) for key in keys))
        got = await read(store, Get(tuple((SPACE, key) for key in keys)))
        assert got == [value_of(1, key) for key in keys]
        page = await read(store, Range(SPACE, b"", None))
        assert page == Page([(key, value_of(1, key)) for key in sorted(keys)], True)

    run(postgres_dsn, scenario)


def test_long_keys_that_begin_alike_are_different_and_in_order(postgres_dsn: str) -> None:
    drawn = random.Random(5)
    cut = os.urandom(KEY_BYTES_MAX)
    keys = [cut[:-1], cut, cut + b"\x00", cut + b"\xff" * 40, cut[:-1] + b"\xff" * 40]
    keys += [cut + drawn.randbytes(drawn.randrange(1, 60)) for _ in range(30)]
    rows = [(key, value_of(1, key[-8:])) for key in sorted(keys)]

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), *(Put(SPACE, *row) for row in rows))
        for _ in range(20):
            start, end = sorted(drawn.sample(keys, 2))
            reverse, rows_max = drawn.random() < 0.5, drawn.choice([None, 1, 5])
            inside = [row for row in rows if start <= row[0] < end]
            expected = (inside[::-1] if reverse else inside)[:rows_max]
            page = await read(store, Range(SPACE, start, end, reverse, rows_max))
            assert isinstance(page, Page)
            assert page.rows == expected
        await write(store, Delete(SPACE, keys[3]))
        assert await read(store, Get(((SPACE, keys[3]), (SPACE, keys[2])))) == [
            None,
            value_of(1, keys[2][-8:]),
        ]

    run(postgres_dsn, scenario)
