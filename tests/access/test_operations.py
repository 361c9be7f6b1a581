"""Every operation asks the policies: by its action, the table, the index, the keys, the attributes.

Requests are made by boto3 in process; `test_serving.py` sends some over HTTP.
"""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from access_files import (
    ACCOUNT,
    TABLES,
    THINGS,
    USER,
    allowed,
    client_of,
    document,
    statement,
)
from botocore.exceptions import ClientError

import hashrange
from conformance.test_resources import ACTIONS, MORE_ACTIONS, resources, simplest
from hashrange.model.caller import Caller
from hashrange.model.errors import AccessDeniedException, ApiError
from hashrange.operations import OPERATIONS

from .things import ANN, ITEM, LEADING, PARTIQL, Asked, T, opened, query

# ---- each operation of the API ----


@pytest.fixture(scope="module")
def each(folder: Path) -> Iterator[hashrange.Database]:
    """Users who may do nothing, everything, everything by a policy, and one operation each."""
    users = {
        "nobody": "",
        "everything": document(statement("Allow", "*")),
        "denied": document(statement("Allow", "*"), statement("Deny", "dynamodb:*")),
    }
    for name in sorted(OPERATIONS):
        action = f"dynamodb:{ACTIONS.get(name, name)}"
        more = [f"dynamodb:{each}" for each in MORE_ACTIONS.get(name, ())]
        more += ["dynamodb:TagResource"] if name == "CreateTable" else []
        users[f"only{name}"] = document(statement("Allow", [action, *more]))
    with opened(folder, **users) as database:
        yield database


def answer(database: hashrange.Database, user: str, name: str, request: dict[str, Any]) -> Any:
    """The error of a request, or None."""
    assert database.access
    principal = database.access.principal(USER + user)
    caller = Caller("us-east-1", ACCOUNT, user.upper(), principal)
    try:
        here = json.dumps(request).replace("eu-west-1:111122223333", f"us-east-1:{ACCOUNT}")
        database.runtime.call(name, here.encode(), caller)
    except ApiError as error:
        return error
    return None


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_needs_its_action(each: hashrange.Database, name: str) -> None:
    """On a table that does not exist, so that nothing changes: who may not ask, learns nothing."""
    request = simplest()[name]
    for user in ("nobody", "denied", "onlyScan" if name != "Scan" else "onlyQuery"):
        refused = answer(each, user, name, request)
        if name == "BatchExecuteStatement":
            assert refused is None, "its members are denied one by one"
            continue
        assert isinstance(refused, AccessDeniedException), f"{user}: {refused!r}"
        arn = resources_of(name, request)
        assert f"User: {USER}{user} is not authorized to perform: dynamodb:" in refused.message
        assert any(f"on resource: {resource}" in refused.message for resource in arn)
    for user in ("everything", f"only{name}"):
        assert not isinstance(answer(each, user, name, request), AccessDeniedException)
    if name == "CreateTable":
        each.execute("DeleteTable", {"TableName": request["TableName"]})


def resources_of(name: str, request: dict[str, Any]) -> list[str]:
    found = [resource for _, resource in resources(name, request)]
    here = [each.replace("eu-west-1:111122223333", f"us-east-1:{ACCOUNT}") for each in found]
    return [*found, *here, *(each.replace("111122223333", ACCOUNT) for each in found)]


REGIONS = ("us-east-1", "eu-west-1")

# ---- resources ----


def test_an_index_is_a_resource_of_its_own(may: Asked) -> None:
    index = f"{THINGS}/index/by_owner"
    assert may({}, "scan", THINGS, **T)
    assert not may({}, "scan", THINGS, **T, IndexName="by_owner")
    assert may({}, "scan", index, **T, IndexName="by_owner")
    assert not may({}, "scan", index, **T)
    text = {"Statement": 'SELECT * FROM "things"."by_owner"'}
    assert may({}, "execute_statement", index, **text)
    assert not may({}, "execute_statement", THINGS, **text)


def test_a_table_has_one_arn(folder: Path) -> None:
    """No other ARN leads to it: neither around a Deny, nor for whoever may do everything."""
    policy = document(statement("Allow", "*"), statement("Deny", "*", THINGS))
    with opened(folder, ann=policy, all=document(statement("Allow", "*"))) as database:
        ann, everybody = client_of(database, "ann"), client_of(database, "all")
        assert not allowed(ann.get_item, TableName=THINGS, Key=ANN)
        for arn in (
            THINGS.replace("us-east-1", "eu-west-1"),
            THINGS.replace(ACCOUNT, "000000000000"),
            THINGS.replace("arn:aws:", "arn:aws-cn:"),
        ):
            table, text = {"TableName": arn}, {"Statement": f"SELECT * FROM \"{arn}\" WHERE pk='a'"}
            for client in (ann, everybody):
                for call, request in (
                    (client.get_item, {**table, "Key": ANN}),
                    (client.query, {**query("x"), **table}),
                    (client.describe_table, table),
                    (client.batch_get_item, {"RequestItems": {arn: {"Keys": [ANN]}}}),
                    (
                        client.transact_get_items,
                        {"TransactItems": [{"Get": {**table, "Key": ANN}}]},
                    ),
                    (client.execute_statement, text),
                    (client.list_tags_of_resource, {"ResourceArn": arn}),
                    (client.delete_table, table),
                ):
                    with pytest.raises(ClientError) as refused:
                        call(**request)
                    code = refused.value.response["Error"]["Code"]
                    assert code == "ResourceNotFoundException", f"{request}: {refused.value}"
        other = database.boto3_session("eu-west-1", principal=f"{USER}ann").client("dynamodb")
        assert not allowed(other.get_item, **T, Key=ANN), "a name means the table's own ARN"
        assert not allowed(other.create_backup, **T, BackupName="backup")
        every = database.boto3_session("eu-west-1", principal=f"{USER}all").client("dynamodb")
        every.create_backup(**T, BackupName="backup")


