"""Whatever the order of events and whatever fails, what was promised holds; planted bugs show.

A failure names its seed: `simulate(seed)` runs it again, step for step.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

import pytest
from customers import simulate
from world import Violation

from hashrange import kv
from hashrange.engine import changes, transition
from hashrange.engine.effects import Effects
from hashrange.engine.log import streams
from hashrange.runtime.batch import Batch
from hashrange.runtime.catalog import Catalog, Tables
from hashrange.runtime.committer import Committer
from hashrange.storage.memory import MemorySnapshot, MemoryStore

pytestmark = pytest.mark.slow

SEEDS = 25
FRESH_SEEDS = 10
PLANTED_SEEDS = 60
"""Within so many a planted bug has to show; most show in the first few."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_promises_hold(seed: int) -> None:
    simulate(seed)


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


def simulate_all(seeds: Iterable[int]) -> None:
    for seed in seeds:
        simulate(seed)


# ---- bugs that are planted ----


@contextmanager
def index_entries_stay() -> Iterator[None]:
    derive = changes.derive

    def planted(items: Sequence[Any], effects: Effects) -> None:
        derive(items, effects)
        tables = {change.table.space for change in items}
        effects.writes = [
            write
            for write in effects.writes
            if not isinstance(write, kv.Delete) or write.space in tables
        ]

    with patch.object(changes, "derive", planted):
        yield


@contextmanager
def counters_stand_still() -> Iterator[None]:
    with patch.object(Effects, "all_writes", lambda self: self.writes):
        yield


@contextmanager
def acknowledged_before_the_commit() -> Iterator[None]:
    commit = Committer._commit

    def planted(self: Committer, batch: Batch, here: Any = None) -> None:
        self._tell(batch, here)
        batch.submissions = []
        commit(self, batch, here)

    with patch.object(Committer, "_commit", planted):
        yield


@contextmanager
def failures_are_not_told() -> Iterator[None]:
    def planted(self: Batch, error: BaseException) -> None:
        self._transaction = None

    with patch.object(Batch, "fail", planted):
        yield


@contextmanager
def a_lost_race_is_forgotten() -> Iterator[None]:
    with patch.object(Batch, "_decide_again", lambda self: setattr(self, "_transaction", None)):
        yield


@contextmanager
def an_unknown_outcome_is_run_again() -> Iterator[None]:
    """As if nothing had been written."""
    commit = Batch.commit

    def planted(self: Any) -> None:
        transaction = self._transaction
        if transaction is not None:
            self._transaction = Retrying(transaction)
        commit(self)

    class Retrying:
        def __init__(self, transaction: kv.Transaction) -> None:
            self.rollback = transaction.rollback
            self._commit = transaction.commit

        def commit(self) -> None:
            try:
                self._commit()
            except kv.OutcomeUnknown as error:
                raise kv.Conflict("run it again") from error

    with patch.object(Batch, "commit", planted):
        yield


@contextmanager
def a_lost_race_is_not_decided_again() -> Iterator[None]:
    """The same rows are written once more, whatever has changed meanwhile."""
    decide = Batch._decide

    class Recorder:
        def __init__(self, transaction: kv.Transaction) -> None:
            self.transaction = transaction
            self.writes: list[kv.Write] = []
            self.read = transaction.read
            self.commit = transaction.commit
            self.rollback = transaction.rollback

        def write(self, writes: Sequence[kv.Write], /) -> None:
            self.writes += writes
            self.transaction.write(writes)

    def recorded(self: Any, transaction: kv.Transaction) -> bool:
        recorder = Recorder(transaction)
        wrote = decide(self, recorder)
        self.recorded = recorder.writes
        return wrote

    def again(self: Any) -> None:
        self._transaction = None
        try:
            transaction = self._store.begin()
        except kv.StoreError as error:
            self.fail(error)
            return
        try:
            transaction.write(self.recorded)
            self._transaction = transaction
        except kv.StoreError as error:
            transaction.rollback()
            self.fail(error)

    with patch.object(Batch, "_decide", recorded), patch.object(Batch, "_decide_again", again):
        yield


@contextmanager
def reads_see_the_open_transaction() -> Iterator[None]:
    def planted(self: MemorySnapshot, space: int, key: bytes) -> bytes | None:
        rows = self._store._spaces.live.get(space)
        return rows.values.get(key) if rows else None

    def glance(self: Any, counter: bytes, key: kv.Key) -> tuple[int, bytes | None]:
        rows = self._spaces.live.get(key[0])
        return self._counters.get(counter, 0), rows.values.get(key[1]) if rows else None

    with (
        patch.object(MemorySnapshot, "_value", planted),
        patch.object(MemoryStore, "glance", glance),
    ):
        yield


@contextmanager
def tables_are_cached_for_ever() -> Iterator[None]:
    def planted(self: Catalog, version: int) -> Tables:
        return self.known[1]

    with patch.object(Catalog, "at", planted):
        yield


@contextmanager
def nobody_is_woken() -> Iterator[None]:
    with patch.object(Committer, "_wake_next", lambda self: None):
        yield


@contextmanager
def tokens_are_forgotten() -> Iterator[None]:
    with patch.object(transition, "_remember", lambda change: []):
        yield


@contextmanager
def the_stream_has_gaps() -> Iterator[None]:
    appended = streams.appended
    ticks = count()

    def planted(*arguments: Any) -> list[kv.Write]:
        return list(appended(*arguments)) if next(ticks) % 20 else []

    with patch.object(streams, "appended", planted):
        yield


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


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Callable[[], Any]) -> None:
    with plant(), pytest.raises(Violation, match=r"^seed \d+: "):
        simulate_all(range(PLANTED_SEEDS))
