"""Shortcuts for tests: each reads or writes a store in a snapshot or transaction of its own."""

import threading
from collections.abc import Callable
from typing import cast

from hashrange.kv import (
    SYSTEM_SPACE,
    Answer,
    Counters,
    Get,
    Key,
    Page,
    Read,
    Snapshot,
    Store,
    Transaction,
    Write,
)

NOWHERE: Key = (SYSTEM_SPACE, b"a key that no test writes")


def commit(store: Store, *writes: Write) -> None:
    transaction = store.begin()
    transaction.write(writes)
    transaction.commit()


def read(store: Store, what: Read) -> Answer:
    snapshot = store.snapshot()
    try:
        return snapshot.read(what)
    finally:
        snapshot.close()


def row(store: Store, key: Key) -> bytes | None:
    """The committed value of one row, read with `glance`; None if there is no row."""
    return store.glance(NOWHERE, key)[1]


def counted(store: Store, name: bytes) -> int:
    """The committed value of a counter."""
    return cast(list[int], read(store, Counters((name,))))[0]


def values(source: Snapshot | Transaction, space: int, *keys: bytes) -> list[bytes | None]:
    """The values of the rows with these keys in one space; None for a row that does not exist."""
    return cast(list[bytes | None], source.read(Get(tuple((space, key) for key in keys))))


def keys(answer: Answer) -> list[bytes]:
    """The keys of the rows of a page."""
    assert isinstance(answer, Page)
    return [key for key, _ in answer.rows]


def in_thread(work: Callable[[], None]) -> None:
    """Run `work` in another thread, and raise its error in this thread."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "the store must not hang"
    for error in errors:
        raise error
