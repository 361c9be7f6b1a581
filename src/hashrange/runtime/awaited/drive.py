"""The loops that advance batches over an asynchronous store.

Each read of the store takes a round trip, so the first reads of all decisions of a batch share one.
After this round trip, the decisions are made one by one, over an overlay of the batch's writes.
"""

import asyncio
from collections.abc import Generator, Sequence
from random import random
from time import perf_counter
from typing import Any

from hashrange import kv
from hashrange.runtime.batch import CONFLICTS_MAX, Batch
from hashrange.runtime.drive import SLICE_SECONDS
from hashrange.runtime.ending import internal_error
from hashrange.runtime.environment import HEAD
from hashrange.runtime.overlay import Asking, Overlay

LOCKING_FROM = 2
"""The number, counted from 0, of the first attempt in which a batch locks the rows that it reads.
With locks, servers that keep changing the same items take turns."""

PAUSE_SECONDS_MAX = 0.064
"""The longest pause between two attempts to commit a batch."""


async def run_batch(
    batch: Batch, store: kv.AsyncStore, first: Sequence[kv.Read]
) -> Sequence[kv.Write]:
    """Decide and commit a batch. Afterwards, every submission has its outcome. Returns the writes
    that were committed.

    `first` are the first reads of the decisions. If a commit fails because rows have changed, the
    decisions that have read these rows are made again.
    """
    batch.remembers = True
    try:
        for attempt in range(CONFLICTS_MAX):
            if attempt:
                await asyncio.sleep(_pause(attempt))
                first = list(batch.remembered_reads())
            try:
                transaction = await store.begin(attempt >= LOCKING_FROM)
                writes = await _decide(batch, transaction, first)
                if writes is not None:
                    await transaction.commit(writes)
                return writes or ()
            except kv.Conflict:
                pass
        batch.give_up()
    except GeneratorExit:  # the event loop is gone, and with it the callers
        raise
    except BaseException as error:
        batch.fail(error)
    return ()


def _pause(attempt: int) -> float:
    """A random pause in seconds, so that two batches that have collided do not collide again."""
    return random() * min(0.001 * (1 << attempt), PAUSE_SECONDS_MAX)


async def _decide(
    batch: Batch, transaction: kv.AsyncTransaction, first: Sequence[kv.Read]
) -> list[kv.Write] | None:
    """Decide a batch, after its `first` reads. Returns its writes, or None if there are none.

    After None and after an error, the transaction has ended.
    """
    overlay = Overlay()
    try:
        ahead = [HEAD, *first]
        answers = await transaction.read(ahead)
        for read, answer in zip(ahead, answers, strict=False):
            overlay.learn(read, answer)
        steps = batch.decide()
        next(steps)  # HEAD
        writes = await drive_over(overlay, steps, transaction, answers[0])
    except GeneratorExit:
        raise
    except BaseException:
        await _roll_back(transaction)
        raise
    if writes is None:
        await transaction.confirm()
    return writes


async def drive_over(
    overlay: Overlay,
    steps: Generator[kv.Read | list[kv.Write], Any, list[kv.Write] | None],
    transaction: kv.AsyncTransaction,
    reply: Any = None,
) -> list[kv.Write] | None:
    """Answer the reads of `steps`, with the earlier writes of `steps` laid over the answers.

    `reply` is the answer to a read that `steps` have made already. Returns all writes, or None if
    there are none.
    """
    since = perf_counter()
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            if end.value is None:
                return None
            return [*overlay.writes, *end.value]
        if type(step) is list:
            overlay.write(step)
            reply = None
        else:
            reply = overlay.known(step) if type(step) is kv.Get else None
            if reply is None:
                reply = await _ask(overlay.read(step), transaction)  # type: ignore[arg-type]
        if perf_counter() - since > SLICE_SECONDS:
            await asyncio.sleep(0)  # let others be served
            since = perf_counter()


async def _ask(asking: Asking, transaction: kv.AsyncTransaction) -> Any:
    """The overlay's answer. The transaction answers the reads that the overlay yields."""
    reply: Any = None
    while True:
        try:
            read = asking.send(reply)
        except StopIteration as end:
            return end.value
        [reply] = await transaction.read([read])


async def _roll_back(transaction: kv.AsyncTransaction) -> None:
    try:
        await transaction.rollback()
    except kv.StoreError as error:
        internal_error(error)
