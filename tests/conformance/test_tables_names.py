"""Names of tables and indexes, ARNs in their place, and lists of names."""

from typing import Any

import pytest

from .support import Client, NewTable, Table, call, cases, definition, gsi, item, refused

LEAST = "Member must have length greater than or equal to 3"
MOST = "Member must have length less than or equal to 255"
PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/abc"
FORMAT = "…Valid ARN format is 'arn:<awsPartition>:<vendor>:<region>:<subscriber>:…"

# (what is given as a name, what is wrong with it)
UNFIT: list[tuple[str, str]] = [
    ("ab", f"Value 'ab' at 'tableName' failed to satisfy constraint: {LEAST}"),
    ("a" * 256, f"Value '{'a' * 256}' at 'tableName' failed to satisfy constraint: {MOST}"),
    ("a b c", f"Value 'a b c' at 'tableName' failed to satisfy constraint: {PATTERN}"),
    ("täble", f"Value 'täble' at 'tableName' failed to satisfy constraint: {PATTERN}"),
    ("abc\n", f"Value 'abc\n' at 'tableName' failed to satisfy constraint: {PATTERN}"),
    ("arn:", FORMAT),
    ("arn:aws:dynamodb:us-east-1:000000000000:table", FORMAT),
    (ARN[:-1], FORMAT),
    (ARN + "!", FORMAT),
    (ARN + "/index/abc", FORMAT),
    (ARN.replace("dynamodb", "sqs"), FORMAT),
    (ARN.replace("000000000000", "1"), FORMAT),
    (ARN.replace("aws", "xyz"), f"Invalid AWS partition in '{ARN.replace('aws', 'xyz')}'"),
    (
        ARN.replace("us-east-1", ""),
        f"Invalid AWS region in '{ARN.replace('us-east-1', '')}'",
    ),
    (
        ARN.replace("table", "stream"),
        f"Invalid resource type in '{ARN.replace('table', 'stream')}'",
    ),
]

# (operation, its parameters but the name)
NAMING: list[tuple[str, dict[str, Any]]] = [
    ("CreateTable", definition("pk")),
    ("DescribeTable", {}),
    ("UpdateTable", {"BillingMode": "PAY_PER_REQUEST"}),
    ("DeleteTable", {}),
    ("PutItem", {"Item": item(pk="a")}),
    ("GetItem", {"Key": item(pk="a")}),
    ("Scan", {}),
]


ABOUT_TABLES = ("CreateTable", "DescribeTable", "UpdateTable", "DeleteTable")


@pytest.mark.parametrize("name", ["", "a!"])
@pytest.mark.parametrize(
    ("operation", "parameters"), [each for each in NAMING if each[0] in ABOUT_TABLES]
)
def test_both_faults_of_a_short_name_are_told(
    client: Client, operation: str, parameters: dict[str, Any], name: str
) -> None:
    """Operations on items tell of one of them alone."""
    value = f"Value '{name}' at 'tableName' failed to satisfy constraint: "
    told = f"…validation errors detected: …{value}{LEAST}; {value}{PATTERN}…"
    refused(f"ValidationException: {told}", call, client, operation, TableName=name, **parameters)


def test_both_faults_of_the_name_of_an_index_are_told(client: Client) -> None:
    faults = [
        f"Value '' at 'globalSecondaryIndexes.1.member.indexName' failed to satisfy "
        f"constraint: {constraint}"
        for constraint in (LEAST, PATTERN)
    ]
    parameters = definition("pk", gsi("", "a"))
    told = f"ValidationException: 2 validation errors detected: {'; '.join(faults)}"
    refused(told, call, client, "CreateTable", TableName="short-names", **parameters)


@pytest.mark.parametrize(("operation", "parameters"), NAMING)
@cases("name, fault", UNFIT)
def test_a_name_is_refused(
    client: Client, operation: str, parameters: dict[str, Any], name: str, fault: str
) -> None:
    """The message may list other faults as well."""
    refused(
        f"ValidationException: …{fault}…", call, client, operation, TableName=name, **parameters
    )


@cases("name, fault", [case for case in UNFIT if case[0].startswith("arn:")])
def test_an_arn_in_a_batch_is_refused(client: Client, name: str, fault: str) -> None:
    request = {name: {"Keys": [item(pk="a")]}}
    refused("ValidationException: …", call, client, "BatchGetItem", RequestItems=request)


