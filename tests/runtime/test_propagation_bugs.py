"""Bugs that are planted in the way of changes to global indexes are found."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from followers import SEEDS, both_at_once, built_beside_writers, two_servers
from planting import Bug, bug_in, found_by_a_test

from hashrange import kv
from hashrange.engine.indexes import propagation
from hashrange.engine.keyspace import logs
from hashrange.storage import MemoryStore
from hashrange.testing.async_memory import AsyncMemoryTransaction


def entries_land_in_another_transaction() -> Bug:
    propagate = propagation.propagate
    late: list[kv.Write] = []

    def planted(step: Any, effects: Any) -> None:
        ours: list[kv.Write] = []
        entries, effects.writes = effects.writes, ours
        propagate(step, effects)
        effects.writes = [*entries, *late]
        late[:] = [w for w in ours if getattr(w, "space", None) != step.table.index_log]
        effects.writes += [w for w in ours if w not in late]

    return bug_in(propagation, "propagate", planted)


def an_earlier_state_overwrites_a_later_one() -> Bug:
    propagate = propagation.propagate

    def planted(step: Any, effects: Any) -> None:
        propagate(step._replace(records=step.records[::-1]), effects)

    return bug_in(propagation, "propagate", planted)


def records_are_trimmed_before_they_are_carried_out() -> Bug:
    propagate = propagation.propagate

    def planted(step: Any, effects: Any) -> None:
        first, *rest = step.records
        effects.writes.append(kv.Delete(step.table.index_log, first[0]))
        propagate(step._replace(records=rest), effects)

    return bug_in(propagation, "propagate", planted)


def two_servers_carry_out_the_same_record() -> Bug:
    """The records are read, and nobody looks again when the entries are committed."""
    land = AsyncMemoryTransaction._land

    def planted(self: AsyncMemoryTransaction, writes: Sequence[kv.Write]) -> None:
        if any(isinstance(read, kv.Get) and is_log(read) for read, _ in self._reads):
            self._reads = []
        land(self, writes)

    return bug_in(AsyncMemoryTransaction, "_land", planted)


def records_of_a_build_are_like_others() -> Bug:
    record = propagation._record

    def planted(log: Any, change: Any, indexes: Any, early: Any, now: Any) -> kv.Append:
        return record(log, change, indexes, (), now)

    return bug_in(propagation, "_record", planted)


def a_build_appends_what_it_has_seen_before() -> Bug:
    """Nobody looks again whether its items have changed."""
    land = AsyncMemoryTransaction._land

    def planted(self: AsyncMemoryTransaction, writes: Sequence[kv.Write]) -> None:
        if all(isinstance(write, kv.Append | kv.Max) for write in writes):
            self._reads = []
        land(self, writes)

    return bug_in(AsyncMemoryTransaction, "_land", planted)


def is_log(read: kv.Get) -> bool:
    return bool(read.keys) and len(read.keys[0][1]) == len(logs.index_prefix(0)) + 8


ROUNDS = 100
"""Whether a bug shows depends on the order in which the servers get their turns as well."""


def try_all_seeds() -> None:
    for _ in range(ROUNDS):
        for seed in SEEDS:
            two_servers(seed, MemoryStore(), rate=0.03)
            both_at_once(seed, MemoryStore())


@pytest.mark.parametrize(
    "plant",
    [
        records_of_a_build_are_like_others,
        a_build_appends_what_it_has_seen_before,
    ],
    ids=lambda it: it.__name__,
)
def test_a_bug_planted_in_builds_is_caught(plant: Callable[[], Bug]) -> None:
    with plant(), found_by_a_test():
        for _ in range(ROUNDS):
            for seed in SEEDS:
                built_beside_writers(seed, MemoryStore())


@pytest.mark.parametrize(
    "plant",
    [
        entries_land_in_another_transaction,
        an_earlier_state_overwrites_a_later_one,
        records_are_trimmed_before_they_are_carried_out,
        two_servers_carry_out_the_same_record,
    ],
    ids=lambda it: it.__name__,
)
def test_a_planted_bug_is_caught(plant: Callable[[], Bug]) -> None:
    with plant(), found_by_a_test():
        try_all_seeds()
