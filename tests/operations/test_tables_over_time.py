"""States of tables and indexes, with a clock and an upkeep that the test moves."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from hashrange import Settings
from hashrange.model.errors import (
    ApiError,
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.runtime.clock import Clock
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage.memory import MemoryStore
from hashrange.testing import TestClock
from hashrange.upkeep.upkeep import Upkeep

START = datetime(2026, 10, 9, 20, 21, 34, tzinfo=UTC).timestamp()
HOUR = 60 * 60
DELAY = 5.0
BACKUPS = "ContinuousBackups"
IN_USE = "Attempt to change a resource which is still in use: "
KEY = [{"AttributeName": "pk", "KeyType": "HASH"}]
OWNER = [{"AttributeName": "owner", "KeyType": "HASH"}]


def string(name: str) -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": "S"}


def index(name: str) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": OWNER, "Projection": {"ProjectionType": "KEYS_ONLY"}}


class Server:
    """A runtime without a thread of upkeep."""

    def __init__(self, settings: Settings) -> None:
        self.clock = TestClock(START)
        self.store = MemoryStore()
        self.runtime = Runtime(self.store, Clock(self.clock.now), settings)
        self.upkeep = Upkeep(self.runtime)

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        request = {"TableName": "table", **parameters}
        answer = self.runtime.call(operation, msgspec.json.encode(request))
        return msgspec.json.decode(answer, type=dict[str, Any])

    def refused(self, error: type[ApiError], message: str, operation: str, **more: Any) -> None:
        with pytest.raises(error) as caught:
            self.call(operation, **more)
        assert caught.value.message == message

    def create(self, *indexes: str, **parameters: Any) -> None:
        definitions = [string("pk"), *([string("owner")] if indexes else [])]
        given = [index(name) for name in indexes]
        self.call(
            "CreateTable",
            AttributeDefinitions=definitions,
            KeySchema=KEY,
            **({"GlobalSecondaryIndexes": given} if given else {}),
            **(parameters or {"BillingMode": "PAY_PER_REQUEST"}),
        )

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = self.call("DescribeTable")["Table"]
        return described

    def statuses(self) -> list[Any]:
        """Of the table, and of each index with Backfilling."""
        description = self.describe()
        return [
            description["TableStatus"],
            *(
                (shown["IndexStatus"], shown.get("Backfilling"))
                for shown in description.get("GlobalSecondaryIndexes", ())
            ),
        ]


@pytest.fixture
def server() -> Server:
    return Server(Settings())


# ---- a table that is being created ----


@pytest.fixture
def slow() -> Iterator[Server]:
    """A server whose table is just being created."""
    server = Server(Settings(table_delay=DELAY))
    server.create("byOwner")
    yield server
    server.clock.advance(DELAY)
    assert server.statuses() == ["ACTIVE", ("ACTIVE", None)]


ITEM = {"pk": {"S": "a"}}
ON_DEMAND = {"BillingMode": "PAY_PER_REQUEST"}
PLAIN = {"AttributeDefinitions": [string("pk")], "KeySchema": KEY, **ON_DEMAND}
CREATED = IN_USE + "Table is being created: table"

# (operation, its parameters, the error, its message)
WHILE_CREATING: list[tuple[str, dict[str, Any], type[ApiError], str]] = [
    ("CreateTable", PLAIN, ResourceInUseException, CREATED),
    ("UpdateTable", {"DeletionProtectionEnabled": True}, ResourceInUseException, CREATED),
    ("DeleteTable", {}, ResourceInUseException, CREATED),
    ("PutItem", {"Item": ITEM}, ResourceNotFoundException, "Requested resource not found"),
    ("GetItem", {"Key": ITEM}, ResourceNotFoundException, "Requested resource not found"),
    ("Scan", {}, ResourceNotFoundException, "Requested resource not found"),
]


@pytest.mark.parametrize(("operation", "parameters", "error", "message"), WHILE_CREATING)
def test_a_table_that_is_created(
    slow: Server, operation: str, parameters: dict[str, Any], error: type[ApiError], message: str
) -> None:
    slow.refused(error, message, operation, **parameters)


def test_a_table_is_described_while_it_is_created(slow: Server) -> None:
    assert slow.statuses() == ["CREATING", ("CREATING", None)]
    description = slow.describe()
    assert description["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert "WarmThroughput" not in str(description)
    assert slow.call("ListTables", TableName=None)["TableNames"] == ["table"]
    slow.clock.advance(DELAY - 1)
    assert slow.statuses()[0] == "CREATING"


def test_backups_are_enabled_when_a_table_is_there(slow: Server) -> None:
    def status() -> str:
        answer = slow.call(f"Describe{BACKUPS}")[f"{BACKUPS}Description"]
        assert answer["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}
        found: str = answer["ContinuousBackupsStatus"]
        return found

    assert status() == "DISABLED"
    never = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}}
    for operation, given in ("CreateBackup", {"BackupName": "b01"}), (f"Update{BACKUPS}", never):
        slow.refused(TableNotFoundException, "Table not found: table", operation, **given)
    slow.clock.advance(DELAY)
    assert status() == "ENABLED"


# ---- an index that is built ----

CREATE = {
    "AttributeDefinitions": [string("owner")],
    "GlobalSecondaryIndexUpdates": [{"Create": index("new")}],
}
CREATE_ANOTHER = {
    "AttributeDefinitions": [string("owner")],
    "GlobalSecondaryIndexUpdates": [{"Create": index("more")}],
}
ONE_AT_A_TIME = (
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per"
    " table"
)


def deleted(name: str) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}


def capped(name: str) -> dict[str, Any]:
    maxima = {"MaxReadRequestUnits": 5}
    update = {"Update": {"IndexName": name, "OnDemandThroughput": maxima}}
    return {"GlobalSecondaryIndexUpdates": [update]}


@pytest.fixture
def building(server: Server) -> Server:
    """An index `old`, and an index `new` in the first phase of its build."""
    server.create("old")
    for number in range(600):
        server.call("PutItem", Item={"pk": {"S": str(number)}, "owner": {"S": "o"}})
    server.call("UpdateTable", **CREATE)
    return server


# (operation, its parameters, the error, its message; in the first phase of a build)
FIRST_PHASE: list[tuple[str, dict[str, Any], type[ApiError], str]] = [
    (
        "UpdateTable",
        deleted("new"),
        ResourceInUseException,
        IN_USE + "Index creation is in resource allocation phase. Retry deletion during"
        " backfilling phase or when the index is active. Table: table Index: new",
    ),
    (
        "UpdateTable",
        capped("new"),
        ResourceInUseException,
        IN_USE + "Index is being created but is not backfilling yet.  Table: table Index: new",
    ),
    (
        "UpdateTable",
        {"BillingMode": "PAY_PER_REQUEST"},
        ResourceInUseException,
        IN_USE + "Can't change table IOPS when an index is being created. Table: table Indexes:"
        " [new]",
    ),
    (
        "UpdateTable",
        {"OnDemandThroughput": {"MaxReadRequestUnits": 5}},
        ResourceInUseException,
        IN_USE + "OnDemandThroughput cannot be updated while index creation is in progress for"
        " indexes: [new]",
    ),
    (
        "UpdateTable",
        {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
        ResourceInUseException,
        IN_USE + "Can't change stream status when an index is being created. Table: table Indexes:"
        " [new]",
    ),
]
# in both phases
BUILDING: list[tuple[str, dict[str, Any], type[ApiError], str]] = [
    (
        "DeleteTable",
        {},
        ResourceInUseException,
        IN_USE + "Cannot delete table while indexes are being created, updated, or deleted.",
    ),
    ("UpdateTable", CREATE_ANOTHER, LimitExceededException, ONE_AT_A_TIME),
    ("UpdateTable", deleted("old"), LimitExceededException, ONE_AT_A_TIME),
    (
        "UpdateTable",
        CREATE,
        ResourceInUseException,
        IN_USE + "Index is being created.  Table: table Index: new",
    ),
    (
        "Scan",
        {"IndexName": "new"},
        ValidationException,
        "Cannot read from backfilling global secondary index: new",
    ),
    (
        "Query",
        {
            "IndexName": "new",
            "KeyConditionExpression": "#o = :o",
            "ExpressionAttributeNames": {"#o": "owner"},
            "ExpressionAttributeValues": {":o": {"S": "o"}},
        },
        ValidationException,
        "Cannot read from backfilling global secondary index: new",
    ),
]


@pytest.mark.parametrize(("operation", "parameters", "error", "message"), FIRST_PHASE + BUILDING)
def test_the_first_phase_of_a_build(
    building: Server,
    operation: str,
    parameters: dict[str, Any],
    error: type[ApiError],
    message: str,
) -> None:
    assert building.statuses() == ["UPDATING", ("ACTIVE", None), ("CREATING", False)]
    building.refused(error, message, operation, **parameters)


@pytest.mark.parametrize(("operation", "parameters", "error", "message"), BUILDING)
def test_the_second_phase_of_a_build(
    building: Server,
    operation: str,
    parameters: dict[str, Any],
    error: type[ApiError],
    message: str,
) -> None:
    building.upkeep.run_once()
    assert building.statuses() == ["ACTIVE", ("ACTIVE", None), ("CREATING", True)]
    building.refused(error, message, operation, **parameters)


# Updates that are accepted in the first phase already
ADMITTED: list[dict[str, Any]] = [
    {"DeletionProtectionEnabled": False},
    {"SSESpecification": {"Enabled": True}},
    {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
    capped("old"),
]


@pytest.mark.parametrize("parameters", ADMITTED)
def test_settings_change_during_a_build(building: Server, parameters: dict[str, Any]) -> None:
    building.call("UpdateTable", **parameters)
    assert building.statuses() == ["UPDATING", ("ACTIVE", None), ("CREATING", False)]


def test_a_build_comes_to_its_end(building: Server) -> None:
    steps = 0
    while building.upkeep.run_once():
        steps += 1
    assert steps > 2, "a build is made of steps, so that others are served between them"
    assert building.statuses() == ["ACTIVE", ("ACTIVE", None), ("ACTIVE", None)]
    assert building.call("Scan", IndexName="new")["Count"] == 600
    [old, new] = building.describe()["GlobalSecondaryIndexes"]
    assert new["ItemCount"] == old["ItemCount"] == 600
    assert new["IndexSizeBytes"] == old["IndexSizeBytes"] > 0
    building.call("DeleteTable")


def test_an_index_is_deleted_in_the_midst_of_its_build(building: Server) -> None:
    building.upkeep.run_once()
    building.upkeep.run_once()
    answer = building.call("UpdateTable", **deleted("new"))["TableDescription"]
    [_, shown] = answer["GlobalSecondaryIndexes"]
    assert shown["IndexStatus"] == "DELETING"
    assert "Backfilling" not in shown
    while building.upkeep.run_once():
        pass
    assert building.statuses() == ["ACTIVE", ("ACTIVE", None)]
    building.call("UpdateTable", **CREATE)  # its name is free


# ---- provisioned throughput may not always fall ----


def provision(server: Server, read: int, write: int = 10) -> dict[str, Any]:
    units = {"ReadCapacityUnits": read, "WriteCapacityUnits": write}
    answer = server.call("UpdateTable", ProvisionedThroughput=units)
    described: dict[str, Any] = answer["TableDescription"]["ProvisionedThroughput"]
    return described


@pytest.fixture
def spent(server: Server) -> Server:
    """A table whose throughput fell four times today, a minute apart, to 6."""
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10}
    server.create(BillingMode="PROVISIONED", ProvisionedThroughput=units)
    for read in (9, 8, 7, 6):
        server.clock.advance(60)
        provision(server, read)
    return server


def in_words(hour: int, minute: int, day: str = "Friday, October 9") -> str:
    half = "AM" if hour < 12 else "PM"
    return f"{day}, 2026 at {hour % 12 or 12}:{minute}:34 {half} Coordinated Universal Time"


def refusal(count: int, last: str, following: str) -> str:
    return (
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC"
        " day. After the first 4 decreases, each subsequent decrease in the same UTC day can be"
        f" performed at most once every 3600 seconds. Number of decreases today: {count}."
        f" Last decrease at {last}. Next decrease can be made at {following}"
    )


def test_a_fifth_decrease_waits_for_an_hour(spent: Server) -> None:
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 20}  # also if the other unit rises
    message = refusal(4, in_words(20, 25), in_words(21, 25))
    spent.refused(LimitExceededException, message, "UpdateTable", ProvisionedThroughput=units)
    assert spent.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 4
    provision(spent, 7)  # it may rise
    spent.clock.advance(HOUR - 1)
    spent.refused(LimitExceededException, message, "UpdateTable", ProvisionedThroughput=units)
    spent.clock.advance(1)
    answer = provision(spent, 5)
    assert answer["NumberOfDecreasesToday"] == 4
    shown = spent.describe()["ProvisionedThroughput"]
    assert (shown["NumberOfDecreasesToday"], shown["ReadCapacityUnits"]) == (5, 5)
    message = refusal(5, in_words(21, 25), in_words(22, 25))
    units = {"ReadCapacityUnits": 4, "WriteCapacityUnits": 10}
    spent.refused(LimitExceededException, message, "UpdateTable", ProvisionedThroughput=units)


def test_a_new_day_begins_at_midnight(spent: Server) -> None:
    spent.clock.advance(3 * HOUR)  # 23:25:34
    provision(spent, 5)
    units = {"ReadCapacityUnits": 4, "WriteCapacityUnits": 10}
    last = in_words(23, 25)
    following = "Saturday, October 10, 2026 at 12:00:00 AM Coordinated Universal Time"
    message = refusal(5, last, following)
    spent.refused(LimitExceededException, message, "UpdateTable", ProvisionedThroughput=units)
    spent.clock.advance(35 * 60)  # 00:00:34
    before = spent.describe()["ProvisionedThroughput"]
    assert before["NumberOfDecreasesToday"] == 0
    assert before["LastDecreaseDateTime"] == START + 240 + 3 * HOUR
    assert provision(spent, 4)["NumberOfDecreasesToday"] == 0
    assert spent.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1
