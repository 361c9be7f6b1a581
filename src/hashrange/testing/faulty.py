"""A wrapper that makes any store fail on demand."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hashrange.kv import (
    Answer,
    Busy,
    Conflict,
    Full,
    Key,
    OutcomeUnknown,
    Read,
    ReadOnly,
    Snapshot,
    Store,
    StoreError,
    Transaction,
    Write,
)


class InjectedError(StoreError):
    """An injected fault: the disk could not be read or written."""


class LandedUnknown(OutcomeUnknown):
    """An injected fault: the connection was lost after the transaction had been committed."""


class LostUnknown(OutcomeUnknown):
    """An injected fault: the connection was lost before the commit. The transaction is never
    committed."""


FAULTS: Mapping[str, Sequence[type[StoreError]]] = {
    "begin": (Busy,),
    "read": (InjectedError,),
    "write": (Full, InjectedError),
    "commit": (Conflict, Full, ReadOnly, LandedUnknown, LostUnknown),
}
"""The errors that each step may raise. `LandedUnknown` is raised after a commit."""


class FaultyStore:
    """A store that fails: either each step with probability `rate`, or one step after `countdown`
    steps.

    The same seed and the same steps give the same faults. `struck` counts the faults by class.
    After the fault `ReadOnly`, the store refuses all transactions. To simulate a restart, wrap the
    inner store in a new FaultyStore.
    """

    def __init__(
        self,
        store: Store,
        *,
        seed: int = 0,
        rate: float = 0.0,
        countdown: int | None = None,
        faults: Mapping[str, Sequence[type[StoreError]]] = FAULTS,
    ) -> None:
        self.struck: Counter[type[StoreError]] = Counter()
        self._store = store
        self._random = random.Random(seed)
        self.rate = rate
        self._countdown = countdown
        self._faults = faults

    @property
    def slow_commits(self) -> bool:
        return self._store.slow_commits

    def snapshot(self, brief: bool = False, /) -> Snapshot:
        self.strike("read")
        return _FaultySnapshot(self, self._store.snapshot(brief))

    def glance(self, one: Key, other: Key, /) -> tuple[bytes | None, bytes | None]:
        self.strike("read")
        return self._store.glance(one, other)

    def begin(self, wait: bool = True, /) -> Transaction:
        if self.struck[ReadOnly]:
            raise ReadOnly("after an injected I/O error it is not known what is on disk")
        self.strike("begin")
        return _FaultyTransaction(self, self._store.begin(wait))

    def backup(self, path: str, /, compact: bool = False) -> None:
        self._store.backup(path, compact)

    def verify(self) -> Iterator[str]:
        return self._store.verify()

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        return self._store.scrub(seconds)

    def elected(self) -> bool:
        return self._store.elected()

    def figures(self) -> dict[str, int]:
        return self._store.figures()

    def close(self) -> None:
        self._store.close()

    def strike(self, step: str) -> None:
        """If a fault is due, raise one of the faults that this kind of step can have."""
        faults = self._faults.get(step)
        if faults and self._due():
            fault = self._random.choice(faults)
            self.struck[fault] += 1
            raise fault(f"injected at {step}")

    def _due(self) -> bool:
        if self._countdown is None:
            return self._random.random() < self.rate
        self._countdown -= 1
        return self._countdown == -1


class _FaultySnapshot:
    def __init__(self, faulty: FaultyStore, snapshot: Snapshot) -> None:
        self._faulty = faulty
        self._snapshot = snapshot

    def read(self, read: Read, /) -> Answer:
        self._faulty.strike("read")
        return self._snapshot.read(read)

    def close(self) -> None:
        self._snapshot.close()


class _FaultyTransaction:
    def __init__(self, faulty: FaultyStore, transaction: Transaction) -> None:
        self._faulty = faulty
        self._transaction = transaction

    def read(self, read: Read, /) -> Answer:
        self._faulty.strike("read")
        return self._transaction.read(read)

    def write(self, writes: Sequence[Write], /) -> None:
        """Pass on the writes one by one. After a fault, some of them may have been done; `rollback`
        undoes them."""
        for write in writes:
            self._faulty.strike("write")
            self._transaction.write((write,))

    def commit(self) -> None:
        try:
            self._faulty.strike("commit")
        except LandedUnknown:
            self._transaction.commit()
            raise
        except StoreError:
            self._transaction.rollback()
            raise
        self._transaction.commit()

    def rollback(self) -> None:
        self._transaction.rollback()
