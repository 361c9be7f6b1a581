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
NO_TABLE = "TableNotFoundException: Table not found: "
ONE_SOURCE = "ValidationException: Must provide exactly one of: sourceTableArn, sourceTableName"
SPECIFICATION, ENABLED = "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"
KINESIS = "arn:aws:kinesis:us-east-1:000000000000:stream/absent"
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
    *(
        (operation, {member: arn}, f"ValidationException: Invalid {kind} ARN")
        for operation, member, kind in (
            ("DescribeBackup", "BackupArn", "Backup"),
            ("DescribeExport", "ExportArn", "Export"),
            ("DescribeImport", "ImportArn", "Import"),
        )
        for arn in (  # the table's name is too short, too long, or has a character that none has
            ARN.replace("absent", f"{name}/{kind.lower()}/01658528578619-c4d4e311")
            for name in ("x", "x" * 256, "ab!")
        )
    ),
    *(
        (operation, {"NextToken": token}, "ValidationException: …")
        for operation in ("ListExports", "ListImports")
        for token in ("0" * 112, "0123456789abcdef" * 16)
    ),
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
            ([{}], "ValidationException: One or more parameter values were invalid"),
            ([{"Create": {"RegionName": "us-east-1"}}], LEGACY),
            (
                [{"Delete": {"RegionName": "us-east-1"}}],
                f"GlobalTableNotFoundException: {NOT_GLOBAL}",
            ),
        ]
    ),
    ("CreateBackup", {"TableName": "absent", "BackupName": "backup"}, f"{NO_TABLE}absent"),
    ("DescribeContinuousBackups", {"TableName": "absent"}, f"{NO_TABLE}absent"),
    *(
        (
            "UpdateContinuousBackups",
            {"TableName": "absent", SPECIFICATION: {ENABLED: enabled}},
            f"{NO_TABLE}absent",
        )
        for enabled in (True, False)
    ),
    (
        "UpdateContinuousBackups",
        {"TableName": "absent", SPECIFICATION: {ENABLED: False, "RecoveryPeriodInDays": 3}},
        "ValidationException: Invalid Request: Cannot specify RecoveryPeriodInDays when "
        "disabling point-in-time recovery.",
    ),
    (
        "ListBackups",
        {"TimeRangeLowerBound": 5, "TimeRangeUpperBound": 4},
        "ValidationException: One or more parameter values were invalid: Time range lower bound "
        "must be less than or equal to upper bound",
    ),
    (
        "RestoreTableFromBackup",
        {"TargetTableName": "target", "BackupArn": f"{ARN}/backup/01"},
        f"BackupNotFoundException: Backup not found: {ARN}/backup/01",
    ),
    (
        "RestoreTableFromBackup",
        {"TargetTableName": "", "BackupArn": f"{ARN}/backup/01"},
        "ValidationException: " + BOUNDS.format("TableName"),
    ),
    ("RestoreTableToPointInTime", {"TargetTableName": "target"}, ONE_SOURCE),
    (
        "RestoreTableToPointInTime",
        {"TargetTableName": "target", "SourceTableName": "absent", "SourceTableArn": ARN},
        ONE_SOURCE,
    ),
    *(
        ("RestoreTableToPointInTime", {"TargetTableName": "target", **source}, f"{NO_TABLE}absent")
        for source in ({"SourceTableName": "absent"}, {"SourceTableArn": ARN})
    ),
    ("ExportTableToPointInTime", {"TableArn": ARN, "S3Bucket": "bucket"}, f"{NO_TABLE}{ARN}"),
    *(
        (
            "ExportTableToPointInTime",
            {"TableArn": arn, "S3Bucket": "bucket"},
            "ValidationException: Invalid TableArn: Invalid Table ARN",
        )
        for arn in ("", "absent")
    ),
    (
        "EnableKinesisStreamingDestination",
        {"TableName": "absent", "StreamArn": KINESIS},
        f"{NOT_FOUND}Table: absent not found",
    ),
    (
        "PutResourcePolicy",
        {"ResourceArn": ARN, "Policy": "{}"},
        f"{NOT_FOUND}Table: absent not found",
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


def test_a_table_cannot_be_imported_if_its_name_is_taken(plain_table: Table) -> None:
    refused(
        f"ResourceInUseException: Table already exists: {plain_table.name}",
        call,
        plain_table.client,
        "ImportTable",
        S3BucketSource={"S3Bucket": "bucket"},
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters={
            "TableName": plain_table.name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
    )


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
    stream = KINESIS
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
    updated = plain_table.call("UpdateContinuousBackups", **{SPECIFICATION: {ENABLED: False}})
    assert updated == {"ContinuousBackupsDescription": described}


def test_a_table_cannot_be_recovered(plain_table: Table) -> None:
    refusal = (
        "PointInTimeRecoveryUnavailableException: Point in time recovery is not enabled for table "
        f"'{plain_table.name}'"
    )
    arn = plain_table.call("DescribeTable")["Table"]["TableArn"]
    client = plain_table.client
    export = {"TableArn": arn, "S3Bucket": "bucket"}
    refused(refusal, call, client, "ExportTableToPointInTime", **export)
    for source in ({"SourceTableName": plain_table.name}, {"SourceTableArn": arn}):
        restore = {"TargetTableName": "target", "UseLatestRestorableTime": True, **source}
        refused(refusal, call, client, "RestoreTableToPointInTime", **restore)
