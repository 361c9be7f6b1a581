"""A migration from its start to its end, seen by programs of both models."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.streams.changes import change_of
from hashrange.model.errors import ProvisionedThroughputExceededException

from .models import NEW, OLD, Device, Reading, Readings, Sample, Samples

START = datetime(2026, 1, 1, tzinfo=UTC)
PHASES = ("expand", "dual", "backfill", "verify", "read-new", "new", "contracting")


def at(number: int) -> datetime:
    return START + timedelta(hours=5 * number)


@pytest.fixture
def migration() -> st.Migration:
    return st.Migration(OLD, NEW, lease_seconds=0, signature_seconds=0)


@pytest.fixture
def readings(database: hashrange.Database, migration: st.Migration) -> Readings:
    return filled(migration, database)


def filled(migration: st.Migration, connection: Any) -> Readings:
    """A new table with ten readings."""
    OLD.create(connection)
    db = migration.open(Readings, connection)
    db.put(Device(device="d1"))
    for n in range(10):
        label = "odd" if n % 2 else None
        db.create(Reading(device="d1", at=at(n), value=Decimal(n), label=label, serial=f"s{n}"))
    return db


def advance_to(phase: str, migration: st.Migration, database: Any) -> None:
    if migration.status(database).phase == "old":
        migration.start(database)
    while migration.status(database).phase != phase:
        migration.advance(database)


def expect_all(db: Readings) -> None:
    """Every pattern and every kind of write of an old program does what it always did."""
    assert [r.value for r in db.of_day("d1", START.date())] == [0, 1, 2, 3, 4]
    assert db.count("d1", START.date()) == 5
    assert [r.value for r in db.labelled("odd")] == [1, 3, 5, 7, 9]
    assert len(list(db.everything())) == 10
    found = db.reading("d1", at(3))
    assert found is not None
    version = found.version
    with db.edit(db.reading, "d1", at(3)) as edited:
        edited.tags = frozenset({"a"}) ^ edited.tags
    db.add(found, tags={"b"})
    db.discard(found, tags={"b"})
    again = db.reading("d1", at(3))
    assert again is not None
    assert again.version == version + 3
    with pytest.raises(st.NotUnique):
        db.create(Reading(device="d2", at=START, serial="s3"))
    with pytest.raises(st.AlreadyExists):
        db.create(Reading(device="d1", at=START, serial="other"))
    with pytest.raises(st.Conflict):
        db.save(found.replace(label="late"))
    first = db.of_day("d1", START.date()).page(2)
    assert [r.value for r in first.items] == [0, 1]
    rest = db.of_day("d1", START.date()).page(9, first.cursor)
    assert [r.value for r in rest.items] == [2, 3, 4]


def test_old_programs_notice_nothing_until_new_ones_run(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    expect_all(readings)
    for phase in PHASES[:-1]:
        advance_to(phase, migration, database)
        expect_all(readings)
    advance_to("contracting", migration, database)
    with pytest.raises(st.MigrationError, match="new model"):
        readings.reading("d1", START)


def test_nothing_is_left_of_the_old_model(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    advance_to("contracting", migration, database)
    migration.finish(database)
    with hashrange.connect() as other:
        NEW.create(other)
        fresh = NEW.open(Samples, other)
        fresh.put(Device(device="d1"))
        for n in range(10):
            label = "odd" if n % 2 else None
            fresh.create(Sample(sensor="d1", at=at(n), milli=n * 1000, label=label, serial=f"s{n}"))
        assert visible(database) == visible(other)
    described = database.execute("DescribeTable", {"TableName": "fleet"})["Table"]
    names = [index["IndexName"] for index in described["GlobalSecondaryIndexes"]]
    assert names == ["sample-labels"]
    plain = NEW.open(Samples, database)
    plain.create(Sample(sensor="d9", at=START, milli=1, serial="s99"))


def visible(database: hashrange.Database) -> dict[str, object]:
    found: dict[str, object] = {}
    for raw in database.execute("Scan", {"TableName": "fleet"})["Items"]:
        if not raw["pk"]["S"].startswith("~"):
            shown = {name: value for name, value in raw.items() if not name.startswith("~")}
            found[f"{raw['pk']} {raw['sk']}"] = shown
    return found


def test_both_models_run_in_new_and_see_each_others_writes(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    samples = migration.open(Samples, database)
    with pytest.raises(st.MigrationError, match="from the phase new on"):
        samples.sample("d1", START)
    advance_to("new", migration, database)
    sample = samples.sample("d1", at(1))
    assert sample is not None
    samples.save(sample.replace(milli=1500, serial="s1b"))
    reading = readings.reading("d1", at(1))
    assert reading is not None
    assert (reading.value, reading.serial) == (Decimal("1.5"), "s1b")
    readings.create(Reading(device="d1", at=at(20), value=Decimal(20), serial="s1"))
    with pytest.raises(st.NotUnique):
        samples.create(Sample(sensor="d1", at=at(21), milli=0, serial="s1"))
    samples.delete(samples.sample, "d1", at(2))
    assert readings.reading("d1", at(2)) is None
    assert [s.milli for s in samples.since("d1", at(8))] == [8000, 9000, 20000]
    assert migration.verify(database) == []


def test_going_back_loses_nothing(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    for phase in PHASES[:5]:
        advance_to(phase, migration, database)
        expect_all(readings)
        assert migration.back(database).phase == "old"
        expect_all(readings)
    gone = readings.reading("d1", at(9))
    assert gone is not None
    readings.delete(gone)
    advance_to("new", migration, database)
    samples = migration.open(Samples, database)
    assert samples.sample("d1", at(9)) is None
    with pytest.raises(st.MigrationError, match="reverse migration"):
        migration.back(database)


def test_a_cursor_is_read_in_the_generation_that_it_is_from(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    first = readings.of_day("d1", START.date()).page(2)
    scanned = readings.everything().page(4)
    advance_to("read-new", migration, database)
    rest = readings.of_day("d1", START.date()).page(9, first.cursor)
    assert [r.value for r in rest.items] == [2, 3, 4]
    others = readings.everything().page(20, scanned.cursor)
    assert len({r.value for r in [*scanned.items, *others.items]}) == 10
    newer = readings.of_day("d1", START.date()).page(2)
    migration.back(database)
    with pytest.raises(st.InvalidCursor):
        readings.of_day("d1", START.date()).page(2, newer.cursor)


def test_a_transaction_with_a_token_is_applied_once_in_any_phase(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    for phase in (None, "dual", "new"):
        if phase is not None:
            advance_to(phase, migration, database)
        reading = readings.reading("d1", START)
        assert reading is not None
        with readings.transaction(token="once") as t:
            t.add(reading, tags={"t"})
    found = readings.reading("d1", START)
    assert found is not None
    assert found.version == 2


def test_an_exact_fence_checks_guards(database: hashrange.Database) -> None:
    migration = st.Migration(OLD, NEW, lease_seconds=0.1, guards=3)
    OLD.create(database)
    stale = migration.open(Readings, database, clock=lambda: 0.0)
    stale.create(Reading(device="d1", at=START, serial="s0"))
    advance_to("dual", migration, database)
    stale.create(Reading(device="d1", at=at(1), serial="s1"))  # its lease never ends
    keys = {item["pk"]["S"] for item in database.execute("Scan", {"TableName": "fleet"})["Items"]}
    assert "samples#d1" in keys


def test_stray_writes_are_found_and_mended(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    advance_to("verify", migration, database)
    stray = OLD.open(Readings, database)
    reading = stray.reading("d1", START)
    assert reading is not None
    stray.save(reading.replace(value=Decimal(77)))
    [differing] = migration.verify(database)
    assert differing["pk"] == {"S": "day#d1#2026-01-01"}


def test_a_batch_and_its_reads_follow(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    advance_to("read-new", migration, database)
    found = readings.get_many(readings.reading, [("d1", at(0)), ("d1", at(99)), ("d1", at(2))])
    assert [r and r.value for r in found] == [0, None, 2]
    with readings.read_transaction() as t:
        one = t.get(readings.reading, "d1", at(4))
    assert one.item is not None
    assert one.item.value == 4
    with readings.batch() as batch:
        batch.put(Device(device="d2", place="roof"))
    device = readings.device("d2")
    assert device is not None
    assert device.place == "roof"


def test_two_migrators_and_other_models_are_refused(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    with pytest.raises(st.MigrationError, match="begin with `start`"):
        migration.advance(database)
    migration.start(database)
    with pytest.raises(st.MigrationError, match="already"):
        migration.start(database)
    other = st.Migration(OLD, NEW, guards=5)
    with pytest.raises(st.MigrationError, match="models are not those"):
        other.advance(database)
    with pytest.raises(st.MigrationError, match="other models"):
        other.open(Readings, database).reading("d1", START)
    assert migration.pause(database).paused
    assert not migration.resume(database).paused


class Refusing:
    """A table that has no throughput for an operation after a few requests."""

    def __init__(self, database: hashrange.Database, operation: str, allowed: int) -> None:
        self.database, self.operation, self.allowed = database, operation, allowed

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == self.operation:
            self.allowed -= 1
            if self.allowed < 0:
                raise ProvisionedThroughputExceededException("exceeded")
        return self.database.execute(operation, request)


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("operation", ["Scan", "TransactWriteItems", "BatchGetItem"])
def test_endless_throttling_says_how_to_go_on(
    operation: str, readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    advance_to("backfill", migration, database)
    with pytest.raises(st.MigrationError, match=r"throttled 20 requests.*go on with `resume`"):
        migration.advance(Refusing(database, operation, 0))
    advance_to("new", migration, database)
    assert migration.verify(database) == []


def test_an_item_without_an_inverse_can_be_mended(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    reading = readings.reading("d1", at(3))
    assert reading is not None
    wrong = reading.replace(value=Decimal("1.23456"))
    readings.save(wrong)
    advance_to("dual", migration, database)
    with pytest.raises(st.MigrationError, match=r"sk=15:00:00.*or this item, and go on with `res"):
        migration.advance(database)
    with pytest.raises(st.BadValue):
        readings.add(wrong, tags={"a"})
    table, key = {"TableName": "fleet"}, OLD.model.by_name["Reading"].key_of(OLD.dump(wrong))
    database.execute("DeleteItem", {**table, "Key": key})
    migration.resume(database)
    advance_to("new", migration, database)
    assert [each["sk"]["S"] for each in migration.verify(database)] == []


def test_a_stamp_alone_is_no_change_for_handlers(
    readings: Readings, migration: st.Migration, database: hashrange.Database
) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    database.execute("UpdateTable", {"TableName": "fleet", "StreamSpecification": stream})
    plain = OLD.open(Readings, database)
    plain.create(Reading(device="d2", at=START, serial="x1"))
    advance_to("backfill", migration, database)
    readings.create(Reading(device="d3", at=START, serial="x2"))
    seen = [change_of(OLD.model, record) for record in records(database)]
    changed = [(c.old, c.new.device) for c in seen if c is not None and c.new is not None]
    assert changed == [(None, "d2"), (None, "d3")]
    assert [type(c.item) for c in seen if c is not None] == [Reading, Reading]


def records(database: hashrange.Database) -> list[dict[str, Any]]:
    """All records of the only stream, in their order."""
    [stream] = database.execute("ListStreams", {})["Streams"]
    arn = {"StreamArn": stream["StreamArn"]}
    found = []
    for shard in database.execute("DescribeStream", arn)["StreamDescription"]["Shards"]:
        place = {**arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        at = {"ShardIterator": database.execute("GetShardIterator", place)["ShardIterator"]}
        found += database.execute("GetRecords", at)["Records"]
    return sorted(found, key=lambda record: str(record["dynamodb"]["SequenceNumber"]))


class Badge(st.Item):
    key = st.key("badge#{holder}", "info")

    holder: st.Slug
    code: str


class Badges(st.Store, Protocol):
    def badge(self, holder: str) -> Badge | None: ...


class Card(st.Item):
    key = st.key("card#{holder}", "info")
    replaces = st.replaces("Badge", code=st.pair("code", str.encode, bytes.decode))

    holder: st.Slug
    code: bytes


class Cards(st.Store, Protocol):
    def card(self, holder: str) -> Card | None: ...


@pytest.mark.usefixtures("no_pauses")
def test_a_text_becomes_binary_over_boto3(database: hashrange.Database) -> None:
    """The migrator and a program of the old model write the same bytes."""
    client = database.boto3_session().client("dynamodb")
    old, new = st.Table("badges", Badges), st.Table("badges", Cards)
    migration = st.Migration(old, new, lease_seconds=0.2, signature_seconds=0)
    old.create(client)
    badges = migration.open(Badges, client)
    badges.create(Badge(holder="ann", code="first"))
    advance_to("dual", migration, client)
    badges.create(Badge(holder="bob", code="second"))
    advance_to("backfill", migration, client)
    items = client.scan(TableName="badges")["Items"]
    codes = {item["holder"]["S"]: item["code"] for item in items if "card#" in item["pk"]["S"]}
    assert codes == {"ann": {"B": b"first"}, "bob": {"B": b"second"}}


def test_attributes_of_other_programs_are_mirrored(database: hashrange.Database) -> None:
    """Items with equally many attributes have other ones."""
    old, new = st.Table("badges", Badges), st.Table("badges", Cards)
    migration = st.Migration(old, new, lease_seconds=0, signature_seconds=0)
    old.create(database)
    badges = migration.open(Badges, database)
    for holder in ("ann", "bob"):
        raw = old.dump(badges.create(Badge(holder=holder, code="x")))
        raw |= {f"of-{holder}": {"N": "1"}}
        database.execute("PutItem", {"TableName": "badges", "Item": raw})
    advance_to("read-new", migration, database)
    items = database.execute("Scan", {"TableName": "badges"})["Items"]
    cards = [item for item in items if "card#" in item["pk"]["S"]]
    assert all(f"of-{card['holder']['S']}" in card for card in cards)
    assert len(cards) == 2
