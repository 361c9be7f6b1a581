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
NO_SOURCE = (
    "ValidationException: The parameter 'TableName' is required but was not present in the request"
)
NO_TIME = (
    "ValidationException: Invalid Request: Either one of RestoreDateTime or "
    "UseLatestRestorableTime must be specified, but not both"
)
TWO_TIMES = (
    "ValidationException: Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot "
    "be set for point-in-time restore request. Please specify either RestoreDateTime time or "
    "UseLatestRestorableTime"
)
LATEST = {"UseLatestRestorableTime": True}
BACKUP = f"{ARN}/backup/01789732865749-d3df7150"
NO_BACKUP = "BackupNotFoundException: Backup not found: "
BAD_BACKUP = "ValidationException: Invalid Request: BackupArn is not valid"
NOT_A_BACKUP = "ValidationException: Invalid Backup ARN"
SPECIFICATION, ENABLED = "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"
KINESIS = "arn:aws:kinesis:us-east-1:000000000000:stream/absent"
NO_INSIGHTS = {"ContributorInsightsStatus": "DISABLED"}


@pytest.fixture(scope="module")
def plain_table(new_shared_table: NewTable) -> Table:
    return new_shared_table("pk/sk", gsi("byOwner", "owner"), lsi("byDate", "pk/date"))


# (operation, parameters, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("DescribeBackup", {"BackupArn": ""}, NOT_A_BACKUP),
    ("DescribeBackup", {"BackupArn": ARN}, NOT_A_BACKUP),
    ("DeleteBackup", {"BackupArn": ARN}, NOT_A_BACKUP),
    ("DeleteBackup", {"BackupArn": BACKUP}, NO_BACKUP + BACKUP),
    ("DeleteBackup", {"BackupArn": f"{ARN}/backup/01"}, BAD_BACKUP),
    *(
        ("DescribeBackup", {"BackupArn": BACKUP.replace(*part)}, refusal)
        for part, refusal in [
            (("d3df7150", "D3DF7150"), "BackupNotFoundException: …"),
            (("01789732865749", "00000000000000"), "BackupNotFoundException: …"),
            (("us-east-1", "US-West-2"), "BackupNotFoundException: …"),
            (("d3df7150", "zzzzzzzz"), BAD_BACKUP),
            (("d3df7150", "d3df71500"), BAD_BACKUP),
            (("0178", "178"), BAD_BACKUP),
            (("us-east-1", "us-test-1"), BAD_BACKUP),
            (("us-east-1", "us-west-99"), BAD_BACKUP),
            (("us-east-1", "us-east1"), BAD_BACKUP),
            (("us-east-1", "us-east-0"), BAD_BACKUP),
            (("us-east-1", "eu-isoe-west-1"), BAD_BACKUP),
            (("arn:aws", "arn:AWS"), BAD_BACKUP),
            (("dynamodb", "DYNAMODB"), BAD_BACKUP),
            (("table", "TABLE"), NOT_A_BACKUP),
            (("backup", "BACKUP"), NOT_A_BACKUP),
            (("absent", ""), NOT_A_BACKUP),
            (("absent", "x"), NOT_A_BACKUP),
            (("absent", "x" * 256), NOT_A_BACKUP),
            (("absent", "bad table"), NOT_A_BACKUP),
            (("absent", "bad:table"), NOT_A_BACKUP),
        ]
    ),
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
        (
            operation,
            {"NextToken": token},
            f"ValidationException: Invalid Request: Provided nextToken is invalid: {token}",
        )
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
        {"TargetTableName": "target", "BackupArn": BACKUP},
        NO_BACKUP + BACKUP,
    ),
    (
        "RestoreTableFromBackup",
        {"TargetTableName": "", "BackupArn": BACKUP},
        "ValidationException: " + BOUNDS.format("TableName"),
    ),
    *(
        (
            "RestoreTableToPointInTime",
            {"TargetTableName": "target", "UseLatestRestorableTime": True, **source},
            refusal,
        )
        for source, refusal in [
            ({}, NO_SOURCE),
            ({"SourceTableName": "absent", "SourceTableArn": ARN}, ONE_SOURCE),
            ({"SourceTableName": "absent"}, f"{NO_TABLE}absent"),
            ({"SourceTableArn": ARN}, f"{NO_TABLE}absent"),
        ]
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
        "SearchVectors",
        {"TableName": "absent", "IndexName": "abc", "SearchVector": [{"N": "1"}], "TopK": 1},
        "ResourceNotFoundException: Requested resource not found",
    ),
    (
        "SearchVectors",
        {"TableName": "absent", "IndexName": "abc", "SearchVector": [{"N": "1"}], "TopK": 101},
        "ValidationException: Provided TopK value '101' is out of valid range. The value must be "
        "between 1 and 100 inclusive",
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
        invalid + f"No streaming destination with streamArn: {stream} found for table with "
        f"tableName: {plain_table.name}",
        "UpdateKinesisStreamingDestination",
        StreamArn=stream,
        UpdateKinesisStreamingConfiguration={"ApproximateCreationDateTimePrecision": "MICROSECOND"},
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


@cases(
    "times, refusal",
    [
        ({}, NO_TIME),
        ({"UseLatestRestorableTime": False}, NO_TIME),
        ({**LATEST, "RestoreDateTime": 1789743996}, TWO_TIMES),
    ],
)
def test_a_restore_is_to_one_point_in_time(
    plain_table: Table, times: dict[str, Any], refusal: str
) -> None:
    """That is told before recovery is looked at, which is not enabled."""
    source = {"SourceTableName": plain_table.name, "TargetTableName": "target"}
    refused(refusal, call, plain_table.client, "RestoreTableToPointInTime", **source, **times)
