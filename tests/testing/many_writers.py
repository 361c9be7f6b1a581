"""A small store with many writers, striped counters and a clock of its own, in memory.

It implements the waist as a distributed store does, and nothing beyond it: any number of
transactions are open at once, each on a copy of its moment; a commit looks again at all rows that
were read; a counter is the sum of its stripes; every slot of a log counts for itself; and nobody
raises the clock. So it shows that the store suite asks for no more than the waist says.
"""

import threading
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import count
from typing import cast

from hashrange.kv import (
    CLOCK,
    SYSTEM_SPACE,
    Add,
    Answer,
    Append,
    Conflict,
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
    StoreError,
    Write,
)
from hashrange.paging import page_of, small

STRIPES = 3


class State:
    """All stored data, as of one moment."""

    def __init__(self) -> None:
        self.live: dict[int, dict[bytes, bytes]] = {SYSTEM_SPACE: {}}
        self.dropped: dict[int, dict[bytes, bytes]] = {}
        self.stripes: list[dict[bytes, int]] = [{} for _ in range(STRIPES)]
        self.numbers: dict[tuple[int, int], int] = {}
        self.time = 1_700_000_000_000

    def row(self, key: Key) -> bytes | None:
        return self.live.get(key[0], {}).get(key[1])

    def counter(self, name: bytes) -> int:
        if name == CLOCK:
            return self.now()
        return sum(stripe.get(name, 0) for stripe in self.stripes)

    def now(self) -> int:
        self.time += 1
        return self.time

    def raise_clock(self, write: Max) -> None:
        """The clock is the store's own."""

    def page(self, read: Range) -> Page:
        rows = sorted(self.live.get(read.space, {}).items(), reverse=read.reverse)
        inside = (
            (key, value)
            for key, value in rows
            if key >= read.start and (read.end is None or key < read.end)
        )
        return page_of(inside, read)

    def answer(self, read: Read) -> Answer:
        match read:
            case Get():
                rows = [self.row(key) for key in read.keys]
                return rows if read.bytes_max is None else small(rows, read.bytes_max)
            case Range():
                return self.page(read)
            case Counters():
                return [self.counter(name) for name in read.names]
            case Head():
                return self.row(read.key), self.counter(read.name)
            case Dropped():
                return list(self.dropped)

    def write(self, write: Write, stripe: int) -> None:
        match write:
            case Put():
                self.live[write.space][write.key] = write.value
            case Delete():
                self.live[write.space].pop(write.key, None)
            case Add():
                self.add(write, stripe)
            case Max():
                self.raise_clock(write)
            case Append():
                self.append(write)
            case CreateSpace():
                self.live[write.space] = {}
            case DropSpace():
                self.dropped[write.space] = self.live.pop(write.space)
            case Purge():
                self.purge(write)

    def add(self, write: Add, stripe: int) -> None:
        numbers = self.stripes[stripe]
        numbers[write.name] = numbers.get(write.name, 0) + write.delta

    def append(self, write: Append) -> None:
        slot = (write.space, write.slot)
        self.numbers[slot] = self.numbers.get(slot, 0) + 1
        key = write.prefix + self.numbers[slot].to_bytes(8, "big")
        self.live[write.space][key] = write.value

    def purge(self, write: Purge) -> None:
        rows = self.dropped.get(write.space, {})
        for key in list(rows)[: write.rows_max]:
            del rows[key]
        if not rows:
            self.dropped.pop(write.space, None)


class ManyWriters:
    slow_commits = False

    def __init__(self) -> None:
        self.state = State()
        self.lock = threading.Lock()
        self.opened = count()

    def snapshot(self, brief: bool = False, /) -> "Snapshot":
        with self.lock:
            return Snapshot(deepcopy(self.state))

    def glance(self, one: Key, other: Key, /) -> tuple[bytes | None, bytes | None]:
        with self.lock:
            return self.state.row(one), self.state.row(other)

    def begin(self, wait: bool = True, /) -> "Transaction":
        with self.lock:
            return Transaction(self, next(self.opened) % STRIPES)

    def still_holds(self, read: Read, answer: Answer) -> bool:
        """True if a read would have the same answer now."""
        return rows_of(read, self.state.answer(read)) == rows_of(read, answer)

    def backup(self, path: str, /, compact: bool = False) -> None:
        raise StoreError("a store in memory has no file to copy")

    def verify(self) -> Iterator[str]:
        return iter(())

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        return iter(())

    def elected(self) -> bool:
        return True

    def figures(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass


class Snapshot:
    def __init__(self, state: State) -> None:
        self.state = state

    def read(self, read: Read, /) -> Answer:
        return self.state.answer(read)

    def close(self) -> None:
        pass


class Transaction:
    """Its writes change a copy; a commit repeats them on the current state."""

    def __init__(self, store: ManyWriters, stripe: int) -> None:
        self.store = store
        self.stripe = stripe
        self.base = deepcopy(store.state)
        self.view = deepcopy(store.state)
        self.known: list[tuple[Read, Answer]] = []
        self.written: list[Write] = []

    def read(self, read: Read, /) -> Answer:
        self.known.append((read, self.base.answer(read)))
        return self.view.answer(read)

    def write(self, writes: Sequence[Write], /) -> None:
        for write in writes:
            if not isinstance(write, Append):  # it is numbered by the commit alone
                self.view.write(write, self.stripe)
            elif write.space not in self.view.live:
                raise LookupError(write.space)
            self.written.append(write)

    def commit(self) -> None:
        store = self.store
        with store.lock:
            if not all(store.still_holds(*known) for known in self.known):
                raise Conflict("a row that was read has changed")
            changed = deepcopy(store.state)
            try:
                for write in self.written:
                    changed.write(write, self.stripe)
            except KeyError as space:
                raise Conflict(f"space {space} has been dropped") from None
            store.state = changed

    def rollback(self) -> None:
        pass


def rows_of(read: Read, answer: Answer) -> Answer:
    """The guarded part of an answer: everything except counters."""
    match read:
        case Counters():
            return []
        case Head():
            return [cast(tuple[bytes | None, int], answer)[0]]
        case _:
            return answer
