"""The store suite: tests of everything that `hashrange.kv` requires of a store.

    class TestMyStore(StoreSuite):
        def make_store(self, folder: Path) -> Store:
            return MyStore(folder / "db")

`make_store` returns an empty store, which may keep its files in `folder`, an empty folder. The
suite also requires that a write to a space that does not exist raises `LookupError`.

`StoreSuite` is for any store. `SingleWriterSuite` (`hashrange.testing.single_writer`) also tests
the guarantees that only a store with a single writer gives. Answers are compared with those of a
simple model (`hashrange.testing.store_model`).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import cast

import pytest

from hashrange.kv import (
    CLOCK,
    SYSTEM_SPACE,
    TOO_LARGE,
    Add,
    Append,
    Busy,
    Conflict,
    Counters,
    CreateSpace,
    Delete,
    Dropped,
    DropSpace,
    Get,
    Head,
    Max,
    Page,
    Purge,
    Put,
    Range,
    Read,
    Store,
    StoreError,
    Write,
)
from hashrange.testing.store_access import commit, counted, in_thread, keys, read, row, values
from hashrange.testing.store_model import run_histories, value_of
from hashrange.testing.store_races import run_races

SPACE = 7
ROW = Put(SPACE, b"key", value_of(1, b"old"))

GUARDED: list[tuple[Read, Write]] = [
    (Get(((SPACE, b"key"),)), Put(SPACE, b"key", value_of(2))),
    (Get(((SPACE, b"key"),)), Delete(SPACE, b"key")),
    (Get(((SPACE, b"absent"),)), Put(SPACE, b"absent", value_of(2))),
    (Head((SPACE, b"key"), b"n"), Put(SPACE, b"key", value_of(2))),
    (Head((SPACE, b"absent"), b"n"), Put(SPACE, b"absent", value_of(2))),
    (Range(SPACE, b"a", b"l"), Put(SPACE, b"k", value_of(2))),
    (Range(SPACE, b"l", b"z"), Put(SPACE, b"m", value_of(2))),
    (Range(SPACE, b"", None), DropSpace(SPACE)),
]
"""Pairs of a read of rows, some of which are absent, and a write that changes the read's answer."""


