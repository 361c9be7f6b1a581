"""Finds the nearest rows of a view, or of an index that is too large to be kept in memory."""

from heapq import nsmallest
from typing import Any, NamedTuple

from hashrange.engine import fetch
from hashrange.engine.fetch import Bounds, Fetch, Moment
from hashrange.engine.vectors import blocks, views
from hashrange.engine.vectors.blocks import Filters, StoredVector, numpy
from hashrange.engine.vectors.distances import Query
from hashrange.engine.vectors.views import Part, View
from hashrange.model.errors import ValidationException
from hashrange.model.floats import unpack
from hashrange.model.tables import VectorIndex

PLAIN_ROWS_MAX = 10_000
"""How many rows are searched in plain Python, at about 60 microseconds for 768 dimensions."""
_ROWS_PER_PAUSE = 32
NEEDS_NUMPY = (
    f"A search through more than {PLAIN_ROWS_MAX:,} vectors needs numpy on this server: "
    "pip install 'hashrange[vectors]'"
)


class Match(NamedTuple):
    score: float
    row: StoredVector


class _Best:
    """Rows that may be among the nearest `top`, after all those that were considered."""

    def __init__(self, query: Query, filters: Filters | None, top: int) -> None:
        self._query = query
        self._filters = filters
        self._top = top
        self._rows: list[StoredVector] = []
        self._low: list[float] = []
        self._high: list[float] = []
        self.considered = 0

    def consider(self, part: Part) -> None:
        found = part.block.candidates(self._query, self._filters, part.dead)
        self.considered += len(part.block)
        row = part.block.row
        if found.low is None:
            if self.considered > PLAIN_ROWS_MAX and numpy() is None:
                raise ValidationException(NEEDS_NUMPY)
            self._rows += map(row, found.rows)
            return
        np = numpy()
        bound = self._bound(np, found.high)
        chosen = np.nonzero(found.low <= bound)[0]
        self._rows += [row(found.rows[at]) for at in chosen]
        self._low += found.low[chosen].tolist()
        self._high += found.high[chosen].tolist()

    def _bound(self, np: Any, more: Any) -> float:
        """The highest rank that the row at place `top` can have, with `more` rows."""
        high = np.concatenate((np.array(self._high), more))
        if len(high) <= self._top:
            return float("inf")
        return float(np.partition(high, self._top - 1)[self._top - 1])

    def matches(self) -> Fetch[list[Match]]:
        """The nearest rows, scored exactly. Rows at the same distance are in the order of keys."""
        rows = self._rows
        if self._low and len(self._low) > self._top:
            bound = nsmallest(self._top, self._high)[-1]
            rows = [row for row, low in zip(rows, self._low, strict=True) if low <= bound]
        scores: dict[bytes, float] = {}
        for at, row in enumerate(rows):
            if row.packed not in scores:
                scores[row.packed] = self._query.score(unpack(row.packed))
                if at % _ROWS_PER_PAUSE == 0:
                    yield from fetch.pause()
        query = self._query
        best = nsmallest(
            self._top, rows, key=lambda row: (query.rank(scores[row.packed]), row.raw, row.key)
        )
        return [Match(scores[row.packed], row) for row in best]


def nearest(
    index: VectorIndex,
    group: bytes,
    query: Query,
    filters: Filters | None,
    top: int,
    moment: Moment,
) -> Fetch[list[Match]]:
    """The `top` rows of a group that are nearest to the query and pass the filters."""
    best = _Best(query, filters, top)
    view = yield from views.current(index, group, moment)
    if view is None:
        yield from _load(index, group, best, moment)
    else:
        for part in view.parts:
            best.consider(part)
            yield from fetch.pause()
    return (yield from best.matches())


def _load(index: VectorIndex, group: bytes, best: _Best, moment: Moment) -> Fetch[None]:
    """Consider all rows as they are read. They are kept as a view if they fit."""
    positions = yield from views.heads(index, group)
    left: Bounds | None = views.bounds_of(group)
    rows: list[StoredVector] = []
    most = blocks.rows_max(index)
    kept: list[Part] | None = [] if moment.views.fits(0) else None
    size = 0
    while left is not None:
        some, left = yield from views.page(index, left)
        rows += some
        whole = len(rows) if left is None else len(rows) // most * most
        for block in blocks.blocks_of(index, rows[:whole]):
            size += block.bytes
            part = Part(block)
            best.consider(part)
            if kept is not None:
                kept.append(part)
        rows = rows[whole:]
        if kept is not None and not moment.views.fits(size):
            kept = None
    if kept is not None:
        moment.views.keep((index.space, group), View(positions, tuple(kept), moment.now))
