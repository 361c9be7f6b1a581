"""Requests that only read, and the loop that advances a group of them over one snapshot."""

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from msgspec import Struct

from hashrange import kv
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import PAUSE, Moment
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.paging import bytes_of
from hashrange.runtime.awaited.slices import Slices, is_large
from hashrange.runtime.awaited.tickets import Ticket
from hashrange.runtime.catalog import Tables
from hashrange.runtime.decisions import Costly, begin, within_cost
from hashrange.runtime.drive import SLICE_SECONDS
from hashrange.runtime.ending import Done
from hashrange.runtime.read_queue import HELD_BYTES_MAX
from hashrange.runtime.source import LARGE_BYTES


class QueuedRead(Struct, eq=False):
    """A parsed request that only reads, which may begin several times.

    While the request runs, `next_read` is the read that it waits for, and `held_bytes` is the
    number of bytes that it has read. When the request has ended, `next_read` is None, and `result`
    is its decision or error. The request is `decided` if it will not begin again here: it has been
    answered, or it continues aside.
    """

    operation: Operation
    request: Any
    body: bytes
    caller: Caller
    done: Done
    large: bool = False
    weight: int = 0
    """The weight of the request: see `engine.cost`."""
    single: bool = False
    """Whether the request reads only one row, and this row is not known to be `large`."""
    steps: Any = None
    next_read: kv.Read | None = None
    held_bytes: int = 0
    result: Decision | Exception | None = None
    decided: bool = False
    locks: frozenset[Ticket] = frozenset()
    """The tickets of rows that must come from one moment. A store may lock such rows."""

    def __post_init__(self) -> None:
        self.weight = self.operation.weight(self.request)
        self.single = self.operation.single_read and not self.weight and not self.large

    def begin(self, moment: Moment, tables: Tables) -> None:
        """Run the decision up to its first read, or to its end. This does not answer the caller
        yet."""
        steps = begin(self.operation, self.request, moment, tables)
        self.steps = within_cost(steps, self.weight, self.body) if self.weight else steps
        self.held_bytes = 0
        self.advance(None)

    def advance(self, reply: Any) -> None:
        self.next_read = None
        try:
            self.next_read = self.steps.send(reply)
        except StopIteration as end:
            self.result = end.value
        except (ApiError, Costly) as error:
            self.result = error.with_traceback(None)  # it would keep what was read, in a cycle
        except Exception as error:
            self.result = error

    def answer(self, reply: kv.Answer) -> None:
        self.held_bytes += bytes_of(reply)
        self.advance(reply)

    def end(self) -> Decision | Exception:
        """Mark the request as decided. Returns its result, and frees the memory of the result and
        of what was read."""
        self.decided = True
        result, self.result, self.steps = self.result, None, None
        assert result is not None, "the read must have ended"
        return result


Group = list[QueuedRead]


async def drive_together(
    group: Group,
    snapshot: kv.AsyncSnapshot,
    slices: Slices,
    finish: Callable[[QueuedRead], None],
) -> None:
    """Answer the reads of a group, one round trip after the other, until all requests have ended.

    `finish` is called with each request at its end.
    """
    running = group
    while True:
        for read in running:
            if read.next_read is None:
                if read.held_bytes > LARGE_BYTES:
                    await slices.next()
                finish(read)
        running = [read for read in running if read.next_read is not None]
        if not running:
            return
        await _advance_all(running, snapshot, slices)


async def _advance_all(
    running: Sequence[QueuedRead], snapshot: kv.AsyncSnapshot, slices: Slices
) -> None:
    """Make one round trip. If no request waits for the store, let one turn of the loop pass
    instead.

    Unanswered reads are repeated in the next round trip.
    """
    asking = [read for read in running if read.next_read != PAUSE]
    if sum([read.held_bytes for read in asking]) > HELD_BYTES_MAX:
        del asking[1:]
    asked = [read.next_read for read in asking if read.next_read is not None]
    answers: list[kv.Answer] = await snapshot.read(asked) if asked else []
    pausing = [read for read in running if read.next_read == PAUSE]
    answered: list[tuple[QueuedRead, kv.Answer]] = [(read, []) for read in pausing]
    answered += zip(asking, answers, strict=False)
    since = perf_counter()
    for read, answer in answered:
        if is_large(answer) or perf_counter() - since > SLICE_SECONDS:
            await slices.next()
            since = perf_counter()
        read.answer(answer)
    if not asked:
        await asyncio.sleep(0)