class StoreSuite:
    """The test suite. Subclass it, name the subclass `Test...`, and define `make_store`."""

    histories = 60  # random ones

    def make_store(self, folder: Path) -> Store:
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """A store with one space that has one row."""
        store = self.make_store(tmp_path)
        commit(store, CreateSpace(SPACE), ROW)
        yield store
        store.close()

    def test_any_history(self, tmp_path: Path) -> None:
        run_histories(self._maker(tmp_path), examples=self.histories, steps=40)

    def _maker(self, tmp_path: Path) -> Callable[[], Store]:
        folders = (tmp_path / str(number) for number in count())

        def make() -> Store:
            folder = next(folders)
            folder.mkdir()
            return self.make_store(folder)

        return make

    # ---- a new store ----

    def test_a_new_store_has_the_system_space_and_nothing_else(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        assert read(store, Range(SYSTEM_SPACE, b"", None)) == Page([], True)
        assert read(store, Dropped()) == []
        assert (counted(store, b"counter"), row(store, (SYSTEM_SPACE, b"key"))) == (0, None)
        commit(store, Put(SYSTEM_SPACE, b"key", ROW.value))
        assert (counted(store, b"counter"), row(store, (SYSTEM_SPACE, b"key"))) == (0, ROW.value)
        store.close()

    # ---- pages ----

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize(
        ("rows_max", "weight_max", "rows", "exhausted"),
        [
            (None, None, 4, True),
            (5, 41, 4, True),
            (4, None, 4, False),  # nothing is left, but a bound ended it
            (None, 40, 4, False),
            (3, None, 3, False),
            (None, 31, 4, False),  # the row that crosses is included
            (None, 30, 3, False),
            (None, 1, 1, False),
            (2, 30, 2, False),
            (3, 20, 2, False),
        ],
    )
    def test_a_bound_ends_a_page(
        self,
        store: Store,
        reverse: bool,
        rows_max: int | None,
        weight_max: int | None,
        rows: int,
        exhausted: bool,
    ) -> None:
        names = [b"a", b"b", b"c", b"d"]
        commit(store, Delete(SPACE, b"key"), *(Put(SPACE, name, value_of(10)) for name in names))
        page = read(store, Range(SPACE, b"", None, reverse, rows_max, weight_max))
        expected = (names[::-1] if reverse else names)[:rows]
        assert page == Page([(name, value_of(10)) for name in expected], exhausted)

    def test_a_range_that_ends_before_it_starts_is_empty(self, store: Store) -> None:
        for reverse in (False, True):
            assert read(store, Range(SPACE, b"z", b"a", reverse)) == Page([], True)

    def test_values_of_400_kilobytes_and_keys_of_three(self, store: Store) -> None:
        large = Put(SPACE, b"\xff" * 3_088, value_of(400 << 10, bytes(range(256)) * 1_600))
        commit(store, large)
        assert row(store, (SPACE, large.key)) == large.value
        places = (SPACE, large.key), (SPACE, b"key"), (SPACE + 1, b"key")
        assert read(store, Get(places, bytes_max=99)) == [TOO_LARGE, ROW.value, None]

    # ---- snapshots and transactions ----

    @pytest.mark.parametrize(("what", "change"), GUARDED)
    def test_what_was_read_still_holds(self, store: Store, what: Read, change: Write) -> None:
        """If the answer to a read of a transaction changes, the commit fails and writes nothing."""
        first = store.begin()
        first.read(what)
        try:
            second = store.begin(False)
        except Busy:  # nobody can change it
            first.rollback()
            return
        second.write([change])
        second.commit()
        first.write([Put(SPACE, b"first", value_of(1)), Add(b"n", 1)])
        with pytest.raises(Conflict):
            first.commit()
        assert row(store, (SPACE, b"first")) is None
        assert counted(store, b"n") == 0

    def test_a_row_that_was_deleted_and_put_again_has_changed(self, store: Store) -> None:
        """If a row is deleted and put again, a commit that depends on the old row fails."""
        first = store.begin()
        first.read(Get(((SPACE, b"key"),)))
        for change in (Delete(SPACE, b"key"), Put(SPACE, b"key", value_of(2))):
            try:
                second = store.begin(False)
            except Busy:
                first.rollback()
                return
            second.read(Get(((SPACE, b"key"),)))
            second.write([change])
            second.commit()
        first.write([Put(SPACE, b"first", value_of(1))])
        with pytest.raises(Conflict):
            first.commit()

    def test_counters_are_no_reason_for_a_conflict(self, store: Store) -> None:
        """Two transactions that change the same counter and the clock are both committed."""
        first = store.begin()
        first.read(Head((SPACE, b"key"), b"n"))
        first.read(Counters((b"n", CLOCK)))
        try:
            second = store.begin(False)
        except Busy:
            first.rollback()
            return
        for transaction in (second, first):
            transaction.write([Add(b"n", 2), Max(CLOCK, 5)])
            transaction.commit()
        assert counted(store, b"n") == 4

    def test_any_race(self, tmp_path: Path) -> None:
        """Run random concurrent transactions, if the store allows them."""
        run_races(self._maker(tmp_path), examples=self.histories, steps=30)

    def test_a_snapshot_keeps_its_moment(self, store: Store) -> None:
        commit(store, Add(b"n", 1))
        wanted: Sequence[Read] = (
            Get(((SPACE, b"key"), (SPACE, b"later"))),
            Range(SPACE, b"", None),
            Counters((b"n",)),
            Dropped(),
        )
        snapshot = store.snapshot()
        before = [snapshot.read(what) for what in wanted]
        commit(store, Put(SPACE, b"key", value_of(2)), Put(SPACE, b"later", value_of(3)))
        commit(store, Delete(SPACE, b"key"), Add(b"n", 1))
        commit(store, DropSpace(SPACE), CreateSpace(SPACE + 1))
        commit(store, Purge(SPACE, 100))
        assert [snapshot.read(what) for what in wanted] == before
        snapshot.close()
        assert read(store, wanted[0]) == [None, None]

    def test_a_brief_snapshot_sees_what_is_committed_and_lets_writers_in(
        self, store: Store
    ) -> None:
        for number in range(2, 5):
            snapshot = store.snapshot(True)
            before = values(snapshot, SPACE, b"key")
            page = snapshot.read(Range(SPACE, b"", None, rows_max=1))
            assert page == Page([(b"key", before[0] or b"")], False)
            snapshot.close()
            transaction = store.begin(False)
            transaction.write([Put(SPACE, b"key", value_of(number))])
            beside = store.snapshot(True)
            assert values(beside, SPACE, b"key") == before
            beside.close()
            transaction.commit()
            assert read(store, Get(((SPACE, b"key"),))) == [value_of(number)]

    def test_nobody_else_sees_what_is_not_committed(self, store: Store) -> None:
        transaction = store.begin()
        transaction.write([Put(SPACE, b"key", value_of(2)), Put(SPACE, b"new", value_of(2))])
        transaction.write([Add(b"n", 5), DropSpace(SYSTEM_SPACE + SPACE)])
        assert (counted(store, b"n"), row(store, (SPACE, b"key"))) == (0, ROW.value)
        assert read(store, Get(((SPACE, b"key"), (SPACE, b"new")))) == [ROW.value, None]
        assert read(store, Range(SPACE, b"", None)) == Page([(ROW.key, ROW.value)], True)
        assert read(store, Dropped()) == []
        assert transaction.read(Range(SPACE, b"", None)) == Page([], True)
        assert transaction.read(Counters((b"n",))) == [5]
        transaction.rollback()
        assert (counted(store, b"n"), row(store, (SPACE, b"key"))) == (0, ROW.value)

    def test_a_rollback_undoes_everything(self, store: Store) -> None:
        transaction = store.begin()
        transaction.write([Put(SPACE, b"key", value_of(2)), Append(SPACE, 0, b"log", value_of(1))])
        transaction.write([Add(b"n", 5), CreateSpace(8), Put(8, b"key", value_of(2))])
        transaction.write([Delete(SPACE, b"key"), DropSpace(SPACE), Purge(SPACE, 10)])
        transaction.rollback()
        assert read(store, Range(SPACE, b"", None)) == Page([(ROW.key, ROW.value)], True)
        assert read(store, Range(8, b"", None)) == Page([], True)
        assert read(store, Counters((b"n",))) == [0]
        assert read(store, Dropped()) == []

    def test_a_write_to_a_space_that_is_not_there_is_refused(self, store: Store) -> None:
        transaction = store.begin()
        with pytest.raises(LookupError):
            transaction.write([Put(SPACE, b"other", value_of(1)), Put(99, b"key", value_of(1))])
        transaction.rollback()
        assert keys(read(store, Range(SPACE, b"", None))) == [b"key"]

    # ---- counters ----

    def test_a_raised_counter_never_falls(self, store: Store) -> None:
        commit(store, Max(CLOCK, 5))
        assert counted(store, CLOCK) >= 5
        commit(store, Max(CLOCK, 3), Max(CLOCK, 9), Max(CLOCK, 7))
        latest = counted(store, CLOCK)
        assert latest >= 9
        lost = store.begin()
        lost.write([Max(CLOCK, 20)])
        assert cast(list[int], lost.read(Counters((CLOCK,))))[0] >= 20
        lost.rollback()
        commit(store, Max(CLOCK, 1))
        assert counted(store, CLOCK) >= latest

    # ---- the log ----

    def test_numbers_of_one_slot_rise_and_are_never_used_twice(self, store: Store) -> None:
        """Numbers are not used again after a rollback or a delete."""
        seen: list[bytes] = []
        commit(store, CreateSpace(8))
        for _ in range(3):
            one, other = Append(8, 1, b"\x01", value_of(1)), Append(8, 2, b"\x02", value_of(2))
            commit(store, one, other, one)
            lost = store.begin()
            lost.write([one, Append(SPACE, 1, b"\x01", value_of(3))])
            lost.rollback()
            there = keys(read(store, Range(8, b"\x01", b"\x02")))
            new = [key for key in there if key not in seen]
            assert len(new) == 2
            assert seen + new == sorted(seen + new)
            seen += new
            commit(store, Delete(8, new[1]))
        assert len(keys(read(store, Range(8, b"\x02", None)))) == 3
        assert {len(key) for key in seen} == {1 + 8}

    # ---- spaces ----

    def test_a_dropped_space_is_gone_at_once_and_emptied_in_steps(self, store: Store) -> None:
        commit(store, *(Put(SPACE, b"%d" % number, value_of(1)) for number in range(4)))
        commit(store, DropSpace(SPACE))
        assert row(store, (SPACE, b"key")) is None
        assert read(store, Get(((SPACE, b"key"),))) == [None]
        assert read(store, Range(SPACE, b"", None)) == Page([], True)
        for left in ([SPACE], [SPACE], []):
            assert read(store, Dropped()) == [SPACE]
            commit(store, Purge(SPACE, 2))
            assert read(store, Dropped()) == left
        commit(store, Purge(SPACE, 2))

    def test_a_rollback_brings_back_what_was_purged(self, store: Store) -> None:
        snapshot = store.snapshot()
        commit(store, DropSpace(SPACE))
        transaction = store.begin()
        transaction.write([Purge(SPACE, 10)])
        assert transaction.read(Dropped()) == []
        transaction.rollback()
        assert read(store, Dropped()) == [SPACE]
        assert snapshot.read(Range(SPACE, b"", None)) == Page([(ROW.key, ROW.value)], True)
        snapshot.close()

    def test_a_live_space_is_not_purged(self, store: Store) -> None:
        commit(store, Purge(SPACE, 10), Purge(99, 10))
        assert keys(read(store, Range(SPACE, b"", None))) == [b"key"]

    # ---- maintenance ----

    def test_a_sound_store_has_no_problems(self, store: Store) -> None:
        assert list(store.verify()) == []

    def test_a_backup_never_replaces_a_file(self, store: Store, tmp_path: Path) -> None:
        """A backup refuses to overwrite a file. A store without backups raises a one-line error."""
        (taken := tmp_path / "taken").write_text("mine")
        with pytest.raises(StoreError, match=r"^[^\n]+$"):
            store.backup(str(taken))
        assert taken.read_text() == "mine"
        with suppress(StoreError):
            store.backup(str(tmp_path / "copy"))
        assert list(store.verify()) == []

    # ---- threads ----

    def test_another_thread_may_commit_and_close(self, store: Store) -> None:
        transaction = store.begin()
        snapshot = store.snapshot()
        transaction.write([Put(SPACE, b"key", value_of(9))])
        in_thread(transaction.commit)
        in_thread(snapshot.close)
        assert row(store, (SPACE, b"key")) == value_of(9)

    def test_no_addition_of_many_threads_is_lost(self, store: Store) -> None:
        """Threads increment the weights of two rows together. Readers always see equal weights."""
        commit(store, Put(SPACE, b"twin", ROW.value))
        rounds, writers = 40, 4

        def add_one() -> None:
            transaction = store.begin()
            [value] = values(transaction, SPACE, b"key")
            assert value
            next_value = value_of(int.from_bytes(value[4:8], "big") + 1)
            transaction.write([Put(SPACE, b"key", next_value), Put(SPACE, b"twin", next_value)])
            try:
                transaction.commit()
            except Conflict:
                add_one()

        def write() -> None:
            for _ in range(rounds):
                add_one()

        def compare() -> None:
            while any(thread.is_alive() for thread in threads):
                snapshot = store.snapshot()
                twins = values(snapshot, SPACE, b"key", b"twin")
                snapshot.close()
                if twins != twins[::-1]:
                    unequal.append(twins)

        unequal: list[object] = []
        threads = [threading.Thread(target=write) for _ in range(writers)]
        for thread in threads:
            thread.start()
        in_thread(compare)
        assert not unequal
        assert row(store, (SPACE, b"key")) == value_of(1 + rounds * writers)