# (operation, its parameters but the name)
OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    ("DescribeTable", {}),
    ("UpdateTable", {"BillingMode": "PAY_PER_REQUEST"}),
    ("PutItem", {"Item": item(pk="a")}),
    ("GetItem", {"Key": item(pk="a")}),
    ("UpdateItem", {"Key": item(pk="a")}),
    ("DeleteItem", {"Key": item(pk="a")}),
    ("Scan", {}),
    (
        "Query",
        {
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": item({":p": "a"}),
        },
    ),
    ("DescribeTimeToLive", {}),
    ("DeleteTable", {}),
]


def test_every_operation_takes_an_arn(new_table: NewTable) -> None:
    table = new_table("pk")
    arn = table.wait()["TableArn"]
    for operation, parameters in OPERATIONS:
        call(table.client, operation, TableName=arn, **parameters)


def test_a_table_is_made_by_its_arn(client: Client, new_table: NewTable) -> None:
    table = new_table("pk")
    arn = table.wait()["TableArn"]
    table.refused(
        f"ResourceInUseException: Table already exists: {table.name}",
        "CreateTable",
        **definition("pk"),
    )
    by_arn = Table(client, arn)
    by_arn.refused(
        f"ResourceInUseException: Table already exists: {table.name}",
        "CreateTable",
        **definition("pk"),
    )


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable"])
def test_an_arn_of_no_table(client: Client, operation: str) -> None:
    """The message shows the name, not the ARN."""
    refused(
        "ResourceNotFoundException: Requested resource not found: Table: abc not found",
        call,
        client,
        operation,
        TableName=ARN,
    )


def test_case_matters(new_table: NewTable) -> None:
    table = new_table("pk")
    other = Table(table.client, table.name.upper())
    other.call("CreateTable", **definition("pk"))
    other.wait()
    table.put({"pk": "a"})
    assert other.all() == []
    other.call("DeleteTable")


# (index name, what is wrong with it)
INDEX_NAMES = [
    ("ab", LEAST),
    ("a" * 256, MOST),
    ("a b c", PATTERN),
]


@cases("name, fault", INDEX_NAMES)
def test_an_index_name_is_refused(client: Client, name: str, fault: str) -> None:
    refused(
        f"ValidationException: …Value '{name}' at 'globalSecondaryIndexes.1.member.indexName'"
        f" failed to satisfy constraint: {fault}",
        call,
        client,
        "CreateTable",
        TableName="unused",
        **definition("pk", gsi(name, "owner")),
    )


# ---- ListTables ----

# (name, parameters, what is wrong with them)
LISTS_REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "limit 0",
        {"Limit": 0},
        "…'limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
    ),
    (
        "limit 101",
        {"Limit": 101},
        "…'limit' failed to satisfy constraint: Member must have value less than or equal to 100",
    ),
    (
        "a short start",
        {"ExclusiveStartTableName": "ab"},
        f"…'exclusiveStartTableName' failed to satisfy constraint: {LEAST}",
    ),
    (
        "an ARN as start",
        {"ExclusiveStartTableName": ARN},
        f"…'exclusiveStartTableName' failed to satisfy constraint: {PATTERN}",
    ),
    (
        "two faults",
        {"Limit": 0, "ExclusiveStartTableName": "ab"},
        "2 validation errors detected: …limit…; …exclusiveStartTableName…",
    ),
]


@cases("name, parameters, fault", LISTS_REFUSED)
def test_a_list_is_refused(
    client: Client, name: str, parameters: dict[str, Any], fault: str
) -> None:
    refused(f"ValidationException: {fault}", call, client, "ListTables", **parameters)


def test_names_are_listed_by_their_bytes(new_table: NewTable) -> None:
    """The start need not be an existing table. A page that Limit ends names its last table."""
    table = new_table("pk")
    client, stem = table.client, table.name
    names = [f"{stem}.{end}" for end in ("-x", ".x", "0x", "Ax", "_x", "ax")]
    for name in reversed(names):
        call(client, "CreateTable", TableName=name, **definition("pk"))
    page = call(client, "ListTables", ExclusiveStartTableName=stem, Limit=len(names))
    assert page["TableNames"] == names
    page = call(client, "ListTables", ExclusiveStartTableName=f"{stem}.0", Limit=2)
    assert page["TableNames"] == names[2:4]
    assert page["LastEvaluatedTableName"] == names[3]
    for name in names:
        Table(client, name).wait()
        call(client, "DeleteTable", TableName=name)
