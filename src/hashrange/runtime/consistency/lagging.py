"""Answers eventually consistent reads with older values, whose age is drawn at random.

Without an `Eventual`, only reads of lagging global indexes get old values.
"""

from math import log
from random import Random
from threading import Lock
from typing import Any

from hashrange import kv
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Admit
from hashrange.metering.meter import Meter
from hashrange.model.consistency import Eventual
from hashrange.model.tables import Index, Table
from hashrange.operations.operation import Operation
from hashrange.runtime.catalog import Tables
from hashrange.runtime.consistency.history import History, Overwritten
from hashrange.runtime.decisions import Steps
from hashrange.runtime.overlay import Overlay

MAY_LAG = frozenset(
    (
        "GetItem",
        "BatchGetItem",
        "Query",
        "Scan",
        "SearchVectors",
        "ExecuteStatement",
        "BatchExecuteStatement",
    )
)
REPLICAS = 3
SIGMA = 1.0
"""The standard deviation of the logarithm of a lag (an assumption)."""


class Lagging:
    """Draws lags at random, and answers the reads of requests with older values."""

    def __init__(self, eventual: Eventual | None, history: History, meter: Meter | None) -> None:
        self._eventual = eventual
        self._history = history
        self._meter = meter
        self._random = Random(eventual.seed if eventual is not None else 0)
        self._lock = Lock()

    def is_active(self) -> bool:
        """Whether a read may be answered with an older state than the latest commit."""
        return self._eventual is not None or not self._history.is_empty()

    def steps(
        self, operation: Operation, request: Any, tables: Tables, steps: Steps, now: float
    ) -> Steps:
        """The `steps` of a request at the time `now`, with their reads answered from earlier states
        of the rows. If the request may not lag, these are the given `steps`."""
        if operation.name not in MAY_LAG or not self.is_active():
            return steps
        searches = operation.name == "SearchVectors"
        draw = (_DrawOfSearch if searches else _Draw)(self, request, tables, now)
        return self._over_past(draw, steps)

    def _over_past(self, draw: "_Draw", steps: Steps) -> Steps:
        overlay = Overlay()
        reply: Any = None
        try:
            while True:
                read = steps.send(reply)
                if type(read) is Admit:
                    reply = yield read
                    continue
                overlay.write(self._reverted(draw, read))
                reply = yield from overlay.read(read)
        except StopIteration as end:
            decision: Decision = end.value
            return decision

    def _reverted(self, draw: "_Draw", read: kv.Read) -> list[kv.Write]:
        """Writes that hide recent changes from a read. Laid over the read's answer, they undo the
        changes that the read must not show yet."""
        writes: list[kv.Write] = []
        for space in _spaces(read):
            late = [each for each in self._history.late(space, draw.now) if _has(read, each)]
            if late:
                with self._lock:
                    first = self._random.choice(late)
                draw.lag_of(space, first.key)
            for each in late:
                if self._history.was_late(each, draw.now, draw.lag_of(space, each.key)):
                    writes.append(
                        kv.Delete(space, each.key)
                        if each.old is None
                        else kv.Put(space, each.key, each.old)
                    )
        return writes  # the oldest value of a row comes last, so it wins

    def draw_replica(self, *, first: bool) -> float:
        """The lag, in seconds, of the replica that answers a read. One of the replicas never lags.

        `first` says whether the request draws its first lag. With `Eventual.worst`, the first lag
        of a request is always `lag_max`.
        """
        eventual = self._eventual
        if eventual is None:
            return 0
        with self._lock:
            if eventual.worst:
                return eventual.lag_max if first or self._random.randrange(2) else 0
            if self._random.randrange(REPLICAS) == 0:
                return 0
            return self._draw(eventual.lag, eventual.lag_max)

    def draw_index(self, table: Table, index: Index, *, first: bool) -> float:
        """The lag of a global index in seconds. Does not include the time for which an entry waits
        for units. See `draw_replica` for `first`."""
        if self._meter is not None:
            self._meter.follow(table, index)
        return self.draw_follower(first=first)

    def draw_follower(self, *, first: bool) -> float:
        """The lag, in seconds, of a global or vector index behind its table. See `draw_replica` for
        `first`."""
        eventual = self._eventual
        if eventual is None:
            return 0
        with self._lock:
            if eventual.worst:
                return eventual.lag_max if first or self._random.randrange(2) else 0
            return self._draw(eventual.index_lag, eventual.lag_max)

    def _draw(self, median: float, most: float) -> float:
        return min(self._random.lognormvariate(log(median), SIGMA), most)


class _Draw:
    """The lags of one request: a lag of its own for each item and each entry of a global index.

    Because of this, a batch may show a part of a transaction, and an entry that moves may be seen
    twice or not at all. Items that are read through a local index share one lag, because a local
    index shows an item as soon as its table does.
    """

    def __init__(self, lagging: Lagging, request: Any, tables: Tables, now: float) -> None:
        self._lagging = lagging
        self._request = request
        self._tables = tables
        self.now = now
        self._lags: dict[kv.Key, float] = {}
        self._of_local: float | None = None

    def lag_of(self, space: int, key: bytes) -> float:
        """The lag, in seconds, with which the request reads a row."""
        lag = self._lags.get((space, key))
        if lag is None:
            lag = self._lags[space, key] = self._drawn(space, first=not self._lags)
        return lag

    def _drawn(self, space: int, first: bool) -> float:
        for name, table in self._tables.items():
            for index in table.indexes:
                if index.space == space and not index.local:
                    return self._lagging.draw_index(table, index, first=first)
            local = any(index.space == space for index in table.indexes)
            if space != table.space and not local:
                continue
            if _is_consistent(self._request.body, name):
                return 0
            if self._of_local is not None:
                return self._of_local
            lag = self._lagging.draw_replica(first=first)
            if local:
                self._of_local = lag
            return lag
        return 0


class _DrawOfSearch(_Draw):
    """The lag of a vector search: one lag for the rows of the index and the items that it shows."""

    def __init__(self, lagging: Lagging, request: Any, tables: Tables, now: float) -> None:
        super().__init__(lagging, request, tables, now)
        self._lag = lagging.draw_follower(first=True)

    def lag_of(self, space: int, key: bytes) -> float:
        return self._lag


def _has(read: kv.Read, record: Overwritten) -> bool:
    if isinstance(read, kv.Get):
        return (record.space, record.key) in read.keys
    assert isinstance(read, kv.Range), "the read must be a Get or a Range"
    return record.key >= read.start and (read.end is None or record.key < read.end)


def _is_consistent(body: Any, table_name: str) -> bool:
    """Whether a request makes strongly consistent reads of a table."""
    items = getattr(body, "request_items", None)
    if items is not None:
        return any(
            bool(wanted.consistent_read)
            for name, wanted in items.items()
            if name.rpartition("/")[2] == table_name
        )
    statements = getattr(body, "statements", None)
    if statements is not None:
        return any(bool(member.consistent_read) for member in statements)
    return bool(body.consistent_read)


def _spaces(read: kv.Read) -> set[int]:
    if isinstance(read, kv.Get):
        return {space for space, _ in read.keys if space != kv.SYSTEM_SPACE}
    return {read.space} if isinstance(read, kv.Range) and read.space != kv.SYSTEM_SPACE else set()
