"""The calls of Terraform and CloudFormation, in their order: they end without a difference.

The sequences follow the order in which these tools call the API: create, wait until active, make
the settings that CreateTable does not take, read everything, change, delete.
"""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import hashrange
from hashrange.model.errors import (
    PolicyNotFoundException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.settings import Settings

STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
KEY = "arn:aws:kms:us-east-1:000000000000:key/11111111-2222-3333-4444-555555555555"
POINT = "PointInTimeRecoveryDescription"
PRECISION = "ApproximateCreationDateTimePrecision"
NAMED = {"TableName": "orders"}
TABLE: dict[str, Any] = NAMED | {
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "DeletionProtectionEnabled": True,
    "SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY},
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "TableClass": "STANDARD",
    "Tags": [{"Key": "team", "Value": "shop"}],
}


class Tool:
    """A tool that calls the API; time passes between its calls."""

    def __init__(self, path: Path | None = None, **settings: Any) -> None:
        self.moment = 1_800_000_000.0
        given = Settings(table_delay=3, **settings)
        self.database = hashrange.connect(path, clock=self, settings=given)

    def now(self) -> float:
        return self.moment

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        self.moment += 5
        return self.database.execute(operation, NAMED | request)

    def read(self) -> dict[str, Any]:
        """Everything that the tools compare with a template."""
        table = self.call("DescribeTable")["Table"]
        tags = self.database.execute("ListTagsOfResource", {"ResourceArn": table["TableArn"]})
        return {
            "table": table,
            "tags": tags,
            "policy": self.policy(table["TableArn"]),
            **{
                name: self.call(f"Describe{name}")
                for name in (
                    *("TimeToLive", "ContinuousBackups", "ContributorInsights"),
                    "KinesisStreamingDestination",
                )
            },
        }

    def policy(self, arn: str) -> Any:
        """As the tools compare it: the order of members and the spaces do not matter."""
        try:
            found = self.database.execute("GetResourcePolicy", {"ResourceArn": arn})
        except PolicyNotFoundException:
            return None
        return json.loads(found["Policy"])

    def destinations(self) -> list[tuple[str, str | None]]:
        found = self.call("DescribeKinesisStreamingDestination")["KinesisDataStreamDestinations"]
        return [(each["DestinationStatus"], each.get(PRECISION)) for each in found]


def policy(principal: str = "arn:aws:iam::000000000000:role/reader") -> dict[str, Any]:
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": principal},
        "Action": ["dynamodb:GetItem", "dynamodb:Query"],
        "Resource": "arn:aws:dynamodb:us-east-1:000000000000:table/orders",
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def created(path: Path | None = None) -> Tool:
    tool = Tool(path)
    assert tool.database.execute("CreateTable", TABLE)["TableDescription"]["TableStatus"] == (
        "CREATING"
    )
    assert tool.call("DescribeTable")["Table"]["TableStatus"] == "ACTIVE"
    expiry = {"Enabled": True, "AttributeName": "until"}
    tool.call("UpdateTimeToLive", TimeToLiveSpecification=expiry)
    tool.call("UpdateContributorInsights", ContributorInsightsAction="ENABLE")
    backups = tool.call("DescribeContinuousBackups")["ContinuousBackupsDescription"]
    assert backups["ContinuousBackupsStatus"] == "ENABLED"
    tool.call("UpdateContinuousBackups", PointInTimeRecoverySpecification=recovery(True))
    arn = tool.call("DescribeTable")["Table"]["TableArn"]
    given = {"ResourceArn": arn, "Policy": json.dumps(policy(), indent=2)}
    tool.database.execute("PutResourcePolicy", given)
    if path is not None:
        return tool  # a file does not accept a destination that gets no records
    enabling = tool.call("EnableKinesisStreamingDestination", StreamArn=STREAM)
    assert enabling == NAMED | {"StreamArn": STREAM, "DestinationStatus": "ENABLING"}
    return tool


def recovery(enabled: bool, **more: Any) -> dict[str, Any]:
    return {"PointInTimeRecoveryEnabled": enabled, **more}


@pytest.mark.parametrize("in_file", [False, True])
def test_a_second_plan_has_no_difference(tmp_path: Path, in_file: bool) -> None:
    tool = created(tmp_path / "a.db" if in_file else None)
    state = tool.read()
    point = state["ContinuousBackups"]["ContinuousBackupsDescription"][POINT]
    again = tool.read()
    now = again["ContinuousBackups"]["ContinuousBackupsDescription"][POINT]
    for times in (point, now):  # they go on, and no tool compares them
        del times["LatestRestorableDateTime"]
        times.pop("EarliestRestorableDateTime")
    assert again == state
    assert point["PointInTimeRecoveryStatus"] == "ENABLED"
    assert point["RecoveryPeriodInDays"] == 35
    assert state["policy"] == policy()
    assert state["KinesisStreamingDestination"]["TableName"] == "orders"
    table = state["table"]
    assert table["DeletionProtectionEnabled"] is True
    assert table["SSEDescription"]["KMSMasterKeyArn"] == KEY
    assert table["TableClassSummary"]["TableClass"] == "STANDARD"
    assert state["tags"] == {"Tags": TABLE["Tags"]}
    assert state["TimeToLive"]["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    assert state["ContributorInsights"]["ContributorInsightsStatus"] == "ENABLED"
    assert tool.destinations() == ([] if in_file else [("ACTIVE", None)])
    tool.database.close()


def test_a_change_and_the_end() -> None:
    tool = created()
    changed = {"UpdateKinesisStreamingConfiguration": {PRECISION: "MICROSECOND"}}
    updating = tool.call("UpdateKinesisStreamingDestination", StreamArn=STREAM, **changed)
    assert updating == NAMED | {"StreamArn": STREAM, "DestinationStatus": "UPDATING"} | changed
    assert tool.destinations() == [("ACTIVE", "MICROSECOND")]
    with pytest.raises(ValidationException, match="already set to the desired value"):
        tool.call("UpdateKinesisStreamingDestination", StreamArn=STREAM, **changed)
    arn = tool.read()["table"]["TableArn"]
    later = json.dumps(policy("arn:aws:iam::000000000000:role/writer"))
    tool.database.execute("PutResourcePolicy", {"ResourceArn": arn, "Policy": later})
    assert tool.read()["policy"] == json.loads(later)
    tool.database.execute("DeleteResourcePolicy", {"ResourceArn": arn})
    assert tool.read()["policy"] is None
    shorter = recovery(True, RecoveryPeriodInDays=7)
    tool.call("UpdateContinuousBackups", PointInTimeRecoverySpecification=shorter)
    described = tool.call("DescribeContinuousBackups")["ContinuousBackupsDescription"]
    assert described[POINT]["RecoveryPeriodInDays"] == 7
    tool.call("UpdateContinuousBackups", PointInTimeRecoverySpecification=recovery(False))
    described = tool.call("DescribeContinuousBackups")["ContinuousBackupsDescription"]
    assert described[POINT]["PointInTimeRecoveryStatus"] == "DISABLED"
    tool.call("UpdateTable", SSESpecification={"Enabled": False})
    assert "SSEDescription" not in tool.read()["table"]
    with pytest.raises(ValidationException, match="protected against deletion"):
        tool.call("DeleteTable")
    disabling = tool.call("DisableKinesisStreamingDestination", StreamArn=STREAM)
    assert disabling["DestinationStatus"] == "DISABLING"
    assert tool.destinations() == [("DISABLED", None)]
    with pytest.raises(ValidationException, match="must be ACTIVE"):
        tool.call("DisableKinesisStreamingDestination", StreamArn=STREAM)
    tool.call("UpdateTable", DeletionProtectionEnabled=False)
    tool.call("DeleteTable")
    with pytest.raises(ResourceNotFoundException):
        tool.call("DescribeTable")


def test_a_destination_passes_through_its_statuses() -> None:
    tool = created()
    tool.call("DisableKinesisStreamingDestination", StreamArn=STREAM)
    configuration = {"EnableKinesisStreamingConfiguration": {PRECISION: "MICROSECOND"}}
    enabling = tool.call("EnableKinesisStreamingDestination", StreamArn=STREAM, **configuration)
    assert enabling["EnableKinesisStreamingConfiguration"] == {PRECISION: "MICROSECOND"}
    tool.moment -= 5  # the next call comes at the same time
    assert tool.destinations() == [("ENABLING", "MICROSECOND")]
    for stream in (STREAM, f"{STREAM}-2"):
        with pytest.raises(ValidationException, match=r"EnableKinesis.* must be DISABLED or"):
            tool.call("EnableKinesisStreamingDestination", StreamArn=stream)


def test_the_log_says_that_nothing_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="hashrange"):
        created()
    [line] = caplog.messages
    assert STREAM in line
    assert "no record is sent" in line


def test_a_file_accepts_only_what_it_has_until_it_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    tool = Tool(path)
    tool.database.execute("CreateTable", TABLE)
    with pytest.raises(ValidationException, match="not supported by this server"):
        tool.call("EnableKinesisStreamingDestination", StreamArn=STREAM)
    tool.database.close()
    tool = Tool(path, accept_unsupported=True)
    tool.call("EnableKinesisStreamingDestination", StreamArn=STREAM)
    tool.database.close()
    tool = Tool(path)  # what was kept stays
    tool.moment += 10
    assert tool.destinations() == [("ACTIVE", None)]
    tool.database.close()


def test_indexes_and_modes_change_one_at_a_time() -> None:
    """Terraform waits for each index and for the warm throughput, and deletes before it creates."""
    tool = created()
    index = {
        "IndexName": "by_kind",
        "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    kind = [*TABLE["AttributeDefinitions"], {"AttributeName": "kind", "AttributeType": "S"}]
    tool.call(
        "UpdateTable",
        AttributeDefinitions=kind,
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    tool.database.run_upkeep()
    table = tool.read()["table"]
    assert table["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    assert table["WarmThroughput"]["Status"] == "ACTIVE"
    assert table["GlobalSecondaryIndexes"][0]["WarmThroughput"]["Status"] == "ACTIVE"
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    tool.call(
        "UpdateTable",
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units,
        GlobalSecondaryIndexUpdates=[
            {"Update": {"IndexName": "by_kind", "ProvisionedThroughput": units}}
        ],
    )
    found = tool.read()["table"]["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]
    assert {name: found[name] for name in units} == units
    removed = [{"Delete": {"IndexName": "by_kind"}}]
    tool.call("UpdateTable", GlobalSecondaryIndexUpdates=removed)
    tool.database.run_upkeep()
    assert "GlobalSecondaryIndexes" not in tool.read()["table"]
