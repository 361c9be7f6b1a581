"""A sample of a table's items: many segments of a parallel scan, at a limited rate."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hashrange.design.errors import DesignError
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import ApiCall, ApiFailure, Connection, Steps, run
from hashrange.design.source.table_shape import TableShape, shape_of
from hashrange.design.tools.stored_items import describe
from hashrange.model.values import Item

SEGMENTS = 64
"""The number of segments of the scan. Each segment is read from its beginning."""
THREADS = 4
PAGE_ITEMS_MAX = 250
PAUSE_SECONDS_MAX = 5.0

Progress = Callable[[int], None]
"""A function that is called with the number of items read so far."""


def shape(handed: Any, name: str) -> TableShape:
    """The keys and indexes of a table. Raises DesignError if there is no such table."""
    return run(_shape(name), connect(handed))


def _shape(name: str) -> Steps[TableShape]:
    described = yield from describe(name)
    try:
        response = yield ApiCall("DescribeTimeToLive", {"TableName": name})
    except ApiFailure:  # the role may lack this permission; then no field is st.TTL
        return shape_of(name, described)
    ttl = response["TimeToLiveDescription"]
    enabled = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return shape_of(name, described, ttl.get("AttributeName") if enabled else None)


def sample(
    handed: Any,
    name: str,
    count: int,
    rate: float,
    progress: Progress | None = None,
    timer: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Item]:
    """About `count` items from all parts of the table, or all items if it has fewer.

    Reads at most `rate` capacity units a second. The order is that of the segments, so that the
    same table gives the same sample.
    """
    return _Sampler(connect(handed), name, count, rate, progress, timer, sleep).items()


@dataclass
class _Segment:
    number: int
    items: list[Item] = field(default_factory=list)
    start: dict[str, Any] | None = None
    done: bool = False


class _Sampler:
    def __init__(
        self,
        connection: Connection,
        name: str,
        count: int,
        rate: float,
        progress: Progress | None,
        timer: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self.connection = connection
        self.name = name
        self.count = count
        self.rate = rate
        self.progress = progress
        self.lock = threading.Lock()
        self.units = 0.0
        self.read = 0
        self.timer = timer
        self.sleep = sleep
        self.began = timer()

    def items(self) -> list[Item]:
        """The sample. Each round reads an equal share from each segment that is not exhausted."""
        segments = [_Segment(number) for number in range(SEGMENTS)]
        with ThreadPoolExecutor(THREADS) as pool:
            while self.read < self.count:
                left = [segment for segment in segments if not segment.done]
                if not left:
                    break
                share = max(1, -(-(self.count - self.read) // len(left)))
                for _ in pool.map(lambda segment: self._read(segment, share), left):  # noqa: B023
                    pass
        return [item for segment in segments for item in segment.items][: self.count]

    def _read(self, segment: _Segment, share: int) -> None:
        wanted = len(segment.items) + share
        while len(segment.items) < wanted and not segment.done:
            request: dict[str, Any] = {
                "TableName": self.name,
                "Segment": segment.number,
                "TotalSegments": SEGMENTS,
                "Limit": min(PAGE_ITEMS_MAX, wanted - len(segment.items)),
                "ReturnConsumedCapacity": "TOTAL",
            }
            if segment.start is not None:
                request["ExclusiveStartKey"] = segment.start
            response = self._call(request)
            segment.items += response["Items"]
            segment.start = response.get("LastEvaluatedKey")
            segment.done = segment.start is None
            self._wait(len(response["Items"]), response.get("ConsumedCapacity", {}))

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.connection.call("Scan", request)
        except ApiFailure as failure:
            if failure.code:
                raise DesignError(f"{failure.code}: {failure}") from failure.original
            raise failure.original from None

    def _wait(self, items: int, consumed: dict[str, Any]) -> None:
        """Count a page's items and units, and sleep if the total of units is above the rate."""
        with self.lock:
            self.units += float(consumed.get("CapacityUnits", 0))
            self.read += items
            ahead = self.units / self.rate - (self.timer() - self.began)
            if self.progress is not None:
                self.progress(min(self.read, self.count))
        if ahead > 0:
            self.sleep(min(ahead, PAUSE_SECONDS_MAX))
