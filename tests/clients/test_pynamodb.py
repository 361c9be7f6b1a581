"""PynamoDB's models, over HTTP."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("pynamodb", reason="make test-python-clients has it")

from pynamodb.attributes import (
    BinaryAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import (
    DoesNotExist,
    PutError,
    QueryError,
    TableError,
    TransactWriteError,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactGet, TransactWrite

MADE = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


class Address(MapAttribute):
    street = UnicodeAttribute()
    number = NumberAttribute(null=True)


class ByCity(GlobalSecondaryIndex):
    class Meta:
        index_name = "by_city"
        projection = AllProjection()

    city = UnicodeAttribute(hash_key=True)
    age = NumberAttribute(range_key=True)


class Person(Model):
    class Meta:
        table_name = "people"
        billing_mode = "PAY_PER_REQUEST"
        stream_view_type = "NEW_AND_OLD_IMAGES"

    family = UnicodeAttribute(hash_key=True)
    name = UnicodeAttribute(range_key=True)
    city = UnicodeAttribute(null=True)
    age = NumberAttribute(default=0)
    made = UTCDateTimeAttribute(default=MADE)
    picture = BinaryAttribute(null=True, legacy_encoding=False)
    tags = UnicodeSetAttribute(null=True)
    address = Address(null=True)
    notes = ListAttribute(default=list)
    ends = TTLAttribute(null=True)
    version = VersionAttribute()

    by_city = ByCity()


@pytest.fixture(autouse=True)
def table(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Person.create_table(wait=True)
    yield
    Person.delete_table()


def test_a_table(environment: dict[str, str]) -> None:
    assert Person.exists()
    assert Connection(host=environment["ENDPOINT"]).list_tables()["TableNames"] == ["people"]
    described = Person.describe_table()
    assert described["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    with pytest.raises(TableError, match="TimeToLive is already enabled"):
        Person.update_ttl(ignore_update_ttl_errors=False)


def test_every_attribute_comes_back() -> None:
    person = Person(
        "smith",
        "ann",
        city="",
        age=12.5,
        picture=b"\x00\xff",
        tags={"a", "b"},
        address=Address(street="high", number=3),
        notes=["x", 1, {"y": None}],
        ends=timedelta(hours=1),
    )
    with pytest.raises(PutError, match="key attribute cannot contain an empty string value"):
        person.save()
    person.city = "york"
    person.save()
    found = Person.get("smith", "ann", consistent_read=True)
    assert found.serialize() == person.serialize()
    assert (found.picture, found.tags, found.made) == (b"\x00\xff", {"a", "b"}, MADE)
    with pytest.raises(DoesNotExist):
        Person.get("smith", "bob")


def test_updates_with_versions() -> None:
    person = Person("smith", "ann", age=1)
    person.save()
    stale = Person.get("smith", "ann")
    person.update([Person.age.add(1), Person.notes.set(Person.notes.append(["grown"]))])
    assert (person.age, person.notes, person.version) == (2, ["grown"], 2)
    with pytest.raises(PutError) as failed:
        stale.save()
    assert failed.value.cause_response_code == "ConditionalCheckFailedException"
    person.delete()
    assert Person.count("smith") == 0


def test_batches_queries_and_scans() -> None:
    with Person.batch_write() as batch:
        for number in range(30):
            batch.save(Person("smith", f"p{number:02d}", city=f"c{number % 2}", age=number))
    found = Person.query("smith", Person.name.between("p05", "p20"), Person.age != 7, page_size=4)
    assert [person.age for person in found] == [5, 6, *range(8, 21)]
    by_city = Person.by_city.query("c1", Person.age > 20, scan_index_forward=False)
    assert [person.age for person in by_city] == [29, 27, 25, 23, 21]
    parts = [Person.scan(segment=number, total_segments=3) for number in range(3)]
    assert sorted(person.age for part in parts for person in part) == [*range(30)]
    keys = [("smith", "p03"), ("smith", "absent")]
    assert [person.age for person in Person.batch_get(keys)] == [3]
    with pytest.raises(QueryError, match="ValidationException"):
        next(Person.query("smith", filter_condition=Person.name == "p01"))


def test_transactions(environment: dict[str, str]) -> None:
    connection = Connection(host=environment["ENDPOINT"])
    with TransactWrite(connection=connection, client_request_token="token") as together:
        together.save(Person("smith", "ann", age=1))
        together.save(Person("smith", "bob", age=2))
    with TransactGet(connection=connection) as reading:
        futures = [reading.get(Person, "smith", name) for name in ("ann", "bob")]
    assert [future.get().age for future in futures] == [1, 2]
    together = TransactWrite(connection=connection)
    together.save(Person("smith", "eve"))
    together.save(Person("smith", "bob"), condition=Person.name.does_not_exist())
    with pytest.raises(TransactWriteError) as cancelled, together:
        pass
    fine, refused = cancelled.value.cancellation_reasons
    assert fine is None
    assert refused.code == "ConditionalCheckFailed"


def test_streams() -> None:
    import boto3

    Person("smith", "ann", age=1).save()
    streams: Any = boto3.Session().client("dynamodbstreams")
    arn = Person.describe_table()["LatestStreamArn"]
    records = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        records += streams.get_records(ShardIterator=iterator)["Records"]
    [record] = records
    person = Person.from_raw_data(record["dynamodb"]["NewImage"])
    assert (person.name, person.age) == ("ann", 1)