def test_what_is_remembered_holds_for_one_table(folder: Path) -> None:
    with opened(folder, ann=document(statement("Allow", "*", THINGS))) as database:
        ann = client_of(database, "ann")
        for call, request in (
            (ann.get_item, {"Key": ANN}),
            (ann.put_item, {"Item": ANN}),
            (ann.query, query("a")),
            (ann.scan, {}),
        ):
            for name in ("things", "others", "things"):
                assert allowed(call, **{**request, "TableName": name}) is (name == "things")


def test_a_new_table_has_the_arn_of_its_creator(folder: Path) -> None:
    """No other ARN creates it: neither around a Deny, nor for whoever may do everything."""
    policy = document(statement("Allow", "*"), statement("Deny", "*", f"{TABLES}secret*"))
    with opened(folder, ann=policy, all=document(statement("Allow", "*"))) as database:
        own = f"{TABLES}secret"
        assert code(client_of(database, "ann").create_table, own) == "AccessDeniedException"
        for arn in (
            own.replace("us-east-1", "eu-west-1"),
            own.replace(ACCOUNT, "000000000000"),
            own.replace("arn:aws:", "arn:aws-cn:"),
        ):
            for user in ("ann", "all"):
                client = client_of(database, user)
                assert code(client.create_table, arn) == "ResourceNotFoundException"
        assert "secret" not in database.execute("ListTables", {})["TableNames"]
        assert code(client_of(database, "all").create_table, own) == ""


def code(create_table: Any, name: str) -> str:
    try:
        create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return ""


def test_a_foreign_arn_tells_nothing(folder: Path) -> None:
    """Whoever may use the tables of another region does not learn which there are in this one."""
    foreign = TABLES.replace("us-east-1", "eu-west-1")
    with opened(folder, ann=document(statement("Allow", "*", f"{foreign}*"))) as database:
        ann = client_of(database, "ann")
        for call, more in (
            (ann.describe_table, {}),
            (ann.delete_table, {}),
            (ann.get_item, {"Key": ANN}),
            (ann.describe_continuous_backups, {}),
            (ann.update_table, {"DeletionProtectionEnabled": True}),
        ):
            told = []
            for name in ("things", "nothing"):
                with pytest.raises(ClientError) as refused:
                    call(TableName=f"{foreign}{name}", **more)
                told.append(str(refused.value).replace(name, "TABLE"))
            assert told[0] == told[1], told


def test_members_of_a_batch_of_statements_are_denied_one_by_one(folder: Path) -> None:
    policy = document(statement("Allow", "dynamodb:PartiQL*", Condition=LEADING))
    with opened(folder, ann=policy) as database:
        batch = [{"Statement": PARTIQL + f"'{who}#1'"} for who in ("ann", "bob")]
        first, second = client_of(database, "ann").batch_execute_statement(Statements=batch)[
            "Responses"
        ]
    assert first["Item"]["pk"] == {"S": "ann#1"}
    assert second["Error"]["Code"] == "AccessDenied"
    assert "not authorized to perform: dynamodb:PartiQLSelect" in second["Error"]["Message"]
    assert "Item" not in second


def test_streams(folder: Path) -> None:
    """An iterator is a position, not a permission."""
    reader = document(statement("Allow", "*", f"{THINGS}/stream/*"))
    with opened(folder, ann=reader, bob=document(statement("Allow", "*", THINGS))) as database:
        [stream] = database.execute("ListStreams", {"TableName": "things"})["Streams"]
        arn = stream["StreamArn"]
        ann = client_of(database, "ann", "dynamodbstreams")
        bob = client_of(database, "bob", "dynamodbstreams")
        shards = ann.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        read = 0
        for shard in shards:
            position = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = ann.get_shard_iterator(StreamArn=arn, **position)["ShardIterator"]
            read += len(ann.get_records(ShardIterator=iterator)["Records"])
        assert read == 2
        assert not allowed(bob.describe_stream, StreamArn=arn)
        assert not allowed(bob.get_shard_iterator, StreamArn=arn, **position)
        assert not allowed(bob.get_records, ShardIterator=iterator)
        assert not allowed(bob.get_records, ShardIterator=iterator.replace("things", "others"))


def test_nothing_that_is_stored_is_shown_to_whoever_may_do_nothing(folder: Path) -> None:
    """Existing and absent tables and items get the same answer, but for the name."""
    with opened(folder, nobody="") as database:
        named = {"principal": f"{USER}nobody"}
        for nobody, (call, request) in product(
            [database.boto3_session(each, **named).client("dynamodb") for each in REGIONS],
            (
                ("get_item", {"Key": ANN}),
                ("put_item", {"Item": {**ITEM, "pk": {"N": "1"}}}),
                ("put_item", {"Item": ITEM, "ConditionExpression": "attribute_not_exists(pk)"}),
                ("query", {**query("a"), "IndexName": "index"}),
                ("scan", {"ExclusiveStartKey": {"x": {"S": "y"}}}),
                ("describe_table", {}),
                ("update_table", {"DeletionProtectionEnabled": True}),
                ("delete_table", {}),
            ),
        ):
            told = []
            for name in ("things", "nothing"):
                with pytest.raises(ClientError) as refused:
                    getattr(nobody, call)(**{**request, "TableName": name})
                told.append(str(refused.value).replace(name, "TABLE"))
            assert told[0] == told[1], told
            assert "AccessDenied" in told[0]
