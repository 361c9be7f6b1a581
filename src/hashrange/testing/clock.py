"""A clock that a test sets: it runs with the wall clock, or stands still."""

from datetime import UTC, datetime, timedelta

from hashrange.runtime.clock import wall_clock

When = float | str | datetime
"""Epoch seconds, a text such as "2030-01-31T12:00", or a datetime. A time without a zone is in
UTC."""


class TestClock:
    """A clock that a test sets, for `connect(clock=...)`; other code can use its `now`.

    `TestClock("2030-01-31")` stands still at that time. `TestClock()` runs with the wall clock.
    """

    __test__ = False  # pytest would take it for a class of tests

    def __init__(self, now: When | None = None) -> None:
        self._frozen = None if now is None else _epoch_seconds(now)
        self._ahead = 0.0

    def now(self) -> float:
        """Epoch seconds."""
        return (wall_clock() if self._frozen is None else self._frozen) + self._ahead

    def freeze(self, at: When | None = None) -> None:
        """Stop the clock at the time `at` or, by default, at its current time.

        Raises ValueError or TypeError if `at` is not a time.
        """
        self._frozen = self.now() if at is None else _epoch_seconds(at)
        self._ahead = 0.0

    def advance(self, by: float | timedelta) -> None:
        """Move the clock forward by `by`: a number of seconds, or a timedelta.

        If `by` is negative, the clock goes back, like a wall clock that is corrected.
        """
        self._ahead += by.total_seconds() if isinstance(by, timedelta) else by


def _epoch_seconds(at: When) -> float:
    if isinstance(at, str):
        try:
            at = datetime.fromisoformat(at)
        except ValueError:
            raise ValueError(f'{at!r} is not a time such as "2030-01-31T12:00"') from None
    if isinstance(at, datetime):
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if isinstance(at, int | float):
        return float(at)
    raise TypeError(f"a time is epoch seconds, a text or a datetime, not {at!r}")
