"""Promises hold in every order of events and after every failure; planted bugs are found.

A failure names its seed: `simulate(seed)` runs it again, step for step.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest
import world
from customers import simulate
from planting import Bug, bug_in
from world import AwaitedProcess, Violation

from hashrange import kv
from hashrange.engine import changes, transition
from hashrange.engine.effects import Effects
from hashrange.engine.log import records
from hashrange.runtime import drive
from hashrange.runtime.awaited import writes
from hashrange.runtime.awaited.writes import Line, Writes
from hashrange.runtime.batch import Batch, Submission, call_done
from hashrange.runtime.catalog import Catalog, Tables
from hashrange.runtime.decisions import Proposal, Steps, Suspended
from hashrange.runtime.overlay import Overlay
from hashrange.runtime.threaded import committer
from hashrange.runtime.threaded.committer import Committer
from hashrange.storage.memory import MemorySnapshot, MemoryStore
from hashrange.testing import async_memory
from hashrange.testing.faulty import LandedUnknown

pytestmark = pytest.mark.slow

FEW = 3
SEEDS = [*range(FEW), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(FEW, 15))]
"""`make test` runs the first few."""
FRESH_SEEDS = 5
AWAITED_STEPS = 6000
"""A request takes more steps of the loop there."""

PLANTED_SEEDS = 60
"""A planted bug has to show within this number of seeds; most show in the first few."""


@pytest.mark.parametrize("seed", SEEDS)
def test_promises_hold(seed: int) -> None:
    simulate(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_promises_hold_on_a_store_that_is_awaited(seed: int) -> None:
    simulate(seed, steps=AWAITED_STEPS, kind=AwaitedProcess)


@pytest.mark.deep
def test_promises_hold_with_fresh_seeds() -> None:
    simulate_all(int.from_bytes(os.urandom(4), "big") for _ in range(FRESH_SEEDS))


def test_a_seed_runs_again_step_for_step() -> None:
    one, other = simulate(3), simulate(3)
    assert one.trace == other.trace
    assert len(one.trace) > 100
    assert simulate(4).trace != one.trace


def test_faults_strike_and_processes_die() -> None:
    traces = [line for seed in range(5) for line in simulate(seed).trace]
    assert sum(line.endswith("InternalServerError") for line in traces) > 50
    assert sum(line.endswith("dies") for line in traces) > 5
    assert sum(line.endswith("TransactWriteItems done") for line in traces) > 100


def simulate_all(seeds: Iterable[int], **how: Any) -> None:
    for seed in seeds:
        simulate(seed, **how)


# ---- bugs that are planted ----


def index_entries_stay() -> Bug:
    derive = changes.derive

    def planted(items: Sequence[Any], effects: Effects) -> None:
        derive(items, effects)
        tables = {change.table.space for change in items}
        effects.writes = [
            write
            for write in effects.writes
            if not isinstance(write, kv.Delete) or write.space in tables
        ]

    return bug_in(changes, "derive", planted)


def counters_stand_still() -> Bug:
    return bug_in(Effects, "all_writes", lambda self: self.writes)


def acknowledged_before_the_commit() -> Bug:
    def planted(batch: Batch, *rest: Any) -> None:
        for submission in batch.submissions:
            if submission.loop:
                submission.loop.call_soon_threadsafe(call_done, [submission])
        batch.submissions = [one for one in batch.submissions if not one.loop]
        drive.commit_batch(batch, *rest)

    return bug_in(committer, "commit_batch", planted)


def failures_are_not_told() -> Bug:
    return bug_in(Batch, "fail", lambda self, error: None)


def a_lost_race_is_forgotten() -> Bug:
    def planted(batch: Batch, transaction: kv.Transaction, store: kv.Store) -> None:
        try:
            transaction.commit()
        except kv.Conflict:
            pass
        except kv.StoreError as error:
            batch.fail(error)

    return bug_in(committer, "commit_batch", planted)


class Recorder:
    """A transaction that remembers what it wrote."""

    def __init__(self, transaction: kv.Transaction) -> None:
        self.transaction = transaction
        self.writes: list[kv.Write] = []
        self.read = transaction.read
        self.commit = transaction.commit
        self.rollback = transaction.rollback

    def write(self, writes: Sequence[kv.Write], /) -> None:
        self.writes += writes
        self.transaction.write(writes)


class Retrying:
    """A transaction that treats an unknown outcome as a lost race."""

    def __init__(self, transaction: kv.Transaction) -> None:
        self.read = transaction.read
        self.write = transaction.write
        self.rollback = transaction.rollback
        self._commit = transaction.commit

    def commit(self) -> None:
        try:
            self._commit()
        except kv.OutcomeUnknown as error:
            raise kv.Conflict("run it again") from error


@contextmanager
def an_unknown_outcome_is_run_again() -> Iterator[None]:
    """As if nothing had been written. Every failing commit is stored, so that the bug shows."""

    def planted(batch: Batch, transaction: kv.Transaction, store: kv.Store) -> None:
        drive.commit_batch(batch, Retrying(transaction), store)

    landed = bug_in(world.FAULTS, "commit", (LandedUnknown,))
    with landed, bug_in(committer, "commit_batch", planted):
        yield


@contextmanager
def a_lost_race_is_not_decided_again() -> Iterator[None]:
    """The same rows are written again, although other rows have changed meanwhile."""
    recorders: dict[int, Recorder] = {}

    def decide(batch: Batch, transaction: kv.Transaction) -> bool:
        recorders[id(transaction)] = Recorder(transaction)
        return drive.decide_batch(batch, recorders[id(transaction)])

    def commit(batch: Batch, transaction: kv.Transaction, store: kv.Store) -> None:
        try:
            writes = recorders.pop(id(transaction)).writes
            while True:
                try:
                    transaction.commit()
                    return
                except kv.Conflict:
                    transaction = store.begin()
                    transaction.write(writes)
        except kv.StoreError as error:
            with suppress(Exception):
                transaction.rollback()
            batch.fail(error)

    with (
        bug_in(committer, "decide_batch", decide),
        bug_in(committer, "commit_batch", commit),
    ):
        yield


@contextmanager
def reads_see_the_open_transaction() -> Iterator[None]:
    def planted(self: MemorySnapshot, space: int, key: bytes) -> bytes | None:
        rows = self._store._spaces.live.get(space)
        return rows.values.get(key) if rows else None

    def glance(self: Any, *keys: kv.Key) -> list[bytes | None]:
        live = self._spaces.live
        return [rows.values.get(key) if (rows := live.get(space)) else None for space, key in keys]

    with (
        bug_in(MemorySnapshot, "_value", planted),
        bug_in(MemoryStore, "glance", glance),
    ):
        yield


def tables_are_cached_for_ever() -> Bug:
    def planted(self: Catalog, version: bytes | None) -> Tables:
        return self.known[1]

    return bug_in(Catalog, "at", planted)


def nobody_is_woken() -> Bug:
    return bug_in(Committer, "_wake_next", lambda self: None)


def tokens_are_forgotten() -> Bug:
    return bug_in(transition, "_remember", lambda change: [])


def the_stream_has_gaps() -> Bug:
    append = records.append
    ticks = count()

    def planted(*arguments: Any) -> None:
        if next(ticks) % 20:
            append(*arguments)

    return bug_in(records, "append", planted)


def decisions_see_no_earlier_ones() -> Bug:
    return bug_in(Overlay, "_write", lambda self, write: None)


def every_decision_stands() -> Bug:
    def planted(self: Proposal, version: object) -> Generator[kv.Read, Any, bool]:
        for read, _ in self.reads:
            yield read
        return True

    return bug_in(Proposal, "holds", planted)


def races_go_unnoticed() -> Bug:
    return bug_in(async_memory, "guarded", lambda read, answer: None)


def tickets_are_kept() -> Bug:
    end = Writes._end
    ticks = count(1)

    def planted(self: Writes, batch: Batch, line: Line, some: Sequence[Submission]) -> None:
        end(self, batch, line, some)
        if next(ticks) % 20 == 0:
            self._held |= some[0].tickets

    return bug_in(Writes, "_end", planted)


def requests_end_twice() -> Bug:
    answer = Writes._answer
    ticks = count(1)

    def planted(self: Writes, submission: Submission) -> None:
        answer(self, submission)
        if next(ticks) % 20 == 0:
            call_done([submission])

    return bug_in(Writes, "_answer", planted)


class AnyVersion(bytes):
    def __ne__(self, other: object) -> bool:
        return False


def suspended_decisions_outlive_their_tables() -> Bug:
    def planted(steps: Steps, read: kv.Read, version: bytes | None) -> Suspended:
        return Suspended(steps, read, AnyVersion())

    return bug_in(writes, "Suspended", planted)


PLANTED_WHERE_AWAITED = [
    tickets_are_kept,
    requests_end_twice,
    suspended_decisions_outlive_their_tables,
    decisions_see_no_earlier_ones,
    every_decision_stands,
    races_go_unnoticed,
    tables_are_cached_for_ever,
    index_entries_stay,
]

PLANTED = [
    index_entries_stay,
    counters_stand_still,
    acknowledged_before_the_commit,
    failures_are_not_told,
    a_lost_race_is_forgotten,
    an_unknown_outcome_is_run_again,
    a_lost_race_is_not_decided_again,
    reads_see_the_open_transaction,
    tables_are_cached_for_ever,
    nobody_is_woken,
    tokens_are_forgotten,
    the_stream_has_gaps,
]


@pytest.mark.deep
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Callable[[], Bug]) -> None:
    with plant(), pytest.raises(Violation, match=r"^seed \d+: "):
        simulate_all(range(PLANTED_SEEDS))


@pytest.mark.deep
@pytest.mark.parametrize("plant", PLANTED_WHERE_AWAITED, ids=lambda plant: plant.__name__)
def test_a_bug_planted_where_the_store_is_awaited_is_found(plant: Callable[[], Bug]) -> None:
    with plant(), pytest.raises(Violation, match=r"^seed \d+: "):
        simulate_all(range(PLANTED_SEEDS), steps=AWAITED_STEPS, kind=AwaitedProcess)
