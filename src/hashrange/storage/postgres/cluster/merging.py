"""Reads ranges over several nodes, by merging the rows that each node returns in order.

The first slot of a range is read alone, because in a large table this slot fills a page. Then each
node is asked for its share of the remaining rows, and again when these rows are used up.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from math import ceil
from typing import Any

from hashrange.kv import slot_of, unpack_weight
from hashrange.storage.postgres.reads import Asked

Row = tuple[bytes, bytes | None, int, bytes | None]
"""The key, rest, version and value of a row."""

Place = tuple[int, bytes]
"""A slot and a key."""

Bounds = tuple[Place, Place]
"""The first place in a range, and the first place after the range."""

Fetch = Callable[[Bounds, int | None, int | None], Coroutine[Any, Any, Sequence[Row]]]
"""Reads the first rows within the bounds. The two numbers limit the rows and their total weight;
None means no limit. The row that reaches the weight limit is the last one."""

ROWS_MIN = 8
WEIGHT_MIN = 64 * 1024
SURPLUS = 1.3
"""The factor by which each node is asked for more than its share, because rows are not spread
evenly."""


def begin_and_rest(asked: Asked) -> tuple[Bounds, Bounds]:
    """The bounds of a range in its first slot, and in its other slots."""
    _, slot, key, last, last_key, *_ = asked.arguments()
    start, end = (slot, key), (last, last_key)
    if asked.read.reverse:
        middle = max(start, (last if last_key else last - 1, b""))
        return (middle, end), (start, middle)
    middle = min(end, (slot + 1, b""))
    return (start, middle), (middle, end)


class Stream:
    """The rows of one node within the bounds, in order."""

    def __init__(self, fetch: Fetch, bounds: Bounds, reverse: bool) -> None:
        self._fetch = fetch
        self._bounds = bounds
        self._reverse = reverse
        self.rows: list[Row] = []
        """The fetched rows that have not been taken yet."""
        self.ended = False
        """Whether all rows have been fetched."""

    async def fill(self, rows_max: int | None, weight_max: int | None) -> None:
        """Fetch the next rows, after all fetched rows have been taken."""
        self.rows = rows = list(await self._fetch(self._bounds, rows_max, weight_max))
        is_short = rows_max is None or len(rows) < rows_max
        if is_short and (weight_max is None or sum(map(weight_of, rows)) < weight_max):
            self.ended = True
            return
        key, (start, end) = rows[-1][0], self._bounds
        if self._reverse:
            self._bounds = start, (slot_of(key), key)
        else:
            self._bounds = (slot_of(key), key + b"\0"), end


class Merge:
    """Takes the rows of streams in order, until a limit of rows or weight is reached."""

    def __init__(self, asked: Asked) -> None:
        self.rows: list[Row] = []
        self._reverse = asked.read.reverse
        self._rows_left, self._weight_left = asked.arguments()[5:]

    @property
    def is_full(self) -> bool:
        return self._rows_left == 0 or (self._weight_left is not None and self._weight_left <= 0)

    async def take(self, streams: Sequence[Stream]) -> None:
        """Take rows until all streams have ended or the limit is reached."""
        while not self.is_full:
            empty = [stream for stream in streams if not (stream.rows or stream.ended)]
            limits = self._share(len(streams))
            await together(stream.fill(*limits) for stream in empty)
            if not any(stream.rows for stream in streams):
                return
            for row in self._next(streams):
                if self.is_full:
                    break
                self._add(row)

    def _share(self, streams: int) -> tuple[int | None, int | None]:
        """The number of rows, and their weight, that each stream is asked for."""
        rows, weight = self._rows_left, self._weight_left
        if streams > 1:
            rows = rows and min(rows, max(ROWS_MIN, ceil(SURPLUS * rows / streams)))
            weight = weight and min(weight, max(WEIGHT_MIN, ceil(SURPLUS * weight / streams)))
        return rows, weight

    def _next(self, streams: Sequence[Stream]) -> list[Row]:
        """Remove and return the next rows, as far as their order is certain. A stream that has not
        ended may have more rows after its last one."""
        rows = sorted((row for each in streams for row in each.rows), reverse=self._reverse)
        lasts = [each.rows[-1][0] for each in streams if not each.ended]
        if not lasts:
            end = len(rows)
        else:
            limit = max(lasts) if self._reverse else min(lasts)
            end = 1 + next(at for at, row in enumerate(rows) if row[0] == limit)
        taken = {row[0] for row in rows[:end]}
        for stream in streams:
            stream.rows = [row for row in stream.rows if row[0] not in taken]
        return rows[:end]

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        if self._rows_left is not None:
            self._rows_left -= 1
        if self._weight_left is not None:
            self._weight_left -= weight_of(row)


def weight_of(row: Row) -> int:
    assert row[3] is not None, "a row whose weight is counted must be read with its value"
    weight: int = unpack_weight(row[3])[0]
    return weight


async def together(asking: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run the coroutines at once. Returns their results in order. If any fails, raises its error
    after all have ended."""
    results = await asyncio.gather(*asking, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
