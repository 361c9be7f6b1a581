"""Finds out whether a store can still be used, by a test commit or from an error."""

from hashrange import kv
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.rows import DamagedRow
from hashrange.runtime import source


def probe(store: kv.Store) -> None:
    """Read from the store and commit to it. Raises StoreError.

    Only a commit reveals that the disk is full, or that the store refuses writes. The commit
    increments a counter, because SQLite writes nothing to the disk for a commit without changes.
    """
    transaction = store.begin()
    try:
        source.counters(transaction, system.PROBES)
        transaction.write([kv.Add(system.PROBES, 1)])
    except BaseException:
        transaction.rollback()
        raise
    transaction.commit()


def is_full(error: BaseException) -> bool:
    """Whether an internal error was caused by a full disk, a quota or a size limit."""
    return isinstance(error.__cause__, kv.Full)


def damage(error: BaseException) -> str:
    """One line about the damage that caused an internal error; empty if damage is not the cause."""
    cause = error.__cause__
    return str(cause) if isinstance(cause, kv.Damaged | DamagedRow) else ""
