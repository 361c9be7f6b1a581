"""The condition keys that tell about the principal, the request and its resource, as they are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from access_files import (
    ACCOUNT,
    THINGS,
    USER,
    access_file,
    allowed,
    create_things,
    document,
    statement,
)

import hashrange
from hashrange.model.caller import Caller
from hashrange.model.errors import AccessDeniedException
from hashrange.testing import TestClock

SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/nightly"
AROUND = {
    "aws:principalaccount": (ACCOUNT,),
    "aws:principalisawsservice": ("false",),
    "aws:viaawsservice": ("false",),
    "aws:requestedregion": ("us-east-1",),
    "aws:resourceaccount": (ACCOUNT,),
    "aws:securetransport": ("false",),
    "aws:currenttime": ("2026-11-26T12:00:00Z",),
    "aws:epochtime": ("1795694400",),
    "aws:resourcetag/kind": ("a",),
}


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[hashrange.Database]:
    users = {
        "ann": 'tags = { Team = "blue" }',
        "far": document(
            statement("Allow", "*", Condition=equal("aws:RequestedRegion", "eu-west-1"))
        ),
        "tls": document(
            statement("Allow", "*", Condition=equal("aws:SecureTransport", "true", "Bool"))
        ),
    }
    session = f'[[principals]]\narn = "{SESSION}"\ntags = {{ a = "b" }}'
    path = access_file(folder, users)
    path.write_text(f"{path.read_text()}\n{session}")
    settings = hashrange.Settings(access=path)
    with hashrange.connect(clock=TestClock("2026-11-26T12:00:00"), settings=settings) as opened:
        create_things(opened)
        tags = [{"Key": "kind", "Value": "a"}]
        opened.execute("TagResource", {"ResourceArn": THINGS, "Tags": tags})
        yield opened


def equal(key: str, value: str, operator: str = "StringEquals") -> dict[str, dict[str, str]]:
    return {operator: {key: value}}


def test_a_user_and_a_session(database: hashrange.Database) -> None:
    for arn, own in (
        (
            f"{USER}ann",
            {
                "aws:principalarn": (f"{USER}ann",),
                "aws:principaltype": ("User",),
                "aws:username": ("ann",),
                "aws:userid": ("ann",),
                "aws:principaltag/team": ("blue",),
            },
        ),
        (
            SESSION,
            {
                "aws:principalarn": (f"arn:aws:iam::{ACCOUNT}:role/worker",),
                "aws:principaltype": ("AssumedRole",),
                "aws:userid": ("worker:nightly",),
                "aws:principaltag/a": ("b",),
            },
        ),
    ):
        asked = database.explain("DescribeTable", {"TableName": "things"}, principal=arn)
        [answer] = asked["access"]
        assert answer["condition_keys"] == {**AROUND, **own}


def test_where_a_request_comes_from(database: hashrange.Database) -> None:
    assert database.access
    near, far = (
        database.boto3_session(region, principal=f"{USER}far").client("dynamodb")
        for region in ("us-east-1", "eu-west-1")
    )
    assert not allowed(near.list_tables)
    assert allowed(far.list_tables)
    principal = database.access.principal(f"{USER}tls")
    database.runtime.call("ListTables", b"{}", Caller(principal=principal, secure=True))
    with pytest.raises(AccessDeniedException):
        database.runtime.call("ListTables", b"{}", Caller(principal=principal))


def test_a_copy_of_a_table_has_none_of_its_tags(database: hashrange.Database) -> None:
    [answer] = database.explain(
        "DescribeBackup",
        {"BackupArn": f"{THINGS}/backup/01489602797149-73d8d5bc"},
        principal=f"{USER}ann",
    )["access"]
    assert "aws:resourcetag/kind" not in answer["condition_keys"]
