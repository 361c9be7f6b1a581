"""The checkers of histories find what is wrong, and nothing else."""

import math

import pytest

from .histories import Appended, Event, History, Transaction, Transactions
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


Given = tuple[dict[str, str], dict[str, list[str]]]
"""What a transaction appended, and what it read."""


def transactions(*given: Given) -> Transactions:
    """Transactions that were all under way at the same time."""
    made = Transactions()
    made.all = [Transaction(appends, reads, 0, 9) for appends, reads in given]
    return made


FINAL = {"x": ["1", "2"], "y": ["3"]}
WRITERS: list[Given] = [({"x": "1", "y": "3"}, {}), ({"x": "2"}, {})]


def test_transactions_with_an_order() -> None:
    transactions().check({})
    reads: Given = {}, {"x": ["1"], "y": ["3"]}
    own: Given = {"z": "4"}, {"z": ["4"]}
    transactions(*WRITERS, reads, own).check(FINAL | {"z": ["4"]})
    unanswered = Transaction({"x": "5"}, {}, 0, math.inf)
    made = transactions(*WRITERS)
    made.all.append(unanswered)
    made.check(FINAL)
    made.check(FINAL | {"x": ["1", "2", "5"]})


@pytest.mark.parametrize(
    "reads",
    [
        [{"x": ["1"], "y": []}],  # torn
        [{"x": [], "y": ["3"]}],
        [{"x": ["2"]}],
        [{"x": ["1", "2"], "y": []}],
    ],
)
def test_transactions_without_one(reads: list[dict[str, list[str]]]) -> None:
    made = transactions(*WRITERS, *(({}, each) for each in reads))
    with pytest.raises(Violation):
        made.check(FINAL)


@pytest.mark.parametrize(
    "final", [{"x": ["1"], "y": ["3"]}, {"x": ["1", "2"], "y": []}, {"x": ["1", "2", "2"]}]
)
def test_transactions_that_are_lost_or_done_twice(final: dict[str, list[str]]) -> None:
    with pytest.raises(Violation):
        transactions(*WRITERS).check(FINAL | final)


def test_a_transaction_that_is_read_too_late() -> None:
    made = transactions(*WRITERS)
    made.all.append(Transaction({}, {"x": ["1"]}, 10, 11))
    with pytest.raises(Violation):
        made.check(FINAL)
    made.all[-1] = Transaction({}, {"x": ["1"]}, 8, 11)
    made.check(FINAL)
