"""How often the billing mode may change, and what a change does to the history of throughput."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

import hashrange
from hashrange.testing import TestClock

START = datetime(2026, 10, 9, 20, 21, 34, tzinfo=UTC).timestamp()
HOUR = 60 * 60
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
INDEX = {
    "IndexName": "byOwner",
    "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}


class Tables:
    def __init__(self, database: hashrange.Database, clock: TestClock) -> None:
        self.clock = clock
        self.client: Any = database.boto3_session().client("dynamodb")

    def create(self, **parameters: Any) -> None:
        self.client.create_table(
            TableName="table",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "owner")
            ],
            **parameters,
        )

    def update(self, **parameters: Any) -> dict[str, Any]:
        """The answer's description of the table."""
        answer = self.client.update_table(TableName="table", **parameters)
        return dict(answer["TableDescription"])

    def describe(self) -> dict[str, Any]:
        return dict(self.client.describe_table(TableName="table")["Table"])

    def to_on_demand(self) -> dict[str, Any]:
        return self.update(BillingMode="PAY_PER_REQUEST")

    def to_provisioned(self, **units: int) -> dict[str, Any]:
        throughput = {"ProvisionedThroughput": {**UNITS, **units}}
        update = {"Update": {"IndexName": "byOwner", **throughput}}
        return self.update(
            BillingMode="PROVISIONED", **throughput, GlobalSecondaryIndexUpdates=[update]
        )

    def refused(self, message: str) -> None:
        before = self.describe()
        with pytest.raises(ClientError) as caught:
            self.to_on_demand()
        assert caught.value.response["Error"] == {
            "Code": "LimitExceededException",
            "Message": message,
        }
        assert self.describe() == before


@pytest.fixture
def tables() -> Iterator[Tables]:
    clock = TestClock(START)
    with hashrange.connect(clock=clock) as database:
        yield Tables(database, clock)


@pytest.fixture
def provisioned(tables: Tables) -> Tables:
    index = {**INDEX, "ProvisionedThroughput": UNITS}
    tables.create(
        BillingMode="PROVISIONED", ProvisionedThroughput=UNITS, GlobalSecondaryIndexes=[index]
    )
    return tables


@pytest.fixture
def on_demand(tables: Tables) -> Tables:
    tables.create(BillingMode="PAY_PER_REQUEST", GlobalSecondaryIndexes=[INDEX])
    return tables


def refusal(last: str, following: str) -> str:
    return (
        "Subscriber limit exceeded: Update to PayPerRequest mode are limited to 4 in 1 day(s)."
        f" Last update at {last}. Next update can be made at {following}"
    )


def test_the_fifth_switch_within_24_hours_is_refused(provisioned: Tables) -> None:
    for _ in range(4):
        provisioned.clock.advance(HOUR)
        provisioned.to_on_demand()
        provisioned.to_on_demand()  # changes nothing and does not count
        provisioned.to_provisioned()
    message = refusal("Sat Oct 10 00:21:34 UTC 2026", "Sat Oct 10 21:21:34 UTC 2026")
    provisioned.refused(message)
    provisioned.clock.advance(21 * HOUR - 1)
    provisioned.refused(message)
    provisioned.clock.advance(1)
    provisioned.to_on_demand()
    provisioned.to_provisioned()  # is never refused
    message = refusal("Sat Oct 10 21:21:34 UTC 2026", "Sat Oct 10 22:21:34 UTC 2026")
    provisioned.refused(message)


def test_a_table_created_on_demand_has_switched_once(on_demand: Tables) -> None:
    for _ in range(3):
        on_demand.clock.advance(HOUR)
        on_demand.to_provisioned()
        on_demand.to_on_demand()
    on_demand.to_provisioned()
    message = refusal("Fri Oct 09 23:21:34 UTC 2026", "Sat Oct 10 20:21:34 UTC 2026")
    on_demand.refused(message)


def at(hours: int) -> datetime:
    return datetime.fromtimestamp(START + hours * HOUR, UTC)


def throughput(described: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the table and of its index."""
    [index] = described["GlobalSecondaryIndexes"]
    return described["ProvisionedThroughput"], index["ProvisionedThroughput"]


def test_a_switch_to_on_demand_counts_as_a_decrease_of_the_indexes(provisioned: Tables) -> None:
    none = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0}
    provisioned.clock.advance(HOUR)
    answer = provisioned.to_on_demand()
    assert answer["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert throughput(answer) == ({**none, "LastDecreaseDateTime": at(1)}, none)
    decreased = {**none, "NumberOfDecreasesToday": 1, "LastDecreaseDateTime": at(1)}
    assert throughput(provisioned.describe()) == (none, decreased)
    provisioned.clock.advance(HOUR)
    answer = provisioned.to_provisioned()
    assert throughput(answer) == (
        {**none, **UNITS, "LastIncreaseDateTime": at(2)},
        {**decreased, **UNITS},
    )
    increased = {**decreased, **UNITS, "LastIncreaseDateTime": at(2)}
    assert throughput(provisioned.describe()) == ({**none, **UNITS}, increased)


def test_the_switch_counts_although_the_decreases_of_the_day_are_spent(
    provisioned: Tables,
) -> None:
    for read in (4, 3, 2, 1):
        units = {"ReadCapacityUnits": read, "WriteCapacityUnits": 5}
        update = {"Update": {"IndexName": "byOwner", "ProvisionedThroughput": units}}
        provisioned.update(GlobalSecondaryIndexUpdates=[update])
    provisioned.to_on_demand()
    _, index = throughput(provisioned.describe())
    assert index["NumberOfDecreasesToday"] == 5


def test_the_answer_shows_when_the_table_was_last_switched_before(on_demand: Tables) -> None:
    def shown(mode: str, hours: int) -> dict[str, Any]:
        return {"BillingMode": mode, "LastUpdateToPayPerRequestDateTime": at(hours)}

    on_demand.clock.advance(HOUR)
    answers = [on_demand.to_on_demand(), on_demand.to_provisioned(), on_demand.to_on_demand()]
    assert [answer["BillingModeSummary"] for answer in answers] == [
        shown("PAY_PER_REQUEST", 0),
        shown("PROVISIONED", 0),
        shown("PAY_PER_REQUEST", 0),
    ]
    assert on_demand.describe()["BillingModeSummary"] == shown("PAY_PER_REQUEST", 1)
