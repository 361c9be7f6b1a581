"""The values of rows before they were overwritten, for as long as a read may be old."""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple, cast

from hashrange import kv

RECORDS_MAX = 100_000
"""How many overwritten values are kept, at most: a test may hold its clock still."""


class Overwritten(NamedTuple):
    """A row that was written at a time, and its value before (None: absent)."""

    time: float
    space: int
    key: bytes
    old: bytes | None


class History:
    """`seconds` is how long values are kept."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._seconds = seconds
        self._now = now
        self._records: deque[Overwritten] = deque(maxlen=RECORDS_MAX)
        self._lock = Lock()

    def add(self, old: dict[kv.Key, bytes | None]) -> None:
        """Keep the values before the writes of a transaction that commits now."""
        now = self._now()
        with self._lock:
            while self._records and self._records[0].time < now - self._seconds:
                self._records.popleft()
            self._records.extend(Overwritten(now, *key, value) for key, value in old.items())

    def reverted(self, space: int, time: float) -> list[kv.Write]:
        """The writes that restore the rows of a space as they were at a time."""
        with self._lock:
            later = [each for each in self._records if each.space == space and each.time > time]
        later.reverse()  # the oldest value of a row comes last, and stays
        return [
            kv.Delete(space, each.key) if each.old is None else kv.Put(space, each.key, each.old)
            for each in later
        ]

    def watch(self, transaction: kv.Transaction) -> kv.Transaction:
        return _Watched(transaction, self)


class _Watched:
    """A transaction that reports the values that it overwrites to the history."""

    def __init__(self, transaction: kv.Transaction, history: History) -> None:
        self._transaction = transaction
        self._history = history
        self._old: dict[kv.Key, bytes | None] = {}
        self.read = transaction.read
        self.rollback = transaction.rollback

    def write(self, writes: Sequence[kv.Write]) -> None:
        keys = {
            (write.space, write.key): None
            for write in writes
            if isinstance(write, kv.Put | kv.Delete) and write.space != kv.SYSTEM_SPACE
        }
        unknown = tuple(key for key in keys if key not in self._old)
        if unknown:
            values = cast(list[bytes | None], self.read(kv.Get(unknown)))
            self._old.update(zip(unknown, values, strict=True))
        self._transaction.write(writes)

    def commit(self) -> None:
        """The history is told first. If the commit fails, the old values are the current ones."""
        self._history.add(self._old)
        self._transaction.commit()
