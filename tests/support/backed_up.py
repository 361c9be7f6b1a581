"""A table to back up, random writes to it, and a server whose clock and upkeep a test moves."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
import pytest

from hashrange import Settings
from hashrange.model.errors import ApiError
from hashrange.runtime.clock import Clock
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage.memory import MemoryStore
from hashrange.testing import TestClock
from hashrange.upkeep.integrity import problems
from hashrange.upkeep.upkeep import Upkeep

START = datetime(2026, 11, 24, 4, 25, 58, tzinfo=UTC).timestamp()
DAY = 24 * 60 * 60
KEY = [
    {"AttributeName": "pk", "KeyType": "HASH"},
    {"AttributeName": "sk", "KeyType": "RANGE"},
]
BY_GROUP = [{"AttributeName": "group", "KeyType": "HASH"}]
BY_PLACE = [KEY[0], {"AttributeName": "group", "KeyType": "RANGE"}]
ALL, KEYS_ONLY = {"ProjectionType": "ALL"}, {"ProjectionType": "KEYS_ONLY"}
TABLE: dict[str, Any] = {
    "TableName": "source",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "group")
    ],
    "KeySchema": KEY,
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [{"IndexName": "byGroup", "KeySchema": BY_GROUP, "Projection": ALL}],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "byPlace",
            "KeySchema": BY_PLACE,
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
NAMED = {"TableName": "source"}
RECOVERY = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}


def write_something(db: Any, random: Random) -> None:
    """Put, change or delete one of 60 items, alone or with another in a transaction."""
    keys = [
        {"pk": {"S": f"p{number % 7}"}, "sk": {"S": str(number)}}
        for number in random.sample(range(60), 2)
    ]
    item = {**keys[0], "group": {"S": random.choice("abc")}, "n": {"N": str(random.random())}}
    match random.randrange(4):
        case 0:
            db.execute("DeleteItem", {**NAMED, "Key": keys[0]})
        case 1:
            writes = [{"Put": {**NAMED, "Item": item}}, {"Delete": {**NAMED, "Key": keys[1]}}]
            db.execute("TransactWriteItems", {"TransactItems": writes})
        case _:
            db.execute("PutItem", {**NAMED, "Item": item})


def contents(db: Any, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.execute("Scan", {"TableName": table})["Items"]
    return found


def create_backup(db: Any, name: str = "backup") -> str:
    created = db.execute("CreateBackup", {**NAMED, "BackupName": name})["BackupDetails"]
    assert created["BackupStatus"] == "CREATING"
    arn: str = created["BackupArn"]
    return arn


def restore(db: Any, arn: str, target: str, **overrides: Any) -> dict[str, Any]:
    request = {"BackupArn": arn, "TargetTableName": target, **overrides}
    described: dict[str, Any] = db.execute("RestoreTableFromBackup", request)["TableDescription"]
    assert described["TableStatus"] == "CREATING"
    return described


class Server:
    """A runtime in memory, whose clock and whose upkeep the test moves."""

    def __init__(self) -> None:
        self.clock = TestClock(START)
        self.store = MemoryStore()
        self.runtime = Runtime(self.store, Clock(self.clock.now), Settings())
        self.upkeep = Upkeep(self.runtime)
        self.execute("CreateTable", TABLE)

    def execute(self, operation: str, request: dict[str, Any]) -> Any:
        return msgspec.json.decode(
            self.runtime.call(operation, msgspec.json.encode(request)) or b"{}"
        )

    def finish(self) -> None:
        while self.upkeep.run_once():
            pass

    def refused(self, refusal: str, operation: str, request: dict[str, Any]) -> None:
        with pytest.raises(ApiError) as caught:
            self.execute(operation, request)
        assert f"{caught.value.code}: {caught.value.message}" == refusal

    def spaces(self) -> set[int]:
        return set(self.store._spaces.live) | set(self.store._spaces.dropped)


@pytest.fixture
def server() -> Server:
    return Server()


def backups_while_others_write(server: Server, random: Random) -> int:
    """How many backups were restored: each is exactly the table as it was when it was made."""
    cuts: dict[str, list[dict[str, Any]]] = {}
    for step in range(400):
        write_something(server, random)
        if random.random() < 0.02:
            cuts[create_backup(server, f"step{step}")] = contents(server, "source")
        if random.random() < 0.1:
            server.upkeep.run_once()
    for number, arn in enumerate(cuts):
        restore(server, arn, f"copy{number}")
        write_something(server, random)
    if random.random() < 0.5:
        server.execute("DeleteTable", NAMED)
    server.finish()
    for number, cut in enumerate(cuts.values()):
        assert contents(server, f"copy{number}") == cut
    assert list(problems(server.store)) == []
    return len(cuts)


def moments_come_back(server: Server, random: Random) -> int:
    """How many moments were restored: at each the table is exactly as it was then."""
    write_something(server, random)
    server.execute("UpdateContinuousBackups", {**NAMED, **RECOVERY})
    states = {server.clock.now(): contents(server, "source")}
    for _ in range(300):
        write_something(server, random)
        states[server.clock.now()] = contents(server, "source")  # after the last write of a time
        if random.random() < 0.5:
            server.clock.advance(random.choice((0.125, 0.25, 20, 900)))
        if random.random() < 0.1:
            server.upkeep.run_once()
    server.clock.advance(301)
    wanted = {f"copy{number}": time for number, time in enumerate(random.sample([*states], 15))}
    for name, time in wanted.items():
        request = {"SourceTableName": "source", "TargetTableName": name, "RestoreDateTime": time}
        answer = server.execute("RestoreTableToPointInTime", request)["TableDescription"]
        assert answer["RestoreSummary"]["RestoreDateTime"] == round(time, 3)
        write_something(server, random)
        server.upkeep.run_once()
    server.finish()
    for name, time in wanted.items():
        assert contents(server, name) == states[time], name
    assert list(problems(server.store)) == []
    assert server.execute("ListBackups", {"BackupType": "ALL"}) == {"BackupSummaries": []}
    return len(wanted)
