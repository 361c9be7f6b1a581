"""Policies of tables and streams: how they are kept, and what they allow and deny."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from access_files import (
    ACCOUNT,
    THINGS,
    USER,
    access_file,
    allowed,
    client_of,
    create_things,
    document,
    statement,
)
from botocore.exceptions import ClientError

import hashrange
from hashrange.testing import TestClock

KEY = {"TableName": "things", "Key": {"pk": {"S": "a"}}}
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/one"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/worker"


def granting(effect: str, action: Any, principal: Any, **more: Any) -> dict[str, Any]:
    return statement(effect, action, THINGS, Principal={"AWS": principal}, **more)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[hashrange.Database]:
    get = document(statement("Allow", "dynamodb:GetItem"))
    (tmp_path / "get.json").write_text(get)
    (tmp_path / "scan.json").write_text(document(statement("Allow", "dynamodb:Scan")))
    session = [
        "[[principals]]",
        f'arn = "{SESSION}"',
        'keys = ["SESSION"]',
        'boundary = "scan.json"',
    ]
    users = {
        "reader": 'policies = ["get.json"]',
        "nobody": "",
        "bounded": 'policies = ["get.json"]\nboundary = "scan.json"',
        "editor": document(statement("Allow", "dynamodb:*ResourcePolicy")),
    }
    path = access_file(tmp_path, users, "")
    path.write_text(path.read_text() + "\n" + "\n".join(session))
    with hashrange.connect(settings=hashrange.Settings(access=path)) as database:
        create_things(database)
        create_things(database, "others")
        yield database


def put(database: hashrange.Database, *statements: dict[str, Any], arn: str = THINGS) -> str:
    request = {"ResourceArn": arn, "Policy": document(*statements)}
    return str(database.execute("PutResourcePolicy", request)["RevisionId"])


def session_client(database: hashrange.Database) -> Any:
    return database.boto3_session(principal=SESSION).client("dynamodb")


def test_whom_a_policy_allows_and_denies(database: hashrange.Database) -> None:
    reader, nobody = client_of(database, "reader"), client_of(database, "nobody")
    bounded, session = client_of(database, "bounded"), session_client(database)
    assert allowed(reader.get_item, **KEY)
    assert not allowed(nobody.get_item, **KEY)
    assert not allowed(bounded.get_item, **KEY)
    # A user or a session that is named needs nothing else; a role needs its boundary.
    put(database, granting("Allow", "dynamodb:GetItem", [f"{USER}nobody", f"{USER}bounded"]))
    assert allowed(nobody.get_item, **KEY)
    assert allowed(bounded.get_item, **KEY)
    assert not allowed(nobody.get_item, **{**KEY, "TableName": "others"})
    assert not allowed(nobody.put_item, TableName="things", Item=KEY["Key"])
    put(database, granting("Allow", ["dynamodb:GetItem", "dynamodb:Scan"], ROLE))
    assert not allowed(session.get_item, **KEY)
    assert allowed(session.scan, TableName="things")
    put(database, granting("Allow", "dynamodb:GetItem", SESSION))
    assert allowed(session.get_item, **KEY)
    # The account leaves it to the policies of its users.
    put(database, granting("Allow", "dynamodb:GetItem", f"arn:aws:iam::{ACCOUNT}:root"))
    assert not allowed(nobody.get_item, **KEY)
    assert allowed(reader.get_item, **KEY)
    put(database, granting("Deny", "dynamodb:GetItem", "arn:aws:iam::111122223333:root"))
    assert allowed(reader.get_item, **KEY), "it is another account"
    put(database, granting("Deny", "dynamodb:GetItem", [f"{USER}reader"]))
    with pytest.raises(ClientError, match="with an explicit deny in a resource-based policy"):
        reader.get_item(**KEY)
    assert allowed(client_of(database, "root").get_item, **KEY)
    database.execute("DeleteResourcePolicy", {"ResourceArn": THINGS})
    assert allowed(reader.get_item, **KEY)


def test_a_backup_has_not_the_policy_of_its_table(database: hashrange.Database) -> None:
    put(database, statement("Allow", "dynamodb:*", "*", Principal={"AWS": f"{USER}nobody"}))
    nobody = client_of(database, "nobody")
    assert allowed(nobody.get_item, **KEY)
    backup = database.execute("CreateBackup", {"TableName": "things", "BackupName": "daily"})
    assert not allowed(nobody.describe_backup, BackupArn=backup["BackupDetails"]["BackupArn"])


def test_a_policy_goes_with_its_table(database: hashrange.Database) -> None:
    nobody = client_of(database, "nobody")
    put(database, granting("Allow", "dynamodb:GetItem", f"{USER}nobody"))
    assert allowed(nobody.get_item, **KEY)
    database.execute("DeleteTable", {"TableName": "things"})
    create_things(database)
    assert not allowed(nobody.get_item, **KEY)


def test_a_new_table_with_a_policy(database: hashrange.Database) -> None:
    policy = document(granting("Allow", "dynamodb:GetItem", f"{USER}nobody"))
    database.execute(
        "CreateTable",
        {
            "TableName": "more",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "ResourcePolicy": policy.replace("things", "more"),
        },
    )
    assert allowed(client_of(database, "nobody").get_item, **{**KEY, "TableName": "more"})


def test_the_policy_of_a_stream(database: hashrange.Database) -> None:
    [stream] = database.execute("ListStreams", {"TableName": "things"})["Streams"]
    arn = stream["StreamArn"]
    client = client_of(database, "nobody", "dynamodbstreams")
    assert not allowed(client.describe_stream, StreamArn=arn)
    put(database, {**granting("Allow", "dynamodb:DescribeStream", f"{USER}nobody"),
                   "Resource": arn}, arn=arn)  # fmt: skip
    assert allowed(client.describe_stream, StreamArn=arn)
    shown = database.execute("GetResourcePolicy", {"ResourceArn": arn})
    assert json.loads(shown["Policy"])["Statement"][0]["Resource"] == arn
    with pytest.raises(Exception, match="Resource-based policy not found"):
        database.execute("GetResourcePolicy", {"ResourceArn": THINGS})


def test_revisions_and_the_canonical_form(database: hashrange.Database) -> None:
    client = database.boto3_session().client("dynamodb")
    given = [granting("Allow", ["dynamodb:GetItem"], [f"{USER}nobody"])]
    text = json.dumps({"Statement": given}, indent=2)
    with pytest.raises(ClientError, match="PolicyNotFoundException"):
        client.put_resource_policy(ResourceArn=THINGS, Policy=text, ExpectedRevisionId="1")
    put_ = client.put_resource_policy(
        ResourceArn=THINGS, Policy=text, ExpectedRevisionId="NO_POLICY"
    )
    shown = client.get_resource_policy(ResourceArn=THINGS)
    assert shown["RevisionId"] == put_["RevisionId"]
    assert shown["RevisionId"].isdigit()
    assert shown["Policy"] == (
        '{"Version":"2008-10-17","Statement":[{"Effect":"Allow",'
        f'"Principal":{{"AWS":"{USER}nobody"}},"Action":"dynamodb:GetItem",'
        f'"Resource":"{THINGS}"}}]}}'
    )
    same = client.put_resource_policy(ResourceArn=THINGS, Policy=shown["Policy"])
    assert same["RevisionId"] == shown["RevisionId"]
    with pytest.raises(ClientError, match="PolicyNotFoundException"):
        client.delete_resource_policy(ResourceArn=THINGS, ExpectedRevisionId="NO_POLICY")
    gone = client.delete_resource_policy(ResourceArn=THINGS, ExpectedRevisionId=same["RevisionId"])
    assert gone["RevisionId"] == same["RevisionId"]
    assert "RevisionId" not in client.delete_resource_policy(ResourceArn=THINGS)


def test_nobody_locks_the_door_behind_him(database: hashrange.Database) -> None:
    editor = client_of(database, "editor")
    locking = document(granting("Deny", "dynamodb:PutResourcePolicy", f"{USER}editor"))
    with pytest.raises(ClientError, match="will not allow you to update the resource policy"):
        editor.put_resource_policy(ResourceArn=THINGS, Policy=locking)
    editor.put_resource_policy(
        ResourceArn=THINGS, Policy=locking, ConfirmRemoveSelfResourceAccess=True
    )
    assert not allowed(editor.put_resource_policy, ResourceArn=THINGS, Policy=locking)
    root = client_of(database, "root")
    assert allowed(root.delete_resource_policy, ResourceArn=THINGS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "Invalid policy document: line 1"),
        (document(statement("Allow", "dynamodb:GetItem")), "either Principal or NotPrincipal"),
        (document(granting("Allow", "dynamodb:CreateTable", USER)), "cannot name CreateTable"),
        (document(granting("Allow", "s3:GetObject", USER)), "is not an action of DynamoDB"),
        (document(granting("Allow", "dynamodb:GetItem", "*")), "unbounded access"),
        (" " * 20_481, "exceeds the maximum size"),
        ("é" * 10_241, "exceeds the maximum size"),
        (document(granting("Allow", "dynamodb:GetItem", f"{USER}*")), "is not a valid principal"),
        (document(granting("Deny", "dynamodb:GetItem", "bob")), "is not a valid principal"),
    ],
)
def test_a_faulty_policy_is_refused(database: hashrange.Database, text: str, message: str) -> None:
    client = database.boto3_session().client("dynamodb")
    with pytest.raises(ClientError, match=message) as refused:
        client.put_resource_policy(ResourceArn=THINGS, Policy=text)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_revisions_of_one_millisecond_differ(tmp_path: Path) -> None:
    """Nothing is remembered of a policy that has gone, even if the clock stands still."""
    access = access_file(tmp_path, {"nobody": ""})
    settings = hashrange.Settings(access=access)
    with hashrange.connect(clock=TestClock("2026-11-26"), settings=settings) as database:
        create_things(database)
        nobody = client_of(database, "nobody")
        granted = granting("Allow", "dynamodb:GetItem", f"{USER}nobody")
        revisions = []
        for effect in ("Allow", "Deny", "Allow"):
            revisions.append(put(database, {**granted, "Effect": effect}))
            assert allowed(nobody.get_item, **KEY) is (effect == "Allow")
        assert len(set(revisions)) == 3
        database.execute("DeleteResourcePolicy", {"ResourceArn": THINGS})
        put(database, {**granted, "Effect": "Deny"})
        assert not allowed(nobody.get_item, **KEY)


def test_without_an_access_file_policies_are_only_kept() -> None:
    with hashrange.connect() as database:
        create_things(database)
        arn = THINGS.replace(ACCOUNT, "000000000000")
        put(database, granting("Deny", "dynamodb:GetItem", f"{USER}ann"), arn=arn)
        assert database.execute("GetItem", KEY) == {}
