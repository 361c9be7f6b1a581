"""The loops that advance decisions and batches, over a synchronous or an asynchronous store.

A decision, and a batch of them, is a generator of reads that does not know what answers them.
A synchronous store answers one read at a time, and decisions are driven one by one. Each answer
of an asynchronous store takes a round trip. So the reads of many requests are made together. The
first reads of a batch's decisions are made in one round trip; then the decisions are made one by
one, over an overlay of the batch's writes.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from hashrange import kv
from hashrange.runtime.batch import CONFLICTS_MAX, Batch, internal_error
from hashrange.runtime.decisions import Memory
from hashrange.runtime.environment import HEAD
from hashrange.runtime.overlay import Asking, Overlay

T = TypeVar("T")

SLICE_SECONDS = 0.0005
"""How long a read may keep the event loop before others are served."""


class Source(Protocol):
    """A snapshot or a transaction."""

    def read(self, read: kv.Read, /) -> kv.Answer: ...


def drive(steps: Generator[kv.Read, Any, T], source: Source) -> T:
    """Answer the reads of `steps` until they return a result."""
    reply: Any = None
    try:
        while True:
            reply = source.read(steps.send(reply))
    except StopIteration as end:
        result: T = end.value
        return result


class SlicedDrive(Generic[T]):
    """Answers reads for a slice of time. Call `advance` until it returns the result."""

    __slots__ = ("_read", "_source", "_steps", "_timer")

    def __init__(
        self, steps: Generator[kv.Read, Any, T], source: Source, timer: Callable[[], float]
    ) -> None:
        self._steps = steps
        self._source = source
        self._timer = timer
        self._read: kv.Read | None = None

    def advance(self) -> T | None:
        """Returns None if the slice is over and there is more to do."""
        end = self._timer() + SLICE_SECONDS
        try:
            read = self._read or next(self._steps)
            while True:
                read = self._steps.send(self._source.read(read))
                if self._timer() > end:
                    self._read = read
                    return None
        except StopIteration as stop:
            result: T = stop.value
            return result


def decide_batch(batch: Batch, transaction: kv.Transaction) -> bool:
    """Decide all submissions. Returns whether there is anything to commit.

    The transaction is over if there is not.
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
    """Commit. If anything that was read has changed, decide the whole batch again first."""
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
    batch.fail(kv.Conflict(f"lost {CONFLICTS_MAX} races"))


def _roll_back(transaction: kv.Transaction) -> None:
    try:
        transaction.rollback()
    except kv.StoreError as error:
        internal_error(error)


# ---- asynchronous stores ----


class Driven(Generic[T]):
    """One of several generators of reads that are driven together, at its next read or its end.

    `done` is called with its result, or with the error that it raised.
    """

    def __init__(
        self, steps: Generator[kv.Read, Any, T], done: Callable[[T | Exception], None]
    ) -> None:
        self.done = done
        self._steps = steps
        self.advance(None)

    def advance(self, reply: Any) -> None:
        self.read: kv.Read | None = None
        """None if it is over."""
        self.result: T | Exception
        try:
            self.read = self._steps.send(reply)
        except StopIteration as end:
            self.result = end.value
        except Exception as error:
            self.result = error


async def drive_together(driven: Sequence[Driven[Any]], snapshot: kv.AsyncSnapshot) -> None:
    """Answer the reads of all of them, in one round trip at a time, until all are over."""
    running = driven
    while True:
        for one in running:
            if one.read is None:
                one.done(one.result)
        running = [one for one in running if one.read is not None]
        if not running:
            return
        await advance_together(running, snapshot)


async def advance_together(
    driven: Sequence[Driven[Any]], snapshot: kv.AsyncSnapshot, *first: kv.Read
) -> list[Any]:
    """One round trip. Returns the answers to other reads that are made `first`."""
    reads = [one.read for one in driven if one.read is not None]
    answers = await snapshot.read([*first, *reads])
    asking = (one for one in driven if one.read is not None)
    for one, answer in zip(asking, answers[len(first) :], strict=True):
        one.advance(answer)
    return answers[: len(first)]


async def run_batch(batch: Batch, store: kv.AsyncStore) -> None:
    """Decide and commit a batch. Every submission has its outcome afterwards.

    If it loses a race, the decisions that would now read something else are run again.
    """
    batch.memory = Memory()
    try:
        for _ in range(CONFLICTS_MAX):
            transaction = await store.begin()
            writes = await _decide(batch, transaction)
            if writes is None:
                return
            try:
                await transaction.commit(writes)
                return
            except kv.Conflict:
                pass
        raise kv.Conflict(f"lost {CONFLICTS_MAX} races")
    except GeneratorExit:  # the event loop is gone, and with it the callers
        raise
    except BaseException as error:
        batch.fail(error)


async def _decide(batch: Batch, transaction: kv.AsyncTransaction) -> list[kv.Write] | None:
    """The writes of a batch. If there are none, or deciding fails, the transaction is over."""
    overlay = Overlay()
    try:
        writes = await _decide_over(overlay, batch, transaction)
    except GeneratorExit:
        raise
    except BaseException:
        await _roll_back_async(transaction)
        raise
    if writes is None:
        await _roll_back_async(transaction)
    return writes


async def _decide_over(
    overlay: Overlay, batch: Batch, transaction: kv.AsyncTransaction
) -> list[kv.Write] | None:
    assert batch.memory is not None
    ahead = [HEAD, *batch.first_reads(), *batch.memory.reads()]
    for read, answer in zip(ahead, await transaction.read(ahead), strict=True):
        overlay.learn(read, answer)
    return await drive_over(overlay, batch.decide(), transaction)


async def drive_over(
    overlay: Overlay,
    steps: Generator[kv.Read | list[kv.Write], Any, list[kv.Write] | None],
    transaction: kv.AsyncTransaction,
) -> list[kv.Write] | None:
    """Answer reads, including earlier writes. Returns all writes, or None if there are none."""
    reply: Any = None
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
            reply = await _ask(overlay.read(step), transaction)  # type: ignore[arg-type]


async def _ask(asking: Asking, transaction: kv.AsyncTransaction) -> Any:
    """Answer a read over the overlay."""
    reply: Any = None
    while True:
        try:
            read = asking.send(reply)
        except StopIteration as end:
            return end.value
        [reply] = await transaction.read([read])


async def _roll_back_async(transaction: kv.AsyncTransaction) -> None:
    try:
        await transaction.rollback()
    except kv.StoreError as error:
        internal_error(error)
