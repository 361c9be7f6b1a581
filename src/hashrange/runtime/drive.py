"""The loops that advance decisions and batches over a synchronous store.

A decision is a generator: it yields its reads, and receives their answers. A batch of decisions is
a generator too. A synchronous store answers one read at a time, so one decision is made after the
other. The loops for an asynchronous store are in `awaited.drive`.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from hashrange import kv
from hashrange.runtime.batch import CONFLICTS_MAX, Batch
from hashrange.runtime.ending import internal_error
from hashrange.runtime.source import Source

T = TypeVar("T")

SLICE_SECONDS = 0.0005
"""The time for which a read may occupy the event loop before other requests are served."""


def drive(steps: Generator[kv.Read, Any, T], source: Source) -> T:
    """Answer the reads of `steps` until they return a result."""
    reply: Any = None
    try:
        while True:
            reply = source.read(steps.send(reply))
    except StopIteration as end:
        result: T = end.value
        return result


def sliced(
    steps: Generator[kv.Read, Any, T], source: Source, timer: Callable[[], float]
) -> Generator[None, None, T]:
    """Like `drive`, but a generator, which yields whenever SLICE_SECONDS are over."""
    end = timer() + SLICE_SECONDS
    try:
        read = next(steps)
        while True:
            read = steps.send(source.read(read))
            if timer() > end:
                yield
                end = timer() + SLICE_SECONDS
    except StopIteration as stop:
        result: T = stop.value
        return result


def advance(drive: Generator[None, None, T]) -> T | None:
    """Run a generator of `sliced` for a slice of time. Returns its result, or None if it has not
    ended yet."""
    try:
        next(drive)
    except StopIteration as end:
        result: T = end.value
        return result
    return None


def decide_batch(batch: Batch, transaction: kv.Transaction) -> bool:
    """Decide all submissions. Returns whether there is anything to commit.

    If there is nothing to commit, the transaction has been rolled back.
    """
    try:
        steps = batch.decide()
        reply: Any = None
        try:
            while True:
                step = steps.send(reply)
                if type(step) is list:
                    transaction.write(step)
                    reply = None
                else:
                    reply = transaction.read(step)  # type: ignore[arg-type]
        except StopIteration as end:
            if end.value is not None:
                transaction.write(end.value)
                return True
    except BaseException as error:
        _roll_back(transaction)
        batch.fail(error)
    else:
        _roll_back(transaction)
    return False


def commit_batch(batch: Batch, transaction: kv.Transaction, store: kv.Store) -> None:
    """Commit a batch. If a row that it has read was changed, decide the whole batch again, and try
    again."""
    for _ in range(CONFLICTS_MAX):
        try:
            transaction.commit()
            return
        except kv.Conflict:
            pass
        except BaseException as error:
            batch.fail(error)
            return
        try:
            transaction = store.begin()
        except kv.StoreError as error:
            batch.fail(error)
            return
        if not decide_batch(batch, transaction):
            return
    _roll_back(transaction)
    batch.give_up()


def _roll_back(transaction: kv.Transaction) -> None:
    try:
        transaction.rollback()
    except kv.StoreError as error:
        internal_error(error)
