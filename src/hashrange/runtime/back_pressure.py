"""Back-pressure: throttles writes to a table while its global indexes lag too far behind.

An index that follows from a log may be slower than the writes to its table. Then the log would
grow without end, and what the index shows would become older and older. DynamoDB throttles such
writes too. Source: developer guide, throttling of a table whose global index is behind.
"""

from collections.abc import Callable, Collection, Sequence

from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit

LAG_SECONDS_MAX = 10.0
"""Writes are throttled while a change that is older than this is not in all indexes yet."""


class BackPressure:
    """`lags` returns how many seconds the indexes of each table are behind, by the table's name."""

    def __init__(self, lags: Callable[[], dict[str, float]]) -> None:
        self._lags = lags

    def throttled_tables(self) -> Collection[str]:
        """The names of the tables whose writes are throttled now."""
        return [name for name, lag in self._lags().items() if lag > LAG_SECONDS_MAX]

    def limits(self, asked: Admit) -> Sequence[Limit]:
        """The indexes that a write has to wait for."""
        table = asked.table
        if not asked.written or table.name not in self.throttled_tables():
            return ()
        return [Limit(table, index, True, "KeyRangeThroughput") for index in table.global_indexes]
