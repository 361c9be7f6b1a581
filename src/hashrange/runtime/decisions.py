"""The decision of a request: how it is begun, and when it is dropped, kept or proposed.

It is dropped if it costs too much, kept in case its batch is decided again, and proposed if it was
made aside.
"""

from collections.abc import Generator, Hashable, Iterator
from typing import Any, NamedTuple

from hashrange import kv
from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment, TableNamed, plain_name, usable
from hashrange.engine.price import UNITS_MAX, price
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.runtime.catalog import Tables, find_table
from hashrange.storage.paging import bytes_of

Steps = Generator[Any, Any, Decision]
"""The decision of a request. It yields only reads of `kv`."""


def begin(operation: Operation, request: Any, moment: Moment, tables: Tables) -> Steps:
    """The decision of a request, about to make its first read."""
    if not operation.on_table:
        return _with_tables(operation.decide(request, moment), tables)
    table = tables.get(request.given.table_name)
    if table is not None and table.active_at <= moment.now:
        return operation.decide(request, table, moment)
    return _on_table(operation, request, moment, tables)


def _on_table(operation: Operation, request: Any, moment: Moment, tables: Tables) -> Steps:
    table = yield from find_table(tables, plain_name(request.given.table_name))
    decision: Decision = yield from operation.decide(request, usable(table, moment), moment)
    return decision


def _with_tables(decide: Decide, tables: Tables) -> Steps:
    reply: Any = None
    try:
        while True:
            read = decide.send(reply)
            if type(read) is TableNamed:
                reply = tables.get(read.name) or (yield from find_table(tables, read.name))
            else:
                reply = yield read
    except StopIteration as end:
        decision: Decision = end.value
        return decision


class Costly(Exception):
    """Going on would take longer than others should wait (see `engine.price`)."""


def within_price(steps: Steps, weight: int, body: bytes) -> Steps:
    """The same steps, but Costly is raised instead of an answer that would take too long."""
    reply: Any = None
    try:
        while True:
            reply = yield steps.send(reply)
            if price(weight, body, reply) > UNITS_MAX:
                raise Costly
    except StopIteration as end:
        decision: Decision = end.value
        return decision


Reading = tuple[kv.Read, Any]
"""A read and its answer."""


class Proposal(NamedTuple):
    """The writes of a decision, with its response or error, for as long as its reads have the same
    answers.

    One that `changes_tables` cannot be carried out, because batches have more to do for those.
    """

    reads: list[Reading]
    writes: list[kv.Write]
    response: bytes | ApiError
    receipt: Receipt | Charge | None
    changes_tables: bool = False

    def holds(self) -> Generator[kv.Read, Any, bool]:
        """Whether the same reads still have the same answers."""
        return reads_the_same(self.reads)


class Footprint(NamedTuple):
    """The reads of a decision with their answers, and its result.

    With the same `tables`, and the same answers to its reads, its result would be the same.
    """

    tables: Hashable
    reads: list[Reading]
    result: Decision | ApiError

    def decision(self) -> Decision:
        if isinstance(self.result, ApiError):
            raise self.result
        if self.result.changes or callable(self.result.respond):
            self.result.receipt = None  # it is filled again
        return self.result


class Memory:
    """The decisions of a batch, kept in case it loses a race and is decided again.

    Only those that would now read something else are run again; the others are reused.
    """

    def __init__(self) -> None:
        self.read_bytes = 0
        """How much this attempt has read."""
        self._footprints: dict[int, Footprint] = {}

    @property
    def is_full(self) -> bool:
        """Whether no more requests should be decided in this batch."""
        return self.read_bytes >= kv.READ_BYTES_MAX

    def steps(self, key: int, tables: Hashable, steps: Steps) -> Steps:
        """The remembered decision if it is still valid; otherwise run and remember `steps`."""
        earlier = self._footprints.get(key)
        if earlier and earlier.tables == tables and (yield from reads_the_same(earlier.reads)):
            self.read_bytes += sum(bytes_of(answer) for _, answer in earlier.reads)
            return earlier.decision()
        reads: list[Reading] = []
        result: Decision | ApiError
        reply: Any = None
        try:
            while True:
                read = steps.send(reply)
                reply = yield read
                reads.append((read, reply))
                self.read_bytes += bytes_of(reply)
        except StopIteration as end:
            result = end.value
        except ApiError as refusal:
            result = refusal
        footprint = self._footprints[key] = Footprint(tables, reads, result)
        return footprint.decision()

    def reads(self) -> Iterator[kv.Read]:
        """The reads of the remembered decisions."""
        for footprint in self._footprints.values():
            for read, _ in footprint.reads:
                yield read


def reads_the_same(reads: list[Reading]) -> Generator[kv.Read, Any, bool]:
    for read, answer in reads:
        if (yield read) != answer:
            return False
    return True
