"""A clock that stands still until a test moves it."""


class TestClock:
    """Pass it wherever a source of epoch seconds is expected, such as `connect(clock=...)`."""

    __test__ = False  # pytest would take it for a class of tests

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward, or back if `seconds` is negative, as when a wrong clock is corrected."""
        self._now += seconds
