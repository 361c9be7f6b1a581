"""Reads ranges in the `citus` dialect, slot by slot.

While slots have rows, each slot is read alone, at its node. After a slot without rows, all shards
are asked which of the next slots have rows; these slots are then read together.
"""

from collections.abc import Sequence
from typing import Any

from hashrange.storage.postgres.reads import Asked

Row = tuple[bytes, bytes | None, int, bytes | None]
"""A row: its key, rest (see `keys`), version and value."""

_PAGE = """SELECT key, rest, version, weight, {value} FROM (
    SELECT *, sum(weight) OVER (ORDER BY key {order} ROWS UNBOUNDED PRECEDING) - weight AS before
    FROM (SELECT * FROM rows WHERE space = $1 AND slot = $2 AND key >= $3
        AND ($4::bytea IS NULL OR key < $4) ORDER BY key {order} LIMIT $5) first) weighed
WHERE $6::bigint IS NULL OR before < $6 ORDER BY key {order}"""
_WITH_ROWS = "SELECT DISTINCT slot FROM rows WHERE space = $1 AND slot BETWEEN $2 AND $3"
_WEIGHTS = """SELECT slot, key, weight FROM rows WHERE space = $1 AND slot = ANY ($2)
AND key >= $3 AND ($4::bytea IS NULL OR key < $4) ORDER BY key {order} LIMIT $5"""
_ROWS = """SELECT key, rest, version, weight, {value} FROM rows
WHERE space = $1 AND slot = ANY ($2) AND key = ANY ($3) ORDER BY key {order}"""

SLOTS_FEW = 4
"""A range over at most this many slots is read with one statement for all of them. For example, the
range may have the rows of one kind in the system space."""
SLOTS_AT_FIRST = 16
"""The number of slots that are examined together after the first slot without rows. Each further
group has four times as many slots."""
SLOTS_TOGETHER = 64
ROWS_TOGETHER = 256


class Walk:
    """Reads the slots of a range, until a limit of rows or weight is reached."""

    def __init__(self, connection: Any, asked: Asked, reverse: bool, values: bool) -> None:
        self._connection = connection
        self._reverse = reverse
        self._order = "DESC" if reverse else "ASC"
        self._value = "value" if values else "NULL::bytea"
        asks = asked.arguments()
        self._space, self._first, self._start, last, self._end = asks[:5]
        self._rows_left, self._weight_left = asks[5:]
        self._last = last if self._end else last - 1
        self._end = self._end or None  # to the end of the space
        self._rows: list[Row] = []

    async def rows(self) -> list[Row]:
        slots: Sequence[int] = range(self._first, self._last + 1)
        if self._reverse:
            slots = slots[::-1]
        if 1 < len(slots) <= SLOTS_FEW:
            await self._sparse(slots)
            return self._rows
        at, width = 0, SLOTS_AT_FIRST
        while at < len(slots) and not self._is_full:
            any_found = await self._slot(slots[at])
            at += 1
            while not any_found and at < len(slots) and not self._is_full:
                some = slots[at : at + width]
                at, width = at + len(some), 4 * width
                any_found = await self._several(some)
        return self._rows

    @property
    def _is_full(self) -> bool:
        return self._rows_left == 0 or (self._weight_left is not None and self._weight_left <= 0)

    def _take(self, page: Sequence[Any]) -> None:
        self._rows += [(key, rest, version, value) for key, rest, version, _, value in page]
        if self._rows_left is not None:
            self._rows_left -= len(page)
        if self._weight_left is not None:
            self._weight_left -= sum(row["weight"] for row in page)

    async def _slot(self, slot: int) -> bool:
        """Read one slot. Returns whether it has any rows."""
        page = await self._connection.fetch(
            _PAGE.format(order=self._order, value=self._value),
            *(self._space, slot, self._start if slot == self._first else b""),
            *(self._end if slot == self._last else None, self._rows_left, self._weight_left),
        )
        self._take(page)
        return bool(page)

    async def _several(self, slots: Sequence[int]) -> bool:
        """Read some slots. Returns whether most of them have rows."""
        with_rows = sorted(
            row[0]
            for row in await self._connection.fetch(_WITH_ROWS, self._space, min(slots), max(slots))
        )
        if self._reverse:
            with_rows.reverse()
        for i in range(0, len(with_rows), SLOTS_TOGETHER):
            if not self._is_full:
                await self._sparse(with_rows[i : i + SLOTS_TOGETHER])
        return 2 * len(with_rows) > len(slots)

    async def _sparse(self, slots: Sequence[int]) -> None:
        """Read slots with few rows: first the weights of their rows, then the rows that fit into
        the limit."""
        rows_max = min(self._rows_left or ROWS_TOGETHER, ROWS_TOGETHER)
        bounds = self._space, slots, self._start, self._end, rows_max
        weights = await self._connection.fetch(_WEIGHTS.format(order=self._order), *bounds)
        if len(weights) == rows_max and rows_max != self._rows_left:  # these slots have many
            for slot in slots:
                if not self._is_full:
                    await self._slot(slot)
            return
        keys: list[bytes] = []
        wanted: set[int] = set()
        weight = 0
        for row in weights:
            if self._weight_left is not None and weight >= self._weight_left:
                break
            weight += row["weight"]
            keys.append(row["key"])
            wanted.add(row["slot"])
        if keys:
            text = _ROWS.format(order=self._order, value=self._value)
            arguments = self._space, list(wanted), keys
            self._take(await self._connection.fetch(text, *arguments))
