import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from hashrange.testing import TestClock

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


def test_it_stands_still_until_advanced() -> None:
    clock = TestClock(1_700_000_000.0)
    assert clock.now() == clock.now() == 1_700_000_000.0
    clock.advance(0.5)
    clock.advance(-2)
    assert clock.now() == 1_699_999_998.5


def test_without_a_time_it_runs_until_frozen() -> None:
    clock = TestClock()
    assert time.time() <= clock.now() <= clock.now()
    clock.advance(timedelta(days=1))
    assert clock.now() >= time.time() + 86_399
    clock.freeze()
    assert clock.now() == clock.now()
    clock.advance(5)
    clock.freeze("2030-01-31T12:00")
    assert clock.now() == NOON.timestamp()


@pytest.mark.parametrize(
    "at",
    [
        NOON.timestamp(),
        "2030-01-31T12:00",
        "2030-01-31T14:00+02:00",
        NOON.replace(tzinfo=None),
        NOON.astimezone(timezone(timedelta(hours=-5))),
    ],
)
def test_ways_to_say_a_time(at: Any) -> None:
    assert TestClock(at).now() == NOON.timestamp()


@pytest.mark.parametrize(("at", "error"), [("noon", ValueError), (b"2030-01-31", TypeError)])
def test_mistaken_times(at: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="time"):
        TestClock().freeze(at)
