"""The loops that advance decisions and batches over an asynchronous store.

Each answer takes a round trip, so the reads of many requests are made together. The first reads
of a batch's decisions are made in one round trip; then the decisions are made one by one, over an
overlay of the batch's writes.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from random import random
from time import perf_counter
from typing import Any, Generic, TypeVar

from hashrange import kv
from hashrange.engine.fetch import PAUSE
from hashrange.model.errors import ApiError, ThrottlingException
from hashrange.paging import bytes_of
from hashrange.runtime.awaited.slices import Slices, is_large
from hashrange.runtime.batch import CONFLICTS_MAX, Batch
from hashrange.runtime.decisions import Costly
from hashrange.runtime.drive import SLICE_SECONDS
from hashrange.runtime.ending import internal_error
from hashrange.runtime.environment import HEAD
from hashrange.runtime.overlay import Asking, Overlay
from hashrange.runtime.read_queue import HELD_BYTES_MAX
from hashrange.runtime.source import LARGE_BYTES

T = TypeVar("T")

LOCKING_FROM = 2
"""From this attempt on, a batch locks the rows that it reads, so that servers that keep changing
the same items take turns."""

PAUSE_SECONDS_MAX = 0.064
"""The longest pause before a batch that has lost a race is decided again."""


class Driven(Generic[T]):
    """One of several generators of reads that are driven together, at its next read or its end.

    `done` is called with its result, or with the error that it raised.
    """

    def __init__(
        self, steps: Generator[kv.Read, Any, T], done: Callable[[T | Exception], None]
    ) -> None:
        self.done = done
        self.held_bytes = 0
        """The number of bytes that it has read."""
        self._steps = steps
        self.advance(None)

    def advance(self, reply: Any) -> None:
        self.read: kv.Read | None = None
        """None if it has ended."""
        self.result: T | Exception
        try:
            self.read = self._steps.send(reply)
        except StopIteration as end:
            self.result = end.value
        except (ApiError, Costly) as error:
            self.result = error.with_traceback(None)  # it would keep what was read, in a cycle
        except Exception as error:
            self.result = error

    def answer(self, reply: kv.Answer) -> None:
        self.held_bytes += bytes_of(reply)
        self.advance(reply)

    def end(self) -> None:
        """Pass on the result, and the reads that led to it."""
        self.done(self.result)
        del self.result, self._steps


async def drive_together(
    driven: Sequence[Driven[Any]], snapshot: kv.AsyncSnapshot, slices: Slices
) -> None:
    """Answer the reads of all generators, one round trip after the other, until all have ended."""
    running = driven
    while True:
        for one in running:
            if one.read is None:
                if one.held_bytes > LARGE_BYTES:
                    await slices.next()
                one.end()
        running = [one for one in running if one.read is not None]
        if not running:
            return
        await _advance_all(running, snapshot, slices)


async def _advance_all(
    running: Sequence[Driven[Any]], snapshot: kv.AsyncSnapshot, slices: Slices
) -> None:
    """Make one round trip or, if all generators only pause, wait for one turn of the loop.

    Unanswered reads are repeated in the next round trip.
    """
    asking = [one for one in running if one.read != PAUSE]
    if sum([one.held_bytes for one in asking]) > HELD_BYTES_MAX:
        del asking[1:]
    reads = [one.read for one in asking if one.read is not None]
    answers: list[kv.Answer] = await snapshot.read(reads) if reads else []
    pausing = [one for one in running if one.read == PAUSE]
    answered: list[tuple[Driven[Any], kv.Answer]] = [(one, []) for one in pausing]
    answered += zip(asking, answers, strict=False)
    since = perf_counter()
    for one, answer in answered:
        if is_large(answer) or perf_counter() - since > SLICE_SECONDS:
            await slices.next()
            since = perf_counter()
        one.answer(answer)
    if not reads:
        await asyncio.sleep(0)


async def run_batch(
    batch: Batch, store: kv.AsyncStore, first: Sequence[kv.Read]
) -> Sequence[kv.Write]:
    """Decide and commit a batch. Every submission has its outcome afterwards.

    `first` are the first reads of its decisions. If the batch loses a race, the decisions whose
    reads would now have other answers are run again. Returns the writes.
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
        batch.refuse(ThrottlingException("Other writers keep changing the items. Try again."))
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
    """The writes of a batch. If there are none, or deciding fails, the transaction is over."""
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
    """Answer the reads of `steps`, with their earlier writes laid over the answers.

    `reply` answers the first. Returns all writes, or None if there are none.
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
    """Answer a read over the overlay."""
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
