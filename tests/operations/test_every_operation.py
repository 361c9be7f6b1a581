"""Every operation of the service model is known, and docs/operations.md says how far it goes."""

import re
from pathlib import Path

import botocore.session
import msgspec
import pytest

import hashrange
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError, ValidationException
from hashrange.operations import OPERATIONS
from hashrange.operations.unsupported.absent import LISTS, NOT_FOUND

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
STATES = ("done", "partly")
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/table"
KINESIS = "arn:aws:kinesis:us-east-1:000000000000:stream/stream"
TABLE = {
    "TableName": "table",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def service_model() -> set[str]:
    session = botocore.session.get_session()
    return {
        name
        for service in ("dynamodb", "dynamodbstreams")
        for name in session.get_service_model(service).operation_names
    }


def documented() -> dict[str, str]:
    rows = re.findall(r"^\| ([A-Z]\w+) \| ([a-z ]+) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    return {name: state for name, state, _ in rows}


def test_the_service_models_operations_are_all_known() -> None:
    assert service_model() == set(OPERATIONS)


def test_the_page_lists_them_all_with_their_state() -> None:
    page = documented()
    assert set(page) == service_model()
    assert set(page.values()) <= set(STATES)


# The required members of operations without a typed structure.
REQUIRED = {
    "BackupArn": "arn:aws:dynamodb:us-east-1:000000000000:table/tab/backup/01489602797149-73d8abcd",
    "BulkOperationArn": "arn:aws:dynamodb:us-east-1:000000000000:table/table/bulk-operation/01",
    "ExportArn": "arn:aws:dynamodb:us-east-1:000000000000:table/table/export/01489602797149-73d8",
    "ImportArn": "arn:aws:dynamodb:us-east-1:000000000000:table/table/import/01489602797149-73d8",
    "GlobalTableName": "table",
    "TableName": "table",
}


@pytest.mark.parametrize("name", sorted(LISTS))
def test_lists_of_unsupported_resources_are_empty(name: str) -> None:
    with hashrange.connect() as db:
        assert db.execute(name, {}) == {LISTS[name]: []}


@pytest.mark.parametrize("name", sorted(NOT_FOUND))
def test_unsupported_resources_are_not_found(name: str) -> None:
    error, _, member = NOT_FOUND[name]
    with hashrange.connect() as db, pytest.raises(error):
        db.execute(name, {member: REQUIRED[member], "TargetTableName": "another"})


@pytest.mark.parametrize(
    ("name", "request_", "answer"),
    [
        (
            "DescribeContinuousBackups",
            {"TableName": "table"},
            {
                "ContinuousBackupsDescription": {
                    "ContinuousBackupsStatus": "ENABLED",
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
                }
            },
        ),
        (
            "DescribeContributorInsights",
            {"TableName": "table"},
            {"TableName": "table", "ContributorInsightsStatus": "DISABLED"},
        ),
        (
            "DescribeKinesisStreamingDestination",
            {"TableName": "table"},
            {"TableName": "table", "KinesisDataStreamDestinations": []},
        ),
        (
            "DescribeTimeToLive",
            {"TableName": "table"},
            {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}},
        ),
    ],
)
def test_descriptions_of_unsupported_features(
    name: str, request_: dict[str, str], answer: dict[str, object]
) -> None:
    with hashrange.connect() as db:
        db.execute("CreateTable", TABLE)
        assert db.execute(name, request_) == answer
        with pytest.raises(ApiError, match=r"Table not found|Requested resource not found"):
            db.execute(name, {"TableName": "another"})


def test_quotas_and_endpoints() -> None:
    with hashrange.connect(region="eu-west-1") as db:
        assert db.execute("DescribeLimits", {}) == {
            "AccountMaxReadCapacityUnits": 80_000,
            "AccountMaxWriteCapacityUnits": 80_000,
            "TableMaxReadCapacityUnits": 40_000,
            "TableMaxWriteCapacityUnits": 40_000,
        }
        [endpoint] = db.execute("DescribeEndpoints", {})["Endpoints"]
        address = "dynamodb.eu-west-1.amazonaws.com"
        assert endpoint == {"Address": address, "CachePeriodInMinutes": 1440}


def test_a_table_has_its_creators_region_and_account() -> None:
    caller = Caller("eu-west-1", "123456789012")
    with hashrange.connect() as db:
        created = db.runtime.call("CreateTable", msgspec.json.encode(TABLE), caller)
        arn = msgspec.json.decode(created)["TableDescription"]["TableArn"]
        assert arn == "arn:aws:dynamodb:eu-west-1:123456789012:table/table"


def test_tags_come_and_go() -> None:
    with hashrange.connect() as db:
        created = db.execute("CreateTable", {**TABLE, "Tags": [{"Key": "a", "Value": "1"}]})
        arn = created["TableDescription"]["TableArn"]
        new = [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": ""}]
        assert db.execute("TagResource", {"ResourceArn": arn, "Tags": new}) == {}
        assert db.execute("ListTagsOfResource", {"ResourceArn": arn}) == {"Tags": new}
        assert db.execute("UntagResource", {"ResourceArn": arn, "TagKeys": ["a", "c"]}) == {}
        assert db.execute("ListTagsOfResource", {"ResourceArn": arn}) == {"Tags": new[1:]}
        many = [{"Key": f"key{number}", "Value": ""} for number in range(50)]
        with pytest.raises(ValidationException):
            db.execute("TagResource", {"ResourceArn": arn, "Tags": many})
