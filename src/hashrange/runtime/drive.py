"""The loop that answers the reads of a decision, in one go or a slice of time at a time."""

from time import perf_counter
from typing import Any

from hashrange import kv
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment, Read, TableNamed, plain_name, usable
from hashrange.engine.keyspace import system
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.runtime.catalog import Catalog, Tables, find_table
from hashrange.runtime.source import Source

SLICE_SECONDS = 0.0005
"""How long a read may keep the event loop before others are served."""


def begin(
    operation: Operation, request: Any, moment: Moment, source: Source, tables: Tables
) -> Decide:
    """The decision of a request, about to make its first read."""
    if operation.on_table:
        name = request.given.table_name
        found = tables.get(name) or find_table(source, tables, plain_name(name))
        return operation.decide(request, usable(found, moment), moment)
    return operation.decide(request, moment)


def answer(read: Read, source: Source, tables: Tables) -> Any:
    if type(read) is TableNamed:
        return find_table(source, tables, read.name)
    return source.read(read)  # type: ignore[arg-type]


def drive(decide: Decide, source: Source, tables: Tables) -> Decision:
    """Run a decision to its end."""
    reply: Any = None
    try:
        while True:
            reply = answer(decide.send(reply), source, tables)
    except StopIteration as end:
        decision: Decision = end.value
        return decision


def glance(
    operation: Operation, request: Any, moment: Moment, store: kv.Store, catalog: Catalog
) -> Decision | None:
    """Run a decision that reads one row, and see in the same read that the tables are current.

    None if they are not, or if it comes to a refusal, which they may be the reason of.
    """
    version, tables = catalog.known
    table = tables.get(plain_name(request.given.table_name))
    try:
        decide = operation.decide(request, usable(table, moment), moment)
        read = next(decide)
        assert type(read) is kv.Get
        [key] = read.keys
        found, value = store.glance(system.CATALOG_VERSION, key)
        if found != version:
            return None
        decide.send([value])
    except StopIteration as end:
        decision: Decision = end.value
        return decision
    except ApiError:
        return None
    raise AssertionError("it was to make a single read")


class SlicedDrive:
    """A decision that is run a slice at a time: `advance` until it gives the decision.

    Only what reads ranges is cut up: other reads are few and short.
    """

    def __init__(self, decide: Decide, source: Source, tables: Tables) -> None:
        self._decide = decide
        self._source = source
        self._tables = tables
        self._read: Read | None = None

    def advance(self) -> Decision | None:
        """None: the slice is over and there is more to do."""
        end = perf_counter() + SLICE_SECONDS
        try:
            read = self._read or next(self._decide)
            while True:
                read = self._decide.send(answer(read, self._source, self._tables))
                if type(read) is kv.Range and perf_counter() > end:
                    self._read = read
                    return None
        except StopIteration as stop:
            decision: Decision = stop.value
            return decision
