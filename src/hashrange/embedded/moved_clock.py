"""A database's clock, which a test can move. Work that becomes due is then done at once."""

from datetime import UTC, datetime, timedelta

from hashrange.database.connecting import connect
from hashrange.model.settings import Settings
from hashrange.testing.clock import TestClock, When


class DatabaseClock(TestClock):
    """The clock of a database: it follows the wall clock until a test moves it.

    When `freeze` or `advance` returns, everything that is due at the new time is done: expired
    items are deleted, and streams have their records. The clock of a database never goes back: a
    time earlier than one that the database has already used raises ValueError.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._seen = 0.0
        self.database = connect(clock=self, settings=settings)

    def now(self) -> float:
        """Epoch seconds."""
        now = super().now()
        self._seen = max(self._seen, now)
        return now

    def freeze(self, at: When | None = None) -> None:
        """Stop the clock at the given time, by default at the current time."""
        before = self._frozen, self._ahead
        super().freeze(at)
        self._moved(before)

    def advance(self, by: float | timedelta) -> None:
        """Move forward by seconds, or by a timedelta."""
        before = self._frozen, self._ahead
        super().advance(by)
        self._moved(before)

    def _moved(self, before: tuple[float | None, float]) -> None:
        wanted = super().now()
        if wanted < self._seen:
            self._frozen, self._ahead = before
            raise ValueError(
                "the clock of a database never goes back: the database has already used "
                f"{_text(self._seen)}, so the clock cannot be set to {_text(wanted)}; freeze the "
                "clock before the first request"
            )
        self.database.run_upkeep()


def _text(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
