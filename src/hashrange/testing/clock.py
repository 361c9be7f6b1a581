"""A clock that stands still until it is told otherwise."""


class TestClock:
    """Give its `now` to whatever takes a source of epoch seconds."""

    __test__ = False  # pytest would take it for a class of tests

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on, or with a negative number back, as a clock that is set right does."""
        self._now += seconds
