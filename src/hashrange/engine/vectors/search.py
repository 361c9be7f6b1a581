"""Finds the nearest rows of a view, or of an index that is too large to be kept in memory."""

from collections.abc import Iterable
from heapq import nsmallest
from typing import Any, NamedTuple

from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.vectors import blocks, views
from hashrange.engine.vectors.arrays import numpy
from hashrange.engine.vectors.blocks import Candidates, Filters, StoredVector
from hashrange.engine.vectors.distances import Query
from hashrange.engine.vectors.views import Part, View
from hashrange.model.errors import ValidationException
from hashrange.model.tables import VectorIndex

PLAIN_ROWS_MAX = 10_000
"""The largest number of rows that are searched without numpy. A row of 768 dimensions takes about
60 microseconds."""
NUMBERS_MAX = 1 << 30
"""The largest number of vector elements that one search compares: those of 1.4 million vectors of
768 dimensions."""
_NUMBERS_PER_PAUSE = 8 * 1024
"""The number of vector elements that are scored exactly between two pauses. This takes about half a
millisecond."""
_HELD_ROWS_MAX = 1024
"""The largest number of rows that are kept as possibly nearest. If there are more, they are scored
exactly, and only the nearest `top` are kept."""
NEEDS_NUMPY = (
    f"A search through more than {PLAIN_ROWS_MAX:,} vectors needs numpy on this server: "
    "pip install 'hashrange[vectors]'"
)


class Match(NamedTuple):
    score: float
    row: StoredVector


class _Best:
    """The rows that may be among the nearest `top` of all rows considered so far.

    It has at most `_HELD_ROWS_MAX` rows and the rows of one block, even if more are equally near.
    """

    def __init__(self, query: Query, filters: Filters | None, top: int) -> None:
        self._query = query
        self._filters = filters
        self._top = top
        self._rows: list[StoredVector] = []
        self._low: list[float] = []
        self._high: list[float] = []
        self._limit = float("inf")
        """No row with a higher rank than this is among the nearest."""

    def consider(self, part: Part) -> Fetch[None]:
        block = part.block
        candidates = block.candidates(self._query, self._filters, part.dead)
        if candidates.low is None:
            self._rows += map(block.row, candidates.rows)
            return
        candidates = self._within(self._limit, candidates)
        if not candidates.rows:
            return
        candidates = self._within(self._bound(candidates.high), candidates)
        if len(candidates.rows) > self._top:
            candidates = block.closer(self._query, candidates)
            candidates = self._within(self._bound(candidates.high), candidates)
        self._add(
            map(block.row, candidates.rows), candidates.low.tolist(), candidates.high.tolist()
        )
        self._limit = self._bound()
        if len(self._rows) > _HELD_ROWS_MAX:
            self._leave_out()
        if len(self._rows) > _HELD_ROWS_MAX:
            best = yield from self.matches()
            self._rows, self._low, self._high = [], [], []
            bounds = [self._query.bounds(match.score) for match in best]
            self._add([match.row for match in best], *map(list, zip(*bounds, strict=True)))

    def _add(self, rows: Iterable[StoredVector], low: list[float], high: list[float]) -> None:
        self._rows += rows
        self._low += low
        self._high += high

    def _bound(self, more: Any = ()) -> float:
        """An upper bound of the rank of the last row that belongs to the result.

        `more` has upper bounds of the ranks of rows that have not been added yet.
        """
        np = numpy()
        high = np.concatenate((np.array(self._high), more))
        if len(high) <= self._top:
            return float("inf")
        return float(np.partition(high, self._top - 1)[self._top - 1])

    def _within(self, bound: float, candidates: Candidates) -> Candidates:
        """The candidates whose rank may be as low as the bound."""
        [chosen] = (candidates.low <= bound).nonzero()
        rows = [candidates.rows[at] for at in chosen.tolist()]
        return Candidates(rows, candidates.low[chosen], candidates.high[chosen])

    def _leave_out(self) -> None:
        """Leave out the rows that can no longer be among the nearest."""
        bound = self._bound()
        kept = [at for at, low in enumerate(self._low) if low <= bound]
        self._rows = [self._rows[at] for at in kept]
        self._low, self._high = ([each[at] for at in kept] for each in (self._low, self._high))

    def matches(self) -> Fetch[list[Match]]:
        """The nearest rows, scored exactly. Rows at the same distance are in key order."""
        if self._low:
            self._leave_out()
        query, rows = self._query, self._rows
        vectors = list({row.packed for row in rows})
        portion = max(1, _NUMBERS_PER_PAUSE // len(query.numbers))
        scores: dict[bytes, float] = {}
        for at in range(0, len(vectors), portion):
            some = vectors[at : at + portion]
            scores.update(zip(some, query.scores(some), strict=True))
            if at + portion < len(vectors):
                yield from fetch.pause()
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
    check_cost(index, (yield from _rows(index, view)))
    if view is None:
        view = yield from _load(index, group, best, moment)
    if view is not None:
        best = _Best(query, filters, top)
        for part in view.parts:
            yield from best.consider(part)
            yield from fetch.pause()
    return (yield from best.matches())


def check_cost(index: VectorIndex, rows: int) -> None:
    """Raises ValidationException if a search of the index would have to look at too many rows."""
    if rows > PLAIN_ROWS_MAX and numpy() is None:
        raise ValidationException(NEEDS_NUMPY)
    if rows * index.dimensions > NUMBERS_MAX:
        raise ValidationException(
            f"A search looks at no more than {NUMBERS_MAX // index.dimensions:,} vectors of "
            f"{index.dimensions} dimensions: create an index with a HASH attribute, so that each "
            "search looks at the vectors of one HASH value"
        )


def _rows(index: VectorIndex, view: View | None) -> Fetch[int]:
    """The number of rows of a search; 0 if it is not known before the rows are read."""
    if view is not None:
        return sum([len(part.block) for part in view.parts])
    if index.hash:
        return 0
    [(rows, _)] = yield from fetch.statistics([index])
    return rows


def _load(index: VectorIndex, group: bytes, best: _Best, moment: Moment) -> Fetch[View | None]:
    """Read all rows of a group, and let `best` consider them.

    The rows are kept as a view if memory for it can be reserved. The result is None, unless another
    search has kept a usable view in the meantime: then this view is returned at once.
    """
    place = index.space, group
    known = moment.views.kept(place)
    positions = yield from views.heads(index, group)
    left: Bounds | None = views.bounds_of(group)
    most = blocks.rows_max(index)
    rows: list[StoredVector] = []
    parts: list[Part] = []
    seen = size = 0
    with moment.views.reserve() as takes:
        fits = takes(size)
        while left is not None:
            if moment.views.kept(place) != known:
                known = moment.views.kept(place)
                view = yield from views.current(index, group, moment)
                if view is not None:
                    return view
            some, left = yield from views.page(index, left)
            seen += len(some)
            check_cost(index, seen)
            rows += some
            whole = len(rows) if left is None else len(rows) // most * most
            for block in blocks.blocks_of(index, rows[:whole]):
                yield from best.consider(Part(block))
                size += block.bytes
                fits = fits and takes(size)
                if fits:
                    parts.append(Part(block))
                else:
                    parts.clear()
            rows = rows[whole:]
    if fits:
        moment.views.keep(place, View(positions, tuple(parts), moment.now))
    return None
