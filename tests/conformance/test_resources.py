"""Every operation names the resources that its requests touch, and the actions it needs there."""

import json
from typing import Any

import pytest

import hashrange
from hashrange.model.caller import Caller
from hashrange.operations import OPERATIONS

from .service_model import example, input_shapes

CALLER = Caller(region="eu-west-1", account="111122223333", access_key="key")
ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/"
OTHER = "arn:aws:dynamodb:us-east-1:444455556666:table/books"
STREAM = f"{ARN}books/stream/2026-01-01T00:00:00.000"
BACKUP = f"{ARN}books/backup/01489602797149-73d8d5bc"
EXPORT = f"{ARN}books/export/01489602797149-73d8d5bc"
BULK_OPERATION = f"{ARN}books/bulk-operation/01489602797149"
IMPORT = f"{ARN}books/import/01489602797149-73d8d5bc"
KEY = {"pk": {"S": "a"}}
CHECKED = {"Key": KEY, "ConditionExpression": "attribute_exists(pk)"}
CHANGE = {"Key": KEY, "UpdateExpression": "REMOVE a"}


def resources(name: str, request: dict[str, Any]) -> list[tuple[str, str]]:
    operation = OPERATIONS[name]
    found = operation.resources(operation.request(json.dumps(request).encode()), CALLER)
    return [(action.removeprefix("dynamodb:"), resource) for action, resource in found]


CREATION: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
# Additions to the minimal request, for checks that go beyond the service model.
NEEDED: dict[str, dict[str, Any]] = {
    "BatchExecuteStatement": {"Statements": [{"Statement": 'SELECT * FROM "aaa" WHERE pk = 1'}]},
    "BatchWriteItem": {"RequestItems": {"aaa": [{"DeleteRequest": {"Key": KEY}}]}},
    "CreateTable": CREATION,
    "DeleteBackup": {"BackupArn": BACKUP},
    "DescribeBackup": {"BackupArn": BACKUP},
    "DescribeStream": {"StreamArn": STREAM},
    "ExecuteStatement": {"Statement": 'SELECT * FROM "aaa"'},
    "ExecuteTransaction": {"TransactStatements": [{"Statement": "INSERT INTO aaa VALUE {'pk':1}"}]},
    "GetRecords": {"ShardIterator": f"{STREAM}|1|abc"},
    "GetShardIterator": {"StreamArn": STREAM, "ShardIteratorType": "LATEST"},
    "ImportTable": {"TableCreationParameters": {"TableName": "aaa", **CREATION}},
    "Query": {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}},
    "RestoreTableFromBackup": {"BackupArn": BACKUP},
    "SearchVectors": {"SearchVector": [{"N": "1"}]},
    "TagResource": {"ResourceArn": f"{ARN}aaa", "Tags": [{"Key": "a", "Value": "b"}]},
    "TransactWriteItems": {"TransactItems": [{"Put": {"TableName": "aaa", "Item": KEY}}]},
    "UntagResource": {"ResourceArn": f"{ARN}aaa", "TagKeys": ["a"]},
    "ListTagsOfResource": {"ResourceArn": f"{ARN}aaa"},
    "UpdateTable": {"BillingMode": "PAY_PER_REQUEST"},
}
ACTIONS = {
    "BatchExecuteStatement": "PartiQLSelect",
    "ExecuteStatement": "PartiQLSelect",
    "ExecuteTransaction": "PartiQLInsert",
    "TransactGetItems": "GetItem",
    "TransactWriteItems": "PutItem",
}
"""Actions whose names are not those of their operations."""
_RESTORING = ("BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem")
MORE_ACTIONS = {
    "RestoreTableFromBackup": _RESTORING,
    "RestoreTableToPointInTime": _RESTORING,
}
"""What an operation needs on the table that it makes."""


def simplest() -> dict[str, dict[str, Any]]:
    """A request of each operation in the service model."""
    shapes = {target.partition(".")[2]: shape for target, shape in input_shapes().items()}
    return {name: {**example(shape), **NEEDED.get(name, {})} for name, shape in shapes.items()}


