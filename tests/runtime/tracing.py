"""A store around another that notes each transaction and each read."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from running import WatchedStore

from hashrange import kv


class TracedStore(WatchedStore):
    """Notes each transaction that begins or ends, and each read, and where it was made."""

    def __init__(self, store: kv.Store) -> None:
        super().__init__(store)
        self.trace: list[tuple[str, kv.Read | None]] = []
        self.bytes_read = 0
        """The bytes of the rows that were read by key."""
        self.before_read: Callable[[kv.Read], None] = lambda read: None
        """Called before each read of a snapshot."""

    def snapshot(self, brief: bool = False, /) -> kv.Snapshot:
        return _TracedSnapshot(self, super().snapshot(brief))

    def begin(self, wait: bool = True, /) -> kv.Transaction:
        transaction = super().begin(wait)
        self.trace.append(("begin", None))
        return _TracedTransaction(self, transaction)

    def measured(self, read: kv.Read, answer: Any) -> kv.Answer:
        if type(read) is kv.Get:
            self.bytes_read += sum(len(value) for value in answer if value is not None)
        return cast(kv.Answer, answer)

    def gets(self, where: str) -> list[kv.Get]:
        """The reads of rows by key that were made there."""
        return [
            read
            for place, read in self.trace
            if place == where and type(read) is kv.Get and read.keys
        ]


class _TracedSnapshot:
    def __init__(self, store: TracedStore, snapshot: kv.Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot

    def read(self, read: kv.Read, /) -> kv.Answer:
        self._store.before_read(read)
        self._store.trace.append(("snapshot", read))
        return self._store.measured(read, self._snapshot.read(read))

    def close(self) -> None:
        self._snapshot.close()


class _TracedTransaction:
    def __init__(self, store: TracedStore, transaction: kv.Transaction) -> None:
        self._store = store
        self._transaction = transaction

    def read(self, read: kv.Read, /) -> kv.Answer:
        self._store.trace.append(("transaction", read))
        return self._store.measured(read, self._transaction.read(read))

    def write(self, writes: Sequence[kv.Write], /) -> None:
        self._transaction.write(writes)

    def commit(self) -> None:
        self._store.trace.append(("end", None))
        self._transaction.commit()

    def rollback(self) -> None:
        self._store.trace.append(("end", None))
        self._transaction.rollback()
