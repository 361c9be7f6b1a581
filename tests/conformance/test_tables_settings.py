"""Settings of tables: class, protection, encryption, the stream, tags; and what goes together."""

import re
from typing import Any

import pytest

from .support import (
    Client,
    NewTable,
    Table,
    call,
    cases,
    definition,
    refused,
    unique_name,
)

INVALID = "ValidationException: One or more parameter values were invalid: "
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
NO_STREAM = {"StreamEnabled": False}
ENCRYPTED = {"Enabled": True, "SSEType": "KMS"}
ENUM = "Member must satisfy enum value set: "


def tags(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in pairs]


# ---- CreateTable ----

# The good request is of the key pk and on demand. (name, what is changed in it, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "a stream of no view",
        {"StreamSpecification": {"StreamEnabled": True}},
        INVALID + "Table is being created with a stream enabled, UpdateViewType is required",
    ),
    (
        "a view of no stream",
        {"StreamSpecification": {**STREAM, **NO_STREAM}},
        INVALID + "Table is being created with a stream disabled, UpdateViewType should not be"
        " specified",
    ),
    (
        "a view and nothing else",
        {"StreamSpecification": {"StreamViewType": "KEYS_ONLY"}},
        "ValidationException: …Value null at 'streamSpecification.streamEnabled' failed to satisfy"
        " constraint: Member must not be null",
    ),
    (
        "a type of no encryption",
        {"SSESpecification": {"Enabled": False, "SSEType": "KMS", "KMSMasterKeyId": "x"}},
        INVALID + "SSEType can not be specified if Enabled is false",
    ),
    (
        "a key of no encryption",
        {"SSESpecification": {"Enabled": False, "KMSMasterKeyId": "x"}},
        INVALID + "KMSMasterKeyId can not be specified if Enabled is false",
    ),
    (
        "AES256",
        {"SSESpecification": {"Enabled": True, "SSEType": "AES256"}},
        INVALID + "SSEType AES256 is not supported",
    ),
    (
        "a key of no type",
        {"SSESpecification": {"Enabled": True, "KMSMasterKeyId": "x"}},
        INVALID + "SSEType KMS is required if KMSMasterKeyId is specified",
    ),
    (
        "an unknown type of encryption",
        {"SSESpecification": {"Enabled": True, "SSEType": "kms"}},
        "ValidationException: …'sSESpecification.sSEType' failed to satisfy constraint: "
        + ENUM
        + "[AES256, KMS]",
    ),
    (
        "an unknown view",
        {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "new_image"}},
        "ValidationException: …failed to satisfy constraint: " + ENUM + "…",
    ),
    ("an unknown class", {"TableClass": "GLACIER"}, "ValidationException: …"),
    # tags
    (
        "a tag of the service",
        {"Tags": tags(("aws:foo", "x"))},
        "ValidationException: Tag Key cannot be prefixed with aws:, Key: aws:foo",
    ),
    (
        "a long tag key",
        {"Tags": tags(("x" * 129, "x"))},
        "ValidationException: The Tag Key provided is invalid, Key: " + "x" * 129,
    ),
    (
        "an empty tag key",
        {"Tags": tags(("", "x"))},
        "ValidationException: The Tag Key provided is invalid, Key: ",
    ),
    (
        "a sign that no tag key has",
        {"Tags": tags(("a#b", "x"))},
        "ValidationException: The Tag Key provided is invalid, Key: a#b",
    ),
    (
        "a long tag value",
        {"Tags": tags(("a", "x" * 257))},
        "ValidationException: The Tag Value provided is invalid, Value: " + "x" * 257,
    ),
    (
        "a tag twice",
        {"Tags": tags(("a", "x"), ("a", "y"))},
        "ValidationException: Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
    ),
    (
        "51 tags",
        {"Tags": tags(*((f"k{number}", "x") for number in range(51)))},
        "ValidationException: Number of Tags exceed the current limit for the provided ResourceArn",
    ),
]


