"""The bench's verdicts: how they deal with noise, and how calls and time are counted."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from benchmarks.compare import Comparison
from benchmarks.load import Load
from benchmarks.spread import Spread

from benchmarks import bars, embedded

GET = "GetItem, 100 B"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([2.0, 2.1, 2.2, 2.3, 2.4], "held"),
        ([1.5, 1.6, 1.7, 1.8, 1.99], "missed"),
        ([1.9, 2.1, 2.2, 2.3, 2.4], "within noise"),
        ([1.0, *[2.1] * 10], "held"),  # of eleven values, one on each side is left out
    ],
)
def test_a_bar_is_decided_by_the_whole_interval(values: list[float], verdict: str) -> None:
    assert Spread.of(values).at_least(2.0) == verdict
    mirrored = Spread.of([4.0 - value for value in values])
    assert mirrored.at_most(2.0) == verdict


def test_a_single_value_is_its_own_spread() -> None:
    assert Spread.of([3.0]) == (3.0, 3.0, 3.0, 3.0, 3.0)
    assert Spread.of([3.0]).per_cent == 0


def test_the_spread_is_the_interquartile_range() -> None:
    assert Spread.of([90, 100, 100, 100, 110, 120, 80]).per_cent == 10


def rounds(requests: list[float], server_us: float, others: float) -> list[Load]:
    return [Load(each, 1, 1, 0, 0.5, server_us, others) for each in requests]


@pytest.mark.parametrize(
    ("others", "other_name", "verdict"),
    [
        (0.0, bars.DYNALITE, "missed"),  # quiet: requests/s decide
        (1.0, bars.DYNALITE, "held"),  # disturbed: processor time decides
        (1.0, bars.LOCAL, "within noise"),  # many threads: both would have to agree
    ],
)
def test_other_programs_change_the_figure_that_decides(
    others: float, other_name: str, verdict: str
) -> None:
    ours = rounds([1300.0, 1310.0, 1320.0, 1330.0, 1340.0], 20.0, others)
    theirs = rounds([1000.0] * 5, 100.0, others)
    loads = {GET: {bars.OURS: ours, other_name: theirs}}
    judged = list(bars.ratios(loads))
    assert [each.verdict for each in judged] == [verdict]


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.03, 1.03, 1.04, 1.05, 1.06], "slower"),
        ([0.95, 0.96, 0.96, 0.97, 0.97], "faster"),
        ([0.99, 1.03, 1.04, 1.05, 1.06], "within noise"),
        ([1.01, 1.01, 1.01, 1.01, 1.01], "within noise"),
    ],
)
def test_a_checkout_is_slower_by_more_than_two_per_cent(ratios: list[float], verdict: str) -> None:
    assert Comparison(ratios, [1.0] * len(ratios)).verdict() == verdict


def test_calls_count_functions_and_resumed_generators_but_no_c() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    def work() -> int:
        return sum(numbers())

    assert embedded.calls(work) == 1 + 3
    assert sys.getprofile() is None


MEASURED = """
import os, time
from benchmarks import processor
before = processor.seconds_of(os.getpid())
sum(range(2_000_000))
print(processor.seconds_of(os.getpid()) - before > 0, processor.seconds_of(os.getpid()))
print(time.process_time())
"""


def test_the_processor_time_of_a_process_is_that_of_its_clock() -> None:
    """In a process without children, whose time would count too."""
    command = [sys.executable, "-c", MEASURED]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    used, seconds, clock = printed
    assert used == "True"
    assert float(seconds) == pytest.approx(float(clock), abs=0.05)
