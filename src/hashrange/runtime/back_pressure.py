"""Back-pressure: throttles writes to a table while its global indexes lag too far behind.

An index that is updated from a log may be slower than the writes to its table. Without throttling,
the log would grow without limit, and the index would lag more and more. DynamoDB throttles such
writes too. Source: developer guide, throttling of a table whose global index is behind.

If an index lags because a machine cannot be reached, throttling does not help it to catch up, and
only limits the log. So in this case writes are throttled much later.
"""

from collections.abc import Callable, Collection, Sequence

from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.runtime.ending import complaints

LAG_SECONDS_MAX = 10.0
"""The largest age of a change that an index does not show yet. If a change is older, writes to the
table are throttled."""
AWAY_SECONDS_MAX = 300.0
"""The largest age of a change that the store has failed to apply to an index. It is long enough for
a standby to take over."""


class Lag:
    """The lag of a table's indexes in seconds."""

    def __init__(self) -> None:
        self.slow = self.away = 0.0
        """`slow` is the age of the oldest change that waits without an error, and `away` the age of
        the oldest change that the store has failed to apply."""
        self.cause = ""
        """The store's error at its last attempt to apply the change whose age is `away`."""

    def add(self, seconds: float, cause: str) -> None:
        if not cause:
            self.slow = max(self.slow, seconds)
        elif seconds > self.away:
            self.away, self.cause = seconds, cause

    @property
    def throttles(self) -> bool:
        return self.slow > LAG_SECONDS_MAX or self.away > AWAY_SECONDS_MAX


class BackPressure:
    """Decides which writes to throttle. `lags` returns the lag of each table's indexes, by the
    table's name."""

    def __init__(self, lags: Callable[[], dict[str, Lag]]) -> None:
        self._lags = lags

    def throttled_tables(self) -> Collection[str]:
        """The names of the tables whose writes are throttled now."""
        throttled = {name: lag for name, lag in self._lags().items() if lag.throttles}
        for name, lag in throttled.items():
            if lag.cause:
                complaints.log(
                    f"writes to {name} are throttled, because an index lags: {lag.cause}"
                )
        return list(throttled)

    def limits(self, asked: Admit) -> Sequence[Limit]:
        """The limits that a write has reached: one for each global index of its table. Empty if the
        write is admitted."""
        table = asked.table
        if not asked.written or table.name not in self.throttled_tables():
            return ()
        return [Limit(table, index, True, "KeyRangeThroughput") for index in table.global_indexes]
