"""The old values of overwritten rows, kept for as long as a read may show them."""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple, cast

from hashrange import kv
from hashrange.metering.index_queue import Waiting
from hashrange.metering.meter import Meter
from hashrange.model.consistency import Eventual

RECORDS_MAX = 100_000
"""The largest number of old values that are kept. Without a limit, a test that stops its clock
would keep all of them."""


class Overwritten(NamedTuple):
    """A row that was written at `time`, and its value before the write (None: absent).

    If the row belongs to a global index that has fallen behind, `waiting` is its place in the queue
    of the index.
    """

    time: float
    space: int
    key: bytes
    old: bytes | None
    waiting: Waiting | None


class History:
    """The old values of overwritten rows.

    A value is kept for the longest lag that a read can have (`Eventual.lag_max`). If a global index
    has fallen behind, an old value of its row is kept at least until the index shows the new value.
    """

    def __init__(
        self, eventual: Eventual | None, now: Callable[[], float], meter: Meter | None
    ) -> None:
        self._seconds = eventual.lag_max if eventual is not None else 0.0
        self._keeps_all = eventual is not None
        self._meter = meter if meter is not None and meter.enforced else None
        self._now = now
        self._records: deque[Overwritten] = deque(maxlen=RECORDS_MAX)
        self._lock = Lock()

    def keeps_any(self) -> bool:
        """Whether any old values have to be kept, because later reads may show them."""
        return self._keeps_all or bool(self._meter and self._meter.late)

    def keeps(self, space: int, key: bytes) -> bool:
        """Whether the old value of this row has to be kept."""
        if space == kv.SYSTEM_SPACE:
            return False
        return self._keeps_all or self._waiting(space, key) is not None

    def is_empty(self) -> bool:
        """Whether there are no old values, so that every read sees the latest values."""
        if not self._records:
            return True
        with self._lock:
            self._forget(self._now())
        return not self._records

    def add(self, old: dict[kv.Key, bytes | None]) -> None:
        """Keep the `old` values that a transaction overwrites. The transaction commits now."""
        now = self._now()
        with self._lock:
            self._forget(now)
            self._records.extend(
                Overwritten(now, *key, value, self._waiting(*key)) for key, value in old.items()
            )

    def late(self, space: int, now: float) -> list[Overwritten]:
        """The records of a space whose old values a read may show, latest first."""
        with self._lock:
            records = [
                each
                for each in self._records
                if each.space == space and self.was_late(each, now, self._seconds)
            ]
        records.reverse()
        return records

    def was_late(self, record: Overwritten, now: float, lag: float) -> bool:
        """Whether a reader that is `lag` seconds behind `now` does not see this write yet."""
        return record.time > now - lag or self._waits(record, now, lag)

    def _forget(self, now: float) -> None:
        """Remove the oldest values, up to the first one that a read may still need."""
        records = self._records
        while records and records[0].time <= now - self._seconds:
            if self._waits(records[0], now, self._seconds):
                return
            records.popleft()

    def _waiting(self, space: int, key: bytes) -> Waiting | None:
        return None if self._meter is None else self._meter.waiting(space, key)

    def _waits(self, record: Overwritten, now: float, lag: float) -> bool:
        if self._meter is None or record.waiting is None:
            return False
        return self._meter.waits(record.space, record.waiting, now, lag)

    def watch(self, transaction: kv.Transaction) -> kv.Transaction:
        if self._keeps_all or (self._meter is not None and self._meter.has_indexes):
            return _Watched(transaction, self)
        return transaction


class _Watched:
    """A transaction that reports to the history each value that it overwrites."""

    __slots__ = ("_history", "_old", "_transaction", "read", "rollback")

    def __init__(self, transaction: kv.Transaction, history: History) -> None:
        self._transaction = transaction
        self._history = history
        self._old: dict[kv.Key, bytes | None] | None = None
        self.read = transaction.read
        self.rollback = transaction.rollback

    def write(self, writes: Sequence[kv.Write]) -> None:
        if self._history.keeps_any():
            self._keep(writes)
        self._transaction.write(writes)

    def _keep(self, writes: Sequence[kv.Write]) -> None:
        old = self._old = self._old or {}
        keeps = self._history.keeps
        keys = {
            (write.space, write.key): None
            for write in writes
            if isinstance(write, kv.Put | kv.Delete) and keeps(write.space, write.key)
        }
        unknown = tuple(key for key in keys if key not in old)
        if unknown:
            values = cast(list[bytes | None], self.read(kv.Get(unknown)))
            old.update(zip(unknown, values, strict=True))

    def commit(self) -> None:
        """Add the old values to the history, and then commit. If the commit fails, the old values
        stay current, so it does no harm that the history has them too."""
        if self._old:
            self._history.add(self._old)
        self._transaction.commit()
