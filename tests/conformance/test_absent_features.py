"""Operations on features that are absent: backups, exports, replicas, insights, destinations."""

from typing import Any

import pytest

from .support import Client, NewTable, Table, call, cases, gsi, lsi, refused

NOT_FOUND = "ResourceNotFoundException: Requested resource not found: "
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/absent"
INDEX = "Index: {} not found for table: {}"
BOUNDS = "{} must be at least 3 characters long and at most 255 characters long"
NOT_GLOBAL = "Global table with name: 'absent' does not exist."
LEGACY = (
    "ValidationException: One or more parameter values were invalid: DynamoDB global tables "
    "version 2017.11.29 is not supported. We recommend using DynamoDB global tables version "
    "2019.11.21, instead of version 2017.11.29 (Legacy)."
)
NO_INSIGHTS = {"ContributorInsightsStatus": "DISABLED"}


@pytest.fixture(scope="module")
def plain_table(new_shared_table: NewTable) -> Table:
    return new_shared_table("pk/sk", gsi("byOwner", "owner"), lsi("byDate", "pk/date"))


# (operation, parameters, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("DescribeBackup", {"BackupArn": ""}, "ValidationException: Invalid Backup ARN"),
    ("DescribeBackup", {"BackupArn": ARN}, "ValidationException: Invalid Backup ARN"),
    ("DeleteBackup", {"BackupArn": ARN}, "ValidationException: Invalid Backup ARN"),
    ("DescribeBackup", {"BackupArn": f"{ARN}/backup/01"}, "BackupNotFoundException: …"),
    ("DeleteBackup", {"BackupArn": f"{ARN}/backup/01"}, "BackupNotFoundException: …"),
    ("DescribeExport", {"ExportArn": ARN}, "ValidationException: Invalid Export ARN"),
    ("DescribeExport", {"ExportArn": f"{ARN}/export/01"}, "ExportNotFoundException: …"),
    ("DescribeImport", {"ImportArn": "x"}, "ValidationException: Invalid Import ARN"),
    ("DescribeImport", {"ImportArn": f"{ARN}/import/01"}, "ImportNotFoundException: …"),
    (
        "DescribeGlobalTable",
        {"GlobalTableName": "absent"},
        f"GlobalTableNotFoundException: Global table not found: {NOT_GLOBAL}",
    ),
    (
        "DescribeGlobalTableSettings",
        {"GlobalTableName": "absent"},
        f"GlobalTableNotFoundException: {NOT_GLOBAL}",
    ),
    (
        "UpdateGlobalTableSettings",
        {"GlobalTableName": "absent", "GlobalTableBillingMode": "PROVISIONED"},
        f"GlobalTableNotFoundException: {NOT_GLOBAL}",
    ),
    (
        "DescribeGlobalTable",
        {"GlobalTableName": "ab"},
        "ValidationException: " + BOUNDS.format("TableName"),
    ),
    (
        "DescribeTableReplicaAutoScaling",
        {"TableName": "absent"},
        f"ResourceNotFoundException: {NOT_GLOBAL}",
    ),
    (
        "UpdateTableReplicaAutoScaling",
        {"TableName": "absent"},
        f"ResourceNotFoundException: {NOT_GLOBAL}",
    ),
    (
        "CreateGlobalTable",
        {"GlobalTableName": "absent", "ReplicationGroup": [{"RegionName": "us-east-1"}]},
        LEGACY,
    ),
    *(
        (
            "UpdateGlobalTable",
            {"GlobalTableName": "absent", "ReplicaUpdates": updates},
            refusal,
        )
        for updates, refusal in [
            ([], "ValidationException: One or more parameter values were invalid"),
            ([{"Create": {"RegionName": "us-east-1"}}], LEGACY),
            (
                [{"Delete": {"RegionName": "us-east-1"}}],
                f"GlobalTableNotFoundException: {NOT_GLOBAL}",
            ),
        ]
    ),
    (
        "DescribeContinuousBackups",
        {"TableName": "absent"},
        "TableNotFoundException: Table not found: absent",
    ),
    *(
        (operation, {"TableName": "absent"}, f"{NOT_FOUND}Table: absent not found")
        for operation in (
            "DescribeContributorInsights",
            "DescribeKinesisStreamingDestination",
            "DescribeTimeToLive",
            "ListContributorInsights",
        )
    ),
    (
        "DescribeContributorInsights",
        {"TableName": "absent", "IndexName": "x"},
        "ValidationException: " + BOUNDS.format("IndexName"),
    ),
]


@cases("operation, parameters, refusal", REFUSED)
def test_missing_resources(
    client: Client, operation: str, parameters: dict[str, Any], refusal: str
) -> None:
    refused(refusal, call, client, operation, **parameters)


def test_tables_are_not_global(plain_table: Table) -> None:
    refusal = f"ResourceNotFoundException: Global table with name: '{plain_table.name}' does …"
    plain_table.refused(refusal, "DescribeTableReplicaAutoScaling")


def test_tables_and_global_indexes_have_insights(plain_table: Table) -> None:
    name = {"TableName": plain_table.name}
    operation = "DescribeContributorInsights"
    assert plain_table.call(operation) == {**name, **NO_INSIGHTS}
    index = {"IndexName": "byOwner"}
    assert plain_table.call(operation, **index) == {**name, **index, **NO_INSIGHTS}
    for absent in ("byDate", "ghost"):
        refusal = NOT_FOUND + INDEX.format(absent, plain_table.name)
        plain_table.refused(refusal, operation, IndexName=absent)
    found = plain_table.call("ListContributorInsights")
    assert found == {"ContributorInsightsSummaries": []}


def test_only_an_active_destination_can_be_changed(plain_table: Table) -> None:
    stream = "arn:aws:kinesis:us-east-1:000000000000:stream/absent"
    invalid = "ValidationException: Table is not in a valid state to enable Kinesis Streaming " + (
        "Destination: "
    )
    plain_table.refused(
        invalid + "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.",
        "DisableKinesisStreamingDestination",
        StreamArn=stream,
    )
    plain_table.refused(
        invalid + "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE "
        f"state. TableName: {plain_table.name}, kdsArn: {stream}",
        "UpdateKinesisStreamingDestination",
        StreamArn=stream,
    )


def test_a_table_without_backups(plain_table: Table) -> None:
    assert plain_table.call("ListBackups") == {"BackupSummaries": []}
    described = plain_table.call("DescribeContinuousBackups")["ContinuousBackupsDescription"]
    assert described["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}
