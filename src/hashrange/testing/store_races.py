"""Random tests of concurrent transactions, for stores that allow them.

Each transaction reads, then writes, then commits. If a row that the transaction has read was
changed by another one, the commit must raise `Conflict`. Increments of counters must not be lost,
and the clock must not go back. A store with a single writer raises `Busy` for every transaction but
one, so few of its transactions conflict.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hashrange.kv import (
    CLOCK,
    Add,
    Answer,
    Busy,
    Conflict,
    CreateSpace,
    Delete,
    Get,
    Head,
    Max,
    Put,
    Range,
    Read,
    Store,
    Transaction,
    Write,
)
from hashrange.testing.store_access import commit, counted, read
from hashrange.testing.store_model import Model, value_of

SPACE = 1
COUNT = b"count"
KEYS = (b"a", b"b", b"c")
keys = st.sampled_from(KEYS)
values = st.builds(value_of, st.integers(0, 9))
guarded = st.one_of(
    st.builds(lambda key: Get(((SPACE, key),)), keys),
    st.builds(lambda start: Range(SPACE, start, None), keys),
    st.builds(lambda key: Head((SPACE, key), COUNT), keys),
)
writes = st.one_of(
    st.builds(lambda key, value: Put(SPACE, key, value), keys, values),
    st.builds(lambda key: Delete(SPACE, key), keys),
    st.builds(lambda delta: Add(COUNT, delta), st.integers(-9, 9)),
    st.builds(lambda value: Max(CLOCK, value), st.integers(0, 99)),
)


class Racer:
    """An open transaction, the rows that it has read, and its writes."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.known: list[tuple[Read, Answer]] = []
        self.written: list[Write] = []


class Races(RuleBasedStateMachine):
    def __init__(self, make: Callable[[], Store]) -> None:
        super().__init__()
        self.store = make()
        self.model = Model()
        self.racers: list[Racer] = []

    def teardown(self) -> None:
        for racer in self.racers:
            racer.transaction.rollback()
        self.store.close()

    @initialize()
    def fill(self) -> None:
        first: list[Write] = [CreateSpace(SPACE)]
        first += [Put(SPACE, key, value_of(1)) for key in KEYS[:2]]
        commit(self.store, *first)
        for write in first:
            self.model.write(write)

    @precondition(lambda self: len(self.racers) < 3)
    @rule(wanted=st.lists(guarded, max_size=3))
    def begin(self, wanted: list[Read]) -> None:
        try:
            racer = Racer(self.store.begin(False))
        except Busy:
            return
        self.racers.append(racer)
        racer.known = [(what, _rows(what, racer.transaction.read(what))) for what in wanted]

    @precondition(lambda self: self.racers)
    @rule(choose=st.data(), wanted=st.lists(writes, min_size=1, max_size=3))
    def write(self, choose: Any, wanted: list[Write]) -> None:
        racer = self.racers[choose.draw(st.integers(0, len(self.racers) - 1))]
        racer.transaction.write(wanted)
        racer.written += wanted

    @precondition(lambda self: self.racers)
    @rule(choose=st.data())
    def commit(self, choose: Any) -> None:
        racer = self.racers.pop(choose.draw(st.integers(0, len(self.racers) - 1)))
        try:
            racer.transaction.commit()
        except Conflict:
            return
        for what, answer in racer.known:
            reason = "a transaction must commit only if the rows that it has read are unchanged"
            assert _rows(what, self.model.read(what)) == answer, reason
        for write in racer.written:
            self.model.write(write)

    @rule()
    def look(self) -> None:
        everything = Range(SPACE, b"", None)
        assert read(self.store, everything) == self.model.read(everything)
        assert counted(self.store, COUNT) == self.model.counters.get(COUNT, 0)
        assert counted(self.store, CLOCK) >= self.model.counters.get(CLOCK, 0)


def _rows(what: Read, answer: Answer) -> Answer:
    """The part of an answer that must not change before the commit: of a `Head`, only the row."""
    if isinstance(what, Head):
        assert isinstance(answer, tuple)
        return [answer[0]]
    return answer


def run_races(make: Callable[[], Store], examples: int, steps: int) -> None:
    """Run random concurrent transactions on a store. `make` returns a new, empty store."""

    class AllRaces(Races):
        def __init__(self) -> None:
            super().__init__(make)

    run_state_machine_as_test(
        AllRaces,
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None),
    )