@cases("name, changes, refusal", REFUSED)
def test_a_setting_is_refused(
    client: Client, name: str, changes: dict[str, Any], refusal: str
) -> None:
    table_name = unique_name()
    request = {"TableName": table_name, **definition("pk"), **changes}
    refused(refusal, call, client, "CreateTable", **request)
    refused("ResourceNotFoundException: …", call, client, "DescribeTable", TableName=table_name)


KEY = "arn:aws:kms:us-east-1:000000000000:key/0c7b2a1e"

# (name, parameters, members of the description; None: the member is absent)
DESCRIBED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "nothing special",
        {},
        {
            "TableClassSummary": None,
            "SSEDescription": None,
            "StreamSpecification": None,
            "LatestStreamArn": None,
            "OnDemandThroughput": None,
            "DeletionProtectionEnabled": False,
            "GlobalSecondaryIndexes": None,
            "LocalSecondaryIndexes": None,
        },
    ),
    (
        "a class",
        {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        {"TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"}},
    ),
    (
        "a key",
        {"SSESpecification": {**ENCRYPTED, "KMSMasterKeyId": KEY}},
        {"SSEDescription": {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": KEY}},
    ),
    ("no encryption", {"SSESpecification": {"Enabled": False}}, {"SSEDescription": None}),
    ("no word of encryption", {"SSESpecification": {}}, {"SSEDescription": None}),
    ("a stream", {"StreamSpecification": STREAM}, {"StreamSpecification": STREAM}),
    ("no stream", {"StreamSpecification": NO_STREAM}, {"StreamSpecification": None}),
    ("no tags", {"Tags": []}, {}),
]


@cases("name, parameters, members", DESCRIBED)
def test_a_setting_is_described(
    new_table: NewTable, name: str, parameters: dict[str, Any], members: dict[str, Any]
) -> None:
    description = new_table("pk", **parameters).wait()
    assert {member: description.get(member) for member in members} == members


@pytest.mark.parametrize("given", [{"Enabled": True}, {"SSEType": "KMS"}])
def test_the_services_own_key(new_table: NewTable, given: dict[str, Any]) -> None:
    described = new_table("pk", SSESpecification=given).wait()["SSEDescription"]
    assert (described["Status"], described["SSEType"]) == ("ENABLED", "KMS")
    assert re.fullmatch(r"arn:aws:kms:[^:]+:\d{12}:key/[-0-9a-f]{36}", described["KMSMasterKeyArn"])


def test_an_alias_is_described_as_its_key(new_table: NewTable) -> None:
    by_name, by_arn = (
        new_table("pk", SSESpecification={**ENCRYPTED, "KMSMasterKeyId": key}).wait()
        for key in ("alias/aws/dynamodb", "arn:aws:kms:us-east-1:000000000000:alias/aws/dynamodb")
    )
    by_default = new_table("pk", SSESpecification=ENCRYPTED).wait()
    assert by_name["SSEDescription"] == by_arn["SSEDescription"] == by_default["SSEDescription"]


# ---- UpdateTable ----


def test_protection_is_switched_at_once(new_table: NewTable) -> None:
    table = new_table("pk")
    answer = table.call("UpdateTable", DeletionProtectionEnabled=True)["TableDescription"]
    assert (answer["TableStatus"], answer["DeletionProtectionEnabled"]) == ("ACTIVE", True)
    table.call("UpdateTable", DeletionProtectionEnabled=True)  # once more is no fault
    table.refused(
        "ValidationException: Resource cannot be deleted as it is currently protected against"
        " deletion. Disable deletion protection first.",
        "DeleteTable",
    )
    table.call("UpdateTable", DeletionProtectionEnabled=False)


def test_the_answer_shows_the_old_class(new_table: NewTable) -> None:
    table = new_table("pk")
    answer = table.call("UpdateTable", TableClass="STANDARD")["TableDescription"]
    assert "TableClassSummary" not in answer
    assert "TableClassSummary" not in table.wait()
    answer = table.call("UpdateTable", TableClass="STANDARD_INFREQUENT_ACCESS")["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    assert "TableClassSummary" not in answer
    summary = table.wait()["TableClassSummary"]
    assert summary["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert "LastUpdateDateTime" in summary
    answer = table.call("UpdateTable", TableClass="STANDARD")["TableDescription"]
    assert answer["TableClassSummary"] == summary
    assert table.wait()["TableClassSummary"]["TableClass"] == "STANDARD"


def wait_for_encryption(table: Table) -> dict[str, Any] | None:
    while (described := table.wait().get("SSEDescription", {})).get("Status") == "UPDATING":
        pass
    return described or None


def test_encryption_changes(new_table: NewTable) -> None:
    table = new_table("pk")
    by_default = INVALID + "Table is already encrypted by default"
    for specification in ({"Enabled": False}, {}):
        table.refused(by_default, "UpdateTable", SSESpecification=specification)
    answer = table.call("UpdateTable", SSESpecification=ENCRYPTED)["TableDescription"]
    assert answer["TableStatus"] == "ACTIVE"
    assert answer["SSEDescription"] == {"Status": "UPDATING"}
    described = wait_for_encryption(table)
    assert described
    table.refused(
        INVALID + "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId"
        " parameter if you want to change Master Key",
        "UpdateTable",
        SSESpecification={**ENCRYPTED, "KMSMasterKeyId": described["KMSMasterKeyArn"]},
    )
    answer = table.call("UpdateTable", SSESpecification={"Enabled": False})["TableDescription"]
    assert answer["SSEDescription"] == {**described, "Status": "UPDATING"}
    assert wait_for_encryption(table) is None


def test_a_stream_is_enabled_and_disabled(new_table: NewTable) -> None:
    table = new_table("pk")
    table.refused(
        f"ValidationException: Table has no stream to disable: TableName: {table.name}",
        "UpdateTable",
        StreamSpecification=NO_STREAM,
    )
    answer = table.call("UpdateTable", StreamSpecification=STREAM)["TableDescription"]
    assert (answer["TableStatus"], answer["StreamSpecification"]) == ("UPDATING", STREAM)
    arn = table.wait()["LatestStreamArn"]
    for view in ("KEYS_ONLY", "NEW_IMAGE"):
        table.refused(
            f"ValidationException: Table already has an enabled stream: TableName: {table.name}",
            "UpdateTable",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": view},
        )
    table.call("UpdateTable", StreamSpecification=NO_STREAM)
    description = table.wait()
    assert "StreamSpecification" not in description
    assert description["LatestStreamArn"] == arn


# ---- DeleteTable ----


def test_the_answer_to_delete_table_shows_few_members(new_table: NewTable) -> None:
    table = new_table("pk", StreamSpecification=STREAM)
    table.put({"pk": "a"})
    described = table.wait()
    deleted = table.call("DeleteTable")["TableDescription"]
    assert deleted["TableStatus"] == "DELETING"
    for member in ("TableName", "TableArn", "TableId", "ProvisionedThroughput"):
        assert deleted[member] == described[member]
    assert {"ItemCount", "TableSizeBytes", "DeletionProtectionEnabled"} <= deleted.keys()


def test_the_answer_to_delete_table_has_no_history_of_the_throughput(new_table: NewTable) -> None:
    units = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}
    table = new_table("pk", BillingMode="PROVISIONED", ProvisionedThroughput=units)
    table.wait()
    units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 1}
    table.call("UpdateTable", ProvisionedThroughput=units)
    assert table.wait()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 1
    deleted = table.call("DeleteTable")["TableDescription"]
    assert deleted["ProvisionedThroughput"] == {**units, "NumberOfDecreasesToday": 0}
    assert not {"AttributeDefinitions", "KeySchema", "CreationDateTime"} & deleted.keys()
