"""The checkers of histories find what is wrong, and nothing else."""

import math

import pytest

from .histories import Appended, Event, History
from .runs import Violation


def history(*events: tuple[str, str, float, float]) -> History:
    """Writes (w) and reads (r) of one register: kind, value, start, end."""
    made = History()
    made.events = [Event("x", kind == "w", value, start, end) for kind, value, start, end in events]
    return made


def test_histories_that_can_have_happened() -> None:
    history().check()
    history(("r", "", 0, 1), ("w", "a", 2, 3), ("r", "a", 4, 5)).check()
    history(("w", "a", 0, 9), ("r", "", 1, 2), ("r", "a", 3, 4)).check()
    history(("w", "a", 0, 1), ("w", "b", 2, 9), ("r", "b", 3, 4), ("r", "b", 5, 6)).check()
    history(("w", "a", 0, math.inf), ("w", "b", 1, 2), ("r", "b", 3, 4), ("r", "a", 5, 6)).check()
    history(("w", "a", 0, math.inf), ("w", "b", 1, 2), ("r", "b", 3, 4)).check()


@pytest.mark.parametrize(
    "events",
    [
        [("w", "a", 0, 1), ("r", "", 2, 3)],  # lost
        [("r", "a", 0, 1), ("w", "a", 2, 3)],  # read before
        [("w", "a", 0, 9), ("r", "a", 1, 2), ("r", "", 3, 4)],  # back again
        [("w", "a", 0, 1), ("w", "b", 2, 3), ("r", "a", 4, 5)],  # stale
        [("w", "a", 0, 1), ("w", "b", 2, 3), ("r", "b", 4, 5), ("r", "a", 6, 7)],
        [("w", "a", 0, 1), ("r", "b", 2, 3)],  # never written
    ],
)
def test_histories_that_cannot(events: list[tuple[str, str, float, float]]) -> None:
    with pytest.raises(Violation):
        history(*events).check()


@pytest.mark.parametrize("final", [["a"], ["a", "b", "b"], ["b", "a"]])
def test_lists(final: list[str]) -> None:
    appended = Appended()
    appended.acknowledged = ["a", "b"]
    appended.reads = [[], ["a"]]
    appended.check(["a", "b", "unanswered"])
    with pytest.raises(Violation):
        appended.check(final)
