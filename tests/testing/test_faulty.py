"""The faulty store fails as configured, and the store that it wraps stays intact."""

import pytest

from hashrange.kv import (
    SYSTEM_SPACE,
    Add,
    Conflict,
    Get,
    OutcomeUnknown,
    Put,
    ReadOnly,
    Store,
    StoreError,
)
from hashrange.storage import MemoryStore
from hashrange.testing import FaultyStore
from hashrange.testing.faulty import FAULTS, LandedUnknown, LostUnknown
from hashrange.testing.store_access import counted, row
from hashrange.testing.store_model import value_of

ROW = (SYSTEM_SPACE, b"row")


def add_one(store: Store) -> None:
    """Counter and row always change together."""
    transaction = store.begin()
    try:
        transaction.read(Get((ROW,)))
        transaction.write([Add(b"n", 1), Put(*ROW, value_of(1))])
    except StoreError:
        transaction.rollback()
        raise
    transaction.commit()


def test_nothing_fails_by_default() -> None:
    store = FaultyStore(MemoryStore())
    for _ in range(100):
        add_one(store)
    assert (counted(store, b"n"), row(store, ROW)) == (100, value_of(1))
    assert not store.struck


def test_a_countdown_reaches_every_step_once() -> None:
    """begin, read, two writes, commit; the sixth step is the next transaction's begin."""
    raised = []
    for countdown in range(5):
        inner = MemoryStore()
        store = FaultyStore(inner, countdown=countdown)
        with pytest.raises(StoreError) as error:
            add_one(store)
        raised.append(str(error.value).split()[-1])
        landed = store.struck[LandedUnknown]
        assert counted(inner, b"n") == landed, "nothing else was written"
        inner.begin(False).rollback()
        assert sum(store.struck.values()) == 1
        if not store.struck[ReadOnly]:
            add_one(store)
            assert (counted(inner, b"n"), row(inner, ROW)) == (1 + landed, value_of(1))
    assert raised == ["begin", "read", "write", "write", "commit"]


def history(seed: int) -> list[str]:
    """The outcomes of two hundred attempts; each new wrapper stands for a reopened store."""
    inner = MemoryStore()
    store = FaultyStore(inner, seed=seed, rate=0.1)
    outcomes = []
    for _ in range(200):
        try:
            add_one(store)
            outcomes.append("done")
        except StoreError as error:
            outcomes.append(type(error).__name__)
            if isinstance(error, ReadOnly):
                store = FaultyStore(inner, seed=seed + len(outcomes), rate=0.1)
    landed = outcomes.count("done") + outcomes.count("LandedUnknown")
    assert counted(inner, b"n") == landed
    return outcomes


def test_a_seed_repeats_its_faults_and_another_differs() -> None:
    assert history(1) == history(1) != history(2)
    assert set(history(1)) == {
        "done",
        *(fault.__name__ for some in FAULTS.values() for fault in some),
    }


@pytest.mark.parametrize(("fault", "landed"), [(LandedUnknown, 1), (LostUnknown, 0)])
def test_an_unknown_outcome_is_one_of_two(fault: type[OutcomeUnknown], landed: int) -> None:
    inner = MemoryStore()
    store = FaultyStore(inner, countdown=0, faults={"commit": (fault,)})
    with pytest.raises(OutcomeUnknown):
        add_one(store)
    assert counted(inner, b"n") == landed
    add_one(store)
    assert counted(inner, b"n") == landed + 1


def test_after_read_only_writes_are_refused() -> None:
    store = FaultyStore(MemoryStore(), countdown=0, faults={"commit": (ReadOnly,)})
    with pytest.raises(ReadOnly):
        add_one(store)
    with pytest.raises(ReadOnly):
        store.begin()
    assert (counted(store, b"n"), row(store, ROW)) == (0, None)


def test_a_single_kind_of_fault() -> None:
    store = FaultyStore(MemoryStore(), rate=1, faults={"commit": (Conflict,)})
    for _ in range(3):
        with pytest.raises(Conflict):
            add_one(store)
    assert store.struck == {Conflict: 3}


def test_reads_fail_too() -> None:
    store = FaultyStore(MemoryStore(), rate=1)
    with pytest.raises(StoreError, match="read"):
        row(store, ROW)
    with pytest.raises(StoreError, match="read"):
        store.snapshot()
