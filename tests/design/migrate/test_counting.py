"""Programs count before the start, and `plan` and `start` refuse what a migration cannot carry."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.migrate.counting import KEPT_SECONDS, Counting

from .models import NEW, OLD, Reading, Readings

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = 60.0


class Clock:
    """Moved by the test. It begins at the present, with which `plan` compares."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC).timestamp() - KEPT_SECONDS / 2

    def __call__(self) -> float:
        return self.now


def reading(number: int) -> Reading:
    at = START + timedelta(seconds=number)
    return Reading(device="d1", at=at, value=Decimal(number), serial=f"s{number}")


@pytest.fixture
def migration() -> st.Migration:
    return st.Migration(OLD, NEW, lease_seconds=0, signature_seconds=0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(migration: st.Migration, database: Any, clock: Clock) -> Readings:
    """A program that counts."""
    db: Any = migration.open(Readings, database, count=True)
    counting: Counting = db._core.counting
    counting.now = clock
    found: Readings = db
    return found


def plan(migration: st.Migration, database: Any) -> str:
    return str(migration.plan(database))


def test_a_hot_item_of_several_programs_is_refused(
    migration: st.Migration, database: hashrange.Database, clock: Clock
) -> None:
    OLD.create(database)
    assert "No program has counted" in plan(migration, database)
    programs = [opened(migration, database, clock) for _ in range(3)]
    programs[0].create(reading(0))
    programs[0].create(reading(1))
    for minute in range(3):
        for db in programs:
            for _ in range(10 if minute < 2 else 202):
                db.add(reading(0), value=Decimal(1))
            db.patch(db.reading, "d1", reading(1).at)
        clock.now += MINUTE
        for db in programs:
            with db.patch(db.reading, "d1", reading(1).at) as item:
                item.tags = frozenset({str(minute)})
        if minute < 2:
            assert "at most 0.5 writes a second of one item" in plan(migration, database)
    with pytest.raises(st.MigrationError, match=r"d1.* 10\.1 times a second") as refused:
        migration.plan(database)
    assert len(str(refused.value).splitlines()) == 2, "only the one item is hot"
    with pytest.raises(st.MigrationError, match="times a second"):
        migration.start(database)
    assert migration.status(database).phase == "old"


def test_what_was_counted_a_day_ago_is_forgotten(
    migration: st.Migration, database: hashrange.Database, clock: Clock
) -> None:
    OLD.create(database)
    clock.now -= KEPT_SECONDS
    db = opened(migration, database, clock)
    db.create(reading(0))
    for _ in range(60):
        db.add(reading(0), value=Decimal(1))
    clock.now += MINUTE
    db.add(reading(0), value=Decimal(1))
    assert "at most 1.0 writes a second of one item" in plan(migration, database)
    clock.now += KEPT_SECONDS + MINUTE
    db.create(reading(1))
    assert "at most 0.0 writes a second of one item" in plan(migration, database)


@pytest.mark.parametrize("guards", [0, 7])
def test_a_transaction_that_would_be_too_large_is_refused(
    guards: int, database: hashrange.Database, clock: Clock
) -> None:
    """What is counted is what the transaction has in `dual`: never less, and here no more."""
    migration = st.Migration(OLD, NEW, lease_seconds=0, signature_seconds=0, guards=guards)
    OLD.create(database)
    db = opened(migration, database, clock)
    for size, fits in ((22, True), (40, False)):
        clock.now += MINUTE
        with db.transaction(token=f"token-of-{size}") as t:
            for number in range(size):  # each: the item and its marker; later the mirror too
                t.create(reading(100 * size + number))
        clock.now += MINUTE
        db.add(reading(100 * size), value=Decimal(1))
        if fits:
            assert f"at most {3 * size + guards + 1} actions" in plan(migration, database)
    if guards:
        return
    with pytest.raises(st.MigrationError, match="a transaction of 80 actions can grow to 121"):
        migration.plan(database)


def test_updates_of_stored_items_may_write_their_markers_too(
    migration: st.Migration, database: hashrange.Database, clock: Clock
) -> None:
    """The first write of an item gives its unique marker the key of the mirror."""
    OLD.create(database)
    db = opened(migration, database, clock)
    items = [db.create(reading(number)) for number in range(4)]
    with db.transaction() as t:
        for item in items:
            t.save(item.replace(value=Decimal(9)))
    clock.now += MINUTE
    db.create(reading(9))
    assert "at most 12 actions in a transaction" in plan(migration, database)