def test_every_operation_of_the_service_model_is_tested() -> None:
    assert set(simplest()) == set(OPERATIONS)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_answers(name: str) -> None:
    request = simplest()[name]
    shape = {target.partition(".")[2]: shape for target, shape in input_shapes().items()}[name]
    found = resources(name, request)
    assert {action for action, _ in found} == {ACTIONS.get(name, name), *MORE_ACTIONS.get(name, ())}
    for member in NAMING:
        if member in shape.required_members:
            named = request[member]
            arn = f"{ARN}{named}" if member == "TableName" else named
            assert found[0][1].removesuffix("/index/aaa") == arn
            break
    else:
        assert all(resource == "*" or resource.startswith("arn:") for _, resource in found)


NAMING = (
    "TableName",
    "BackupArn",
    "BulkOperationArn",
    "ExportArn",
    "ImportArn",
    "ResourceArn",
    "StreamArn",
)
"""Members that name the first resource of a request."""

TABLES = [("books", f"{ARN}books"), (OTHER, OTHER)]
"""A table by its name and by its ARN, which may be that of another account."""


@pytest.mark.parametrize(("table", "arn"), TABLES)
def test_requests_about_one_table(table: str, arn: str) -> None:
    one = {"TableName": table}
    assert resources("GetItem", {**one, "Key": KEY}) == [("GetItem", arn)]
    assert resources("PutItem", {**one, "Item": KEY}) == [("PutItem", arn)]
    assert resources("UpdateItem", {**one, "Key": KEY}) == [("UpdateItem", arn)]
    assert resources("DeleteItem", {**one, "Key": KEY}) == [("DeleteItem", arn)]
    assert resources("DescribeTable", one) == [("DescribeTable", arn)]
    assert resources("DeleteTable", one) == [("DeleteTable", arn)]
    assert resources("CreateBackup", {**one, "BackupName": "daily"}) == [("CreateBackup", arn)]
    assert resources("DescribeContinuousBackups", one) == [("DescribeContinuousBackups", arn)]
    assert resources("Scan", one) == [("Scan", arn)]
    assert resources("Query", {**one, **NEEDED["Query"]}) == [("Query", arn)]


@pytest.mark.parametrize(("table", "arn"), TABLES)
def test_requests_about_an_index(table: str, arn: str) -> None:
    one = {"TableName": table, "IndexName": "by_title"}
    index = f"{arn}/index/by_title"
    assert resources("Query", {**one, **NEEDED["Query"]}) == [("Query", index)]
    assert resources("Scan", one) == [("Scan", index)]
    assert resources("DescribeContributorInsights", one) == [("DescribeContributorInsights", index)]
    select = {"Statement": f'SELECT * FROM "{table}"."by_title"'}
    assert resources("ExecuteStatement", select) == [("PartiQLSelect", index)]


@pytest.mark.parametrize(("table", "arn"), TABLES)
def test_a_batch_touches_each_table_once(table: str, arn: str) -> None:
    keys = {"Keys": [KEY, {"pk": {"S": "b"}}]}
    reads = {"RequestItems": {table: keys, "authors": keys}}
    assert resources("BatchGetItem", reads) == [
        ("BatchGetItem", arn),
        ("BatchGetItem", f"{ARN}authors"),
    ]
    writes = {"RequestItems": {table: [{"PutRequest": {"Item": KEY}}]}}
    assert resources("BatchWriteItem", writes) == [("BatchWriteItem", arn)]


@pytest.mark.parametrize(("table", "arn"), TABLES)
def test_a_transaction_needs_the_actions_of_its_members(table: str, arn: str) -> None:
    one = {"TableName": table}
    get = {"Get": {**one, "Key": KEY}}
    assert resources("TransactGetItems", {"TransactItems": [get, get]}) == [("GetItem", arn)]
    members = [
        {"Put": {**one, "Item": KEY}},
        {"ConditionCheck": {**one, **CHECKED}},
        {"Update": {**one, **CHANGE}},
        {"Delete": {**one, "Key": KEY}},
        {"Put": {"TableName": "authors", "Item": KEY}},
        {"Put": {**one, "Item": {"pk": {"S": "b"}}}},
    ]
    assert resources("TransactWriteItems", {"TransactItems": members}) == [
        ("PutItem", arn),
        ("ConditionCheckItem", arn),
        ("UpdateItem", arn),
        ("DeleteItem", arn),
        ("PutItem", f"{ARN}authors"),
    ]


