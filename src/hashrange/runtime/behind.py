"""Back-pressure of global indexes that follow from a log.

If they cannot keep up, the log would grow without end, and what the indexes show would be ever
older. So beyond a lag, writes to the table are throttled until the indexes have caught up, as on
DynamoDB. Source: developer guide, throttling of a table whose global index is behind.
"""

from collections.abc import Callable, Collection, Sequence

from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Admit
from hashrange.engine.throughput import Limit
from hashrange.model.settings import Settings
from hashrange.runtime.decisions import Steps

LAG_SECONDS_MAX = 10.0
"""How old a change may become before it is in all indexes."""


class Behind:
    """`lags` tells, in seconds, how far behind the indexes of tables are, by the table's name."""

    def __init__(self, lags: Callable[[], dict[str, float]]) -> None:
        self._lags = lags

    def tables(self) -> Collection[str]:
        """The names of the tables that are not to be written now."""
        return [name for name, lag in self._lags().items() if lag > LAG_SECONDS_MAX]

    def asking(self, settings: Settings) -> Settings:
        """Settings with which operations ask whether they are admitted."""
        return settings._replace(throughput="enforced")

    def admitting(self, steps: Steps) -> Steps:
        """The steps of a request, with its questions whether it is admitted answered."""
        names = self.tables()
        reply: object = None
        try:
            while True:
                read = steps.send(reply)
                reply = _limits(read, names) if type(read) is Admit else (yield read)
        except StopIteration as end:
            decision: Decision = end.value
            return decision


def _limits(asked: Admit, names: Collection[str]) -> Sequence[Limit]:
    table = asked.table
    if not asked.written or table.name not in names:
        return ()
    return [Limit(table, index, True, "KeyRangeThroughput") for index in table.global_indexes]
