"""The test suite for stores with a single writer, which give stronger guarantees than other stores.

class TestMyStore(SingleWriterSuite):
    def make_store(self, folder: Path) -> Store:
        return MyStore(folder / "db")
"""

import threading

import pytest

from hashrange.kv import (
    CLOCK,
    Add,
    Append,
    Busy,
    CreateSpace,
    Delete,
    Dropped,
    DropSpace,
    Get,
    Max,
    Put,
    Range,
    Store,
)
from hashrange.testing.store_access import commit, counted, in_thread, keys, read, values
from hashrange.testing.store_model import value_of
from hashrange.testing.store_suite import SPACE, StoreSuite


class SingleWriterSuite(StoreSuite):
    """The tests of `StoreSuite`, and tests of the stronger guarantees. Subclass it like
    `StoreSuite`."""

    def test_one_writes_at_a_time(self, store: Store) -> None:
        transaction = store.begin()

        def refused() -> None:
            with pytest.raises(Busy):
                store.begin(False)

        in_thread(refused)
        transaction.rollback()
        in_thread(lambda: store.begin(False).rollback())

    def test_begin_waits_for_the_other_to_end(self, store: Store) -> None:
        transaction = store.begin()
        ending = threading.Timer(0.1, transaction.commit)
        ending.start()
        transaction.write([Put(SPACE, b"key", value_of(9))])
        second = store.begin()
        assert second.read(Get(((SPACE, b"key"),))) == [value_of(9)]
        second.rollback()
        ending.join()

    def test_the_clock_is_what_it_was_raised_to(self, store: Store) -> None:
        commit(store, Max(CLOCK, 5))
        commit(store, Max(CLOCK, 9), Max(CLOCK, 7))
        assert counted(store, CLOCK) == 9

    def test_numbers_of_the_log_rise_over_transactions_and_spaces(self, store: Store) -> None:
        commit(store, CreateSpace(8), Append(SPACE, 1, b"l", value_of(1)))
        for _ in range(3):
            commit(store, Append(8, 2, b"l", value_of(1)), Append(SPACE, 1, b"l", value_of(2)))
            lost = store.begin()
            lost.write([Append(SPACE, 1, b"l", value_of(3))])
            lost.rollback()
        there = keys(read(store, Range(SPACE, b"l", b"m")))
        other = keys(read(store, Range(8, b"l", b"m")))
        assert (len(there), len(other)) == (4, 3)
        assert [key for pair in zip(there[1:], other, strict=True) for key in pair[::-1]] == sorted(
            there[1:] + other
        )
        assert {len(key) for key in there + other} == {1 + 8}

    def test_many_writes_and_reads_are_in_their_order(self, store: Store) -> None:
        names = [b"k%d" % number for number in range(40)]
        put = [Put(SPACE, name, value_of(1)) for name in names]
        transaction = store.begin()
        transaction.write([CreateSpace(8)])
        transaction.write(
            [
                *put,
                *(Append(SPACE, 1, b"l", value_of(1)), Append(8, 1, b"l", value_of(1))),
                *(Delete(SPACE, names[3]), Put(8, names[0], value_of(3)), DropSpace(8)),
                *(Put(SPACE, names[3], value_of(4)), Put(SPACE, names[5], value_of(5))),
                *(Delete(SPACE, names[7]), Add(b"n", 2)),
            ]
        )
        wanted = [*reversed(names), b"none", names[5]]
        expected = [value_of(1)] * 40
        expected[3], expected[5] = value_of(4), value_of(5)
        answer: list[bytes | None] = [*reversed(expected), None, value_of(5)]
        answer[39 - 7] = None
        assert values(transaction, SPACE, *wanted) == answer
        transaction.commit()
        assert read(store, Get(tuple((SPACE, name) for name in wanted))) == answer
        assert len(keys(read(store, Range(SPACE, b"l", b"m")))) == 1
        assert (counted(store, b"n"), read(store, Dropped())) == (2, [8])
