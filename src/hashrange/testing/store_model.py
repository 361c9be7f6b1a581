"""A simple model of a store, and random tests that compare a store with the model."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import cast
from zlib import crc32

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hashrange.kv import (
    CLOCK,
    SYSTEM_SPACE,
    Add,
    Answer,
    Append,
    Counters,
    CreateSpace,
    Delete,
    Dropped,
    DropSpace,
    Get,
    Head,
    Key,
    Max,
    Page,
    Purge,
    Put,
    Range,
    Read,
    Snapshot,
    Store,
    Transaction,
    Write,
    unpack_weight,
)
from hashrange.testing.store_access import read

LOG = b"0log"
LOG_SPACE = 900
NEVER_CREATED = 999


def value_of(weight_bytes: int, body: bytes = b"") -> bytes:
    """A value as the engine writes it: checksum, weight, body."""
    rest = weight_bytes.to_bytes(4, "big") + body
    return crc32(rest).to_bytes(4, "big") + rest


class Model:
    """The state that a store must have: the rows of each space, the dropped spaces, and the
    counters."""

    def __init__(self) -> None:
        self.spaces: dict[int, dict[bytes, bytes]] = {SYSTEM_SPACE: {}}
        self.dropped: dict[int, int] = {}  # rows left
        self.counters: dict[bytes, int] = {}
        self.numbers: dict[int, int] = {}
        """The last committed number of each slot of the log. A rollback frees its numbers."""

    def row(self, space: int, key: bytes) -> bytes | None:
        return self.spaces.get(space, {}).get(key)

    def read(self, read: Read) -> Answer:
        match read:
            case Get():
                return [self.row(space, key) for space, key in read.keys]
            case Range():
                return self._page(read)
            case Counters():
                return [self.counters.get(name, 0) for name in read.names]
            case Head():
                return self.row(*read.key), self.counters.get(read.name, 0)
            case Dropped():
                return sorted(self.dropped)

    def write(self, write: Write) -> None:
        match write:
            case Put(space, key, value):
                self.spaces[space][key] = value
            case Delete(space, key):
                self.spaces[space].pop(key, None)
            case Add(name, delta):
                self.counters[name] = self.counters.get(name, 0) + delta
            case Max(name, value):
                self.counters[name] = max(self.counters.get(name, 0), value)
            case CreateSpace(space):
                self.spaces[space] = {}
            case DropSpace(space):
                self.dropped[space] = len(self.spaces.pop(space))
            case Purge(space, rows_max):
                self._purge(space, rows_max)
            case Append():
                raise AssertionError(
                    "only the store knows the number of an appended row: see `find_appended`"
                )

    def _page(self, read: Range) -> Page:
        rows = [
            (key, value)
            for key, value in sorted(self.spaces.get(read.space, {}).items(), reverse=read.reverse)
            if key >= read.start and (read.end is None or key < read.end)
        ]
        total = 0
        for count, (_, value) in enumerate(rows, 1):
            total += unpack_weight(value)[0]
            if count == read.rows_max or (read.weight_max and total >= read.weight_max):
                return Page(rows[:count], False)
        return Page(rows, True)

    def _purge(self, space: int, rows_max: int) -> None:
        if space in self.dropped:
            self.dropped[space] -= rows_max
            if self.dropped[space] <= 0:
                del self.dropped[space]


KEYS = (b"", b"\x00", b"\x00\x00", b"a", b"a\x00", b"ab", b"ab\xff", b"b", b"\xff", b"\xff\xff")
keys = st.sampled_from(KEYS)
values = st.builds(value_of, st.integers(0, 200), st.binary(max_size=8))
names = st.sampled_from([b"rows", b"bytes", b""])
bounds = st.none() | st.integers(1, 6)
SPACES = range(5)
spaces = st.sampled_from(SPACES)
Rows = list[tuple[int, bytes, bytes | None]]
rows = st.lists(st.tuples(spaces, keys, values | st.none()), min_size=1, max_size=20)


class History(RuleBasedStateMachine):
    """A random history of a store: every call may happen, in any order. Each answer of the store is
    compared with the model's."""

    def __init__(self, make: Callable[[], Store]) -> None:
        super().__init__()
        self.store = make()
        self.committed = Model()
        self.transaction: Transaction | None = None
        self.pending = self.committed  # what the open transaction must see
        self.appended: list[Append] = []  # by the open transaction, which need not see them
        self.snapshots: list[tuple[Snapshot, Model]] = []
        self.spaces_created = 0

    def teardown(self) -> None:
        if self.transaction is not None:
            self.transaction.rollback()
        for snapshot, _ in self.snapshots:
            snapshot.close()
        self.store.close()

    # ---- transactions ----

    @initialize(rows=rows)
    def fill(self, rows: Rows) -> None:
        self.begin(True)
        self.create_space()
        self.create_space()
        self.write([CreateSpace(LOG_SPACE)])
        self.put_and_delete(rows)
        self.commit()

    @precondition(lambda self: self.transaction is None)
    @rule(rows=rows)
    def put_and_delete_and_commit(self, rows: Rows) -> None:
        self.begin(True)
        self.put_and_delete(rows)
        self.commit()

    @precondition(lambda self: self.transaction is None)
    @rule(wait=st.booleans())
    def begin(self, wait: bool) -> None:
        self.transaction = self.store.begin(wait)
        self.pending = deepcopy(self.committed)

    @precondition(lambda self: self.transaction is not None)
    @rule()
    def commit(self) -> None:
        self.open_transaction().commit()
        self.transaction, self.committed = None, self.pending
        self.find_appended()

    def find_appended(self) -> None:
        """Check that the appended rows exist, and that the numbers within each slot rise in the
        order of the appends."""
        model, wanted = self.committed, Range(LOG_SPACE, b"", None)
        page = read(self.store, wanted)
        assert isinstance(page, Page)
        before = model.spaces.setdefault(LOG_SPACE, {})
        new = [row for row in page.rows if row[0] not in before]
        for append in self.appended:
            of_slot = [row for row in new if row[0][: len(LOG)] == append.prefix]
            assert of_slot, "each appended row must have a key of its own"
            new.remove(of_slot[0])
            key, value = of_slot[0]
            number = int.from_bytes(key[len(LOG) :], "big")
            assert len(key) == len(LOG) + 8
            assert value == append.value
            assert number > model.numbers.get(append.slot, 0)
            model.numbers[append.slot] = number
            before[key] = value
        assert not new
        self.appended = []
        assert page == model.read(wanted)

    @precondition(lambda self: self.transaction is not None)
    @rule()
    def roll_back(self) -> None:
        self.open_transaction().rollback()
        self.transaction, self.pending, self.appended = None, self.committed, []

    def open_transaction(self) -> Transaction:
        assert self.transaction is not None
        return self.transaction

    # ---- writes ----

    @precondition(lambda self: self.transaction is not None)
    @rule(rows=rows)
    def put_and_delete(self, rows: Rows) -> None:
        """Put these rows. If a value is None, delete the row."""
        self.write(
            [
                Delete(space, key) if value is None else Put(space, key, value)
                for space, key, value in rows
                if space in self.pending.spaces
            ]
        )

    @precondition(lambda self: self.transaction is not None)
    @rule(name=names, delta=st.integers(-(10**9), 10**9))
    def add(self, name: bytes, delta: int) -> None:
        self.write([Add(name, delta)])

    @precondition(lambda self: self.transaction is not None)
    @rule(value=st.integers(-5, 10**12))
    def raise_clock(self, value: int) -> None:
        self.write([Max(CLOCK, value)])

    @precondition(lambda self: self.transaction is not None)
    @rule(slot=st.integers(0, 2), value=values)
    def append(self, slot: int, value: bytes) -> None:
        self.appended.append(Append(LOG_SPACE, slot, b"%d" % slot + LOG[1:], value))
        self.open_transaction().write(self.appended[-1:])

    @precondition(lambda self: self.transaction is not None)
    @rule()
    def create_space(self) -> None:
        self.spaces_created += 1  # also when it is rolled back: ids are never used twice
        self.write([CreateSpace(self.spaces_created)])

    @precondition(lambda self: self.transaction is not None)
    @rule(space=st.integers(1, 4))
    def drop_space(self, space: int) -> None:
        if space in self.pending.spaces:
            self.write([DropSpace(space)])

    @precondition(lambda self: self.transaction is not None)
    @rule(space=spaces, rows_max=st.integers(1, 3))
    def purge(self, space: int, rows_max: int) -> None:
        self.write([Purge(space, rows_max)])

    def write(self, writes: list[Write]) -> None:
        self.open_transaction().write(writes)
        for write in writes:
            self.pending.write(write)

    # ---- reads ----

    @precondition(lambda self: len(self.snapshots) < 3)
    @rule()
    def open_snapshot(self) -> None:
        self.snapshots.append((self.store.snapshot(), deepcopy(self.committed)))

    @precondition(lambda self: self.snapshots)
    @rule(choose=st.data())
    def close_snapshot(self, choose: st.DataObject) -> None:
        snapshot, _ = self.snapshots.pop(choose.draw(st.integers(0, len(self.snapshots) - 1)))
        snapshot.close()

    @rule(one=st.tuples(spaces, keys), other=st.tuples(spaces, keys))
    def glance(self, one: Key, other: Key) -> None:
        expected = self.committed.row(*one), self.committed.row(*other)
        assert tuple(self.store.glance(one, other)) == expected

    @rule()
    def get(self) -> None:
        self.compare(Get(tuple((space, key) for space in (*SPACES, NEVER_CREATED) for key in KEYS)))

    @rule(start=keys, end=keys | st.none(), rows_max=bounds, weight_max=bounds)
    def range(
        self, start: bytes, end: bytes | None, rows_max: int | None, weight_max: int | None
    ) -> None:
        for space in (*SPACES, NEVER_CREATED):
            for reverse in (False, True):
                heavy = weight_max and 60 * weight_max
                self.compare(Range(space, start, end, reverse, rows_max, heavy))

    @rule()
    def counters(self) -> None:
        self.compare(Counters((b"rows", b"bytes", b"")))

    @rule()
    def clock(self) -> None:
        """Check the clock. It may be the store's own, but must not be earlier than the model's."""
        for source, model in self.sources():
            [now] = cast(list[int], source.read(Counters((CLOCK,))))
            assert now >= model.counters.get(CLOCK, 0)

    @rule(space=spaces, key=keys, name=names)
    def head(self, space: int, key: bytes, name: bytes) -> None:
        self.compare(Head((space, key), name))
        self.compare(Head((NEVER_CREATED, key), name))

    @rule()
    def dropped(self) -> None:
        self.compare(Dropped())

    def compare(self, what: Read) -> None:
        """Compare the answers of the open transaction and of each snapshot with their models."""
        for source, model in self.sources():
            assert in_order(what, source.read(what)) == model.read(what)

    def sources(self) -> Iterator[tuple[Snapshot | Transaction, Model]]:
        """The open transaction and each open snapshot, each with the model of its moment."""
        yield from self.snapshots
        if self.transaction is not None:
            yield self.transaction, self.pending


def in_order(read: Read, answer: Answer) -> Answer:
    """The answer to a read, in a fixed order: an answer to `Dropped` may have any order, so it is
    sorted."""
    return sorted(cast(list[int], answer)) if isinstance(read, Dropped) else answer


def run_histories(make: Callable[[], Store], examples: int, steps: int) -> None:
    """Compare random histories of a store with the model. `make` returns a new, empty store."""

    class Histories(History):
        def __init__(self) -> None:
            super().__init__(make)

    run_state_machine_as_test(
        Histories,
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None),
    )
