"""Reads a table in parallel segments, and records its position after each page."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec
from msgspec import Raw, Struct

from hashrange.clients.connection import JsonConnection
from hashrange.formats.items import encode
from hashrange.tools.moving.pace import Pace, patiently


class ScanPage(Struct):
    """A page of a Scan. `items` are the bytes of each item's DynamoDB JSON."""

    items: list[bytes]
    last: dict[str, Any] | None


class _Consumed(Struct, rename="pascal"):
    capacity_units: float = 0.0


class _Answer(Struct, rename="pascal"):
    items: list[Raw] = []
    last_evaluated_key: dict[str, Any] | None = None
    consumed_capacity: _Consumed | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class Position(Struct):
    """The position in a segment. Continue after the key `after`; None is the beginning. `done` says
    that the end has been reached."""

    after: dict[str, Any] | None = None
    done: bool = False


class TableState(Struct):
    """The progress of a table's copy. `began` and `ended` are epoch seconds; `ended` is 0 until all
    items have been copied.

    `sequences` has the sequence number of the last applied record of each shard. `source` and
    `target` are the ids of the two tables.
    """

    positions: list[Position]
    began: float
    items: int = 0
    ended: float = 0.0
    sequences: dict[str, str] = {}
    source: str = ""
    target: str = ""


class Scan:
    """A scan of a table that can continue from `positions`, one for each segment."""

    def __init__(
        self, connection: JsonConnection, table: str, positions: list[Position], pace: Pace
    ) -> None:
        self.positions = positions
        self._connection = connection
        self._table = table
        self._pace = pace

    def pages(self) -> Iterator[list[bytes]]:
        """The items, page by page. `positions` are the positions after the page that the caller has
        finished, which is when it requests the next page.

        The next page of each segment is read while the caller uses the current page.
        """
        pool = ThreadPoolExecutor(len(self.positions), "hashrange-scan")
        try:
            waiting: dict[int, Future[ScanPage]] = {
                number: pool.submit(self._fetch, number, position.after)
                for number, position in enumerate(self.positions)
                if not position.done
            }
            while waiting:
                for number in list(waiting):
                    page = waiting.pop(number).result()
                    if page.last is not None:
                        waiting[number] = pool.submit(self._fetch, number, page.last)
                    yield page.items
                    self.positions[number] = Position(page.last, page.last is None)
        finally:
            pool.shutdown(cancel_futures=True)

    def _fetch(self, number: int, after: dict[str, Any] | None) -> ScanPage:
        request: dict[str, Any] = {"TableName": self._table}
        if len(self.positions) > 1:
            request |= {"Segment": number, "TotalSegments": len(self.positions)}
        if after is not None:
            request["ExclusiveStartKey"] = after
        if self._pace.rate:
            request["ReturnConsumedCapacity"] = "TOTAL"
        body = encode(request)
        answer = _decode(patiently(self._connection, "Scan", body))
        if answer.consumed_capacity is not None:
            self._pace.consumed(answer.consumed_capacity.capacity_units)
        return ScanPage([bytes(item) for item in answer.items], answer.last_evaluated_key)