STATEMENTS = {
    "PartiQLInsert": "INSERT INTO \"{}\" VALUE {{'pk': 'a'}}",
    "PartiQLUpdate": "UPDATE \"{}\" SET a = 1 WHERE pk = 'a'",
    "PartiQLDelete": "DELETE FROM \"{}\" WHERE pk = 'a'",
}


@pytest.mark.parametrize(("table", "arn"), TABLES)
def test_statements_need_actions_of_their_kind(table: str, arn: str) -> None:
    every = {action: text.format(table) for action, text in STATEMENTS.items()}
    for action, text in every.items():
        assert resources("ExecuteStatement", {"Statement": text}) == [(action, arn)]
    check = f"EXISTS(SELECT * FROM \"{table}\" WHERE pk = 'b' AND a = 1)"
    texts = [check, *every.values()]
    expected = [("PartiQLSelect", arn), *((action, arn) for action in every)]
    transaction = {"TransactStatements": [{"Statement": text} for text in texts]}
    assert resources("ExecuteTransaction", transaction) == expected
    batch = {"Statements": [{"Statement": text} for text in ["nonsense", *every.values()]]}
    assert resources("BatchExecuteStatement", batch) == expected[1:]


def test_streams() -> None:
    assert resources("DescribeStream", {"StreamArn": STREAM}) == [("DescribeStream", STREAM)]
    iterator = {"StreamArn": STREAM, "ShardId": "s" * 28, "ShardIteratorType": "LATEST"}
    assert resources("GetShardIterator", iterator) == [("GetShardIterator", STREAM)]
    assert resources("GetRecords", NEEDED["GetRecords"]) == [("GetRecords", STREAM)]
    assert resources("GetRecords", {"ShardIterator": "nonsense"}) == [("GetRecords", "*")]
    assert resources("ListStreams", {}) == [("ListStreams", "*")]
    # No list is about one table, whichever it shows.
    assert resources("ListStreams", {"TableName": "books"}) == [("ListStreams", "*")]
    listed = {"TableName": "books"}
    assert resources("ListContributorInsights", listed) == [("ListContributorInsights", "*")]


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("TagResource", {"Tags": [{"Key": "a", "Value": "b"}]}),
        ("PutResourcePolicy", {"ResourcePolicy": "{}"}),
    ],
)
def test_creation_with_more_needs_its_action(action: str, more: dict[str, Any]) -> None:
    request = {"TableName": "books", **NEEDED["CreateTable"], **more}
    assert resources("CreateTable", request) == [
        ("CreateTable", f"{ARN}books"),
        (action, f"{ARN}books"),
    ]


def test_backups_exports_and_global_tables() -> None:
    for name, member, arn in (
        ("DescribeBackup", "BackupArn", BACKUP),
        ("DescribeExport", "ExportArn", EXPORT),
        ("DescribeImport", "ImportArn", IMPORT),
        ("CancelBulkOperation", "BulkOperationArn", BULK_OPERATION),
        ("GetResourcePolicy", "ResourceArn", STREAM),
    ):
        assert resources(name, {member: arn}) == [(name, arn)]
    restored = {"BackupArn": BACKUP, "TargetTableName": "copy"}
    more = [(action, f"{ARN}copy") for action in _RESTORING]
    assert resources("RestoreTableFromBackup", restored) == [
        ("RestoreTableFromBackup", BACKUP),
        ("RestoreTableFromBackup", f"{ARN}copy"),
        *more,
    ]
    restored = {"SourceTableName": "books", "TargetTableName": "copy"}
    assert resources("RestoreTableToPointInTime", restored) == [
        ("RestoreTableToPointInTime", f"{ARN}books"),
        ("RestoreTableToPointInTime", f"{ARN}copy"),
        *more,
    ]
    described = resources("DescribeGlobalTable", {"GlobalTableName": "books"})
    assert described == [
        ("DescribeGlobalTable", "arn:aws:dynamodb::111122223333:global-table/books")
    ]


def test_a_resource_has_the_arn_of_its_table() -> None:
    with hashrange.connect(region="eu-west-1") as database:
        table = {"TableName": "books", **NEEDED["CreateTable"]}
        created = database.execute("CreateTable", table)["TableDescription"]["TableArn"]
        operation = OPERATIONS["DescribeTable"]
        request = operation.request(json.dumps({"TableName": "books"}).encode())
        [(_, arn)] = operation.resources(request, Caller(region="eu-west-1"))
        assert arn == created
