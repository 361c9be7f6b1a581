"""The suite for any store passes with many writers, and finds the bugs that are planted in them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from planting import Bug, bug_in, found_by_a_test

from hashrange.kv import Add, Answer, Append, CreateSpace, Max, Read, Store
from hashrange.testing.store_access import commit
from hashrange.testing.store_races import run_races
from hashrange.testing.store_suite import GUARDED, ROW, SPACE, StoreSuite

from .many_writers import ManyWriters, State

EXAMPLES = 100
Plant = Callable[[], Bug]


class TestManyWriters(StoreSuite):
    histories = 40

    def make_store(self, folder: Path) -> Store:
        return ManyWriters()


# ---- bugs that are planted ----


def rows_are_read_like_counters() -> Bug:
    """Reads of rows are not checked at the commit, which is correct only for counters."""
    return bug_in(ManyWriters, "still_holds", lambda *_: True)


def absent_rows_are_not_guarded() -> Bug:
    """As in a store that locks only the rows that it finds."""
    still_holds = ManyWriters.still_holds

    def planted(self: ManyWriters, read: Read, answer: Answer) -> bool:
        return answer == [None] or still_holds(self, read, answer)

    return bug_in(ManyWriters, "still_holds", planted)


def counters_are_overwritten() -> Bug:
    """Every writer stores the sum that it has read, instead of adding to it."""

    def planted(self: State, write: Add, stripe: int) -> None:
        self.stripes[stripe][write.name] = write.delta

    return bug_in(State, "add", planted)


def a_stripe_is_not_read() -> Bug:
    def planted(self: State, name: bytes) -> int:
        return self.stripes[0].get(name, 0)

    return bug_in(State, "counter", planted)


def numbers_come_back() -> Bug:
    """The next number is one more than that of the last remaining row."""

    def planted(self: State, write: Append) -> None:
        there = [key for key in self.live[write.space] if key.startswith(write.prefix)]
        number = max((int.from_bytes(key[-8:], "big") for key in there), default=0) + 1
        self.live[write.space][write.prefix + number.to_bytes(8, "big")] = write.value

    return bug_in(State, "append", planted)


def a_slot_is_numbered_in_steps_that_wrap() -> Bug:
    append = State.append

    def planted(self: State, write: Append) -> None:
        slot = (write.space, write.slot)
        self.numbers[slot] = self.numbers.get(slot, 0) % 2
        append(self, write)

    return bug_in(State, "append", planted)


@contextmanager
def the_clock_is_the_last_that_was_written() -> Iterator[None]:
    def planted(self: State, write: Max) -> None:
        self.time = write.value

    with bug_in(State, "raise_clock", planted), bug_in(State, "now", stored):
        yield


def the_clock_is_not_raised() -> Bug:
    """The store has no clock of its own either."""

    def planted(self: State) -> int:
        return 0

    return bug_in(State, "now", planted)


def stored(self: State) -> int:
    return self.time


@pytest.fixture(autouse=True)
def first_find() -> Iterator[None]:
    """The same examples each time; a failing example need not be minimal."""
    settings.register_profile(
        "first find",
        settings.default,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        derandomize=True,
    )
    before = settings.get_current_profile_name()
    settings.load_profile("first find")
    yield
    settings.load_profile(before)


def races() -> None:
    run_races(ManyWriters, EXAMPLES, 30)


def raised() -> None:
    TestManyWriters().test_a_raised_counter_never_falls(ManyWriters())


def guarded() -> None:
    for what, change in GUARDED:
        TestManyWriters().test_what_was_read_still_holds(opened(), what, change)


def opened() -> Store:
    store = ManyWriters()
    commit(store, CreateSpace(SPACE), ROW)
    return store


def numbered() -> None:
    store = opened()
    TestManyWriters().test_numbers_of_one_slot_rise_and_are_never_used_twice(store)


@pytest.mark.parametrize(
    ("plant", "finder"),
    [
        (rows_are_read_like_counters, races),
        (rows_are_read_like_counters, guarded),
        (absent_rows_are_not_guarded, guarded),
        (counters_are_overwritten, races),
        (a_stripe_is_not_read, races),
        (numbers_come_back, numbered),
        (a_slot_is_numbered_in_steps_that_wrap, numbered),
        (the_clock_is_the_last_that_was_written, raised),
        (the_clock_is_not_raised, raised),
        (the_clock_is_not_raised, races),
    ],
    ids=lambda it: it.__name__,
)
def test_a_planted_bug_is_found(plant: Plant, finder: Callable[[], None]) -> None:
    with plant(), found_by_a_test():
        finder()
