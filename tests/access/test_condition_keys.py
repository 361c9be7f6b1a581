"""What conditions see of requests: partition keys, attributes, tags, enclosing operations."""

from pathlib import Path
from typing import Any

import pytest
from access_files import (
    TABLES,
    THINGS,
    USER,
    access_file,
    allowed,
    client_of,
    create_things,
    document,
    statement,
)

import hashrange
from hashrange.testing import TestClock

from .things import ANN, BOB, ITEM, LEADING, OTHER, PARTIQL, Asked, T, opened, query


def writes(*members: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"TransactItems": [{kind: {**T, **given}} for kind, given in members]}


CHECK = {"ConditionExpression": "attribute_exists(pk)"}


@pytest.mark.parametrize(
    ("call", "own", "foreign"),
    [
        ("get_item", {**T, "Key": ANN}, {**T, "Key": BOB}),
        ("put_item", {**T, "Item": ITEM}, {**T, "Item": OTHER}),
        ("delete_item", {**T, "Key": ANN}, {**T, "Key": BOB}),
        ("update_item", {**T, "Key": ANN}, {**T, "Key": BOB}),
        ("query", query("ann#1"), query("bob#1")),
        (
            "query",
            {**T, "KeyConditions": {"pk": {"ComparisonOperator": "EQ",
                                           "AttributeValueList": [{"S": "ann#1"}]}}},
            {**T, "KeyConditions": {"pk": {"ComparisonOperator": "EQ",
                                           "AttributeValueList": [{"S": "bob#1"}]}}},
        ),
        (
            "batch_get_item",
            {"RequestItems": {"things": {"Keys": [ANN]}}},
            {"RequestItems": {"things": {"Keys": [ANN, BOB]}}},
        ),
        (
            "batch_write_item",
            {"RequestItems": {"things": [{"PutRequest": {"Item": ITEM}}]}},
            {"RequestItems": {"things": [{"PutRequest": {"Item": ITEM}},
                                         {"DeleteRequest": {"Key": BOB}}]}},
        ),
        (
            "transact_get_items",
            {"TransactItems": [{"Get": {**T, "Key": ANN}}]},
            {"TransactItems": [{"Get": {**T, "Key": ANN}}, {"Get": {**T, "Key": BOB}}]},
        ),
        ("transact_write_items", writes(("Put", {"Item": ITEM})), writes(("Put", {"Item": OTHER}))),
        (
            "transact_write_items",
            writes(("Delete", {"Key": ANN})),
            writes(("Put", {"Item": ITEM}), ("Delete", {"Key": BOB})),
        ),
        (
            "transact_write_items",
            writes(("ConditionCheck", {"Key": ANN, **CHECK})),
            writes(("Put", {"Item": ITEM}), ("ConditionCheck", {"Key": BOB, **CHECK})),
        ),
        (
            "transact_write_items",
            writes(("Update", {"Key": ANN, "UpdateExpression": "REMOVE n"})),
            writes(("Update", {"Key": BOB, "UpdateExpression": "REMOVE n"})),
        ),
        (
            "execute_statement",
            {"Statement": PARTIQL + "'ann#1'"},
            {"Statement": PARTIQL + "'bob#1'"},
        ),
        (
            "execute_statement",
            {"Statement": PARTIQL + "?", "Parameters": [{"S": "ann#1"}]},
            {"Statement": PARTIQL + "'ann#1' OR pk = 'bob#1'"},
        ),
        (
            "execute_statement",
            {"Statement": "SELECT * FROM things WHERE pk IN ['ann#1', 'ann#2']"},
            {"Statement": "SELECT * FROM things WHERE pk IN ['ann#1', 'bob#1']"},
        ),
        (
            "execute_statement",
            {"Statement": "UPDATE things SET n=1 WHERE pk='ann#1'"},
            {"Statement": "UPDATE things SET n=1 WHERE pk='bob#1'"},
        ),
        (
            "execute_statement",
            {"Statement": "DELETE FROM things WHERE pk='ann#1'"},
            {"Statement": "DELETE FROM things WHERE pk='bob#1'"},
        ),
        (
            "execute_statement",
            {"Statement": "INSERT INTO things VALUE {'pk': 'ann#2'}"},
            {"Statement": "INSERT INTO things VALUE {'pk': 'bob#2'}"},
        ),
        (
            "execute_transaction",
            {"TransactStatements": [{"Statement": PARTIQL + "'ann#1'"}]},
            {"TransactStatements": [{"Statement": PARTIQL + "'ann#1'"},
                                    {"Statement": PARTIQL + "'bob#1'"}]},
        ),
        (
            "execute_transaction",
            {"TransactStatements": [{"Statement": "EXISTS(SELECT * FROM things WHERE "
                                                  "pk='ann#1' AND attribute_exists(n))"}]},
            {"TransactStatements": [{"Statement": "EXISTS(SELECT * FROM things WHERE "
                                                  "pk='bob#1' AND attribute_exists(n))"}]},
        ),
        (
            # Other conditions on the key make a SELECT a scan; EXISTS still reads one item.
            "execute_transaction",
            {"TransactStatements": [{"Statement": "EXISTS(SELECT * FROM things WHERE "
                                                  "pk='ann#1' AND pk<>'x' AND secret='y')"}]},
            {"TransactStatements": [{"Statement": "EXISTS(SELECT * FROM things WHERE "
                                                  "pk='bob#1' AND pk<>'x' AND secret='y')"}]},
        ),
    ],
)  # fmt: skip
def test_leading_keys(may: Asked, call: str, own: Any, foreign: Any) -> None:
    assert may(LEADING, call, **own)
    assert not may(LEADING, call, **foreign)


def test_leading_keys_of_an_index_are_those_of_the_index(may: Asked) -> None:
    by_owner = {
        **T,
        "IndexName": "by_owner",
        "KeyConditionExpression": "#o = :v",
        "ExpressionAttributeNames": {"#o": "owner"},
    }
    exactly = {"ForAllValues:StringEquals": {"dynamodb:FirstPartitionKeyValues": ["ann"]}}
    for owner in ("ann", "bob"):
        request = {**by_owner, "ExpressionAttributeValues": {":v": {"S": owner}}}
        assert may(exactly, "query", **request) is (owner == "ann")
        index = {"Statement": f"SELECT * FROM things.by_owner WHERE owner = '{owner}'"}
        assert may(exactly, "execute_statement", **index) is (owner == "ann")


def test_a_scan_has_no_leading_keys(may: Asked) -> None:
    """As on the service: ForAllValues lets it through, and ForAnyValue does not."""
    any_value = {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": "ann#*"}}
    assert may(LEADING, "scan", **T)
    assert not may(any_value, "scan", **T)
    no_scan = {"Bool": {"dynamodb:FullTableScan": "false"}}
    for text, allowed_ in (
        ("SELECT * FROM things", False),
        ("SELECT * FROM things WHERE n = 1", False),
        ("SELECT * FROM things WHERE pk > 'a'", False),
        ("SELECT * FROM things WHERE pk = 'ann#1'", True),
        ("SELECT * FROM things WHERE pk = 'ann#1' AND pk <> 'x'", False),
    ):
        assert may(no_scan, "execute_statement", Statement=text) is allowed_, text
    check = "EXISTS(SELECT * FROM things WHERE pk='ann#1' AND pk<>'x')"
    assert may(no_scan, "execute_transaction", TransactStatements=[{"Statement": check}])
    # A statement that names two keys is refused for that, not for its keys.
    both = "DELETE FROM things WHERE pk = 'ann#1' AND pk = 'bob#1'"
    assert may(LEADING, "execute_statement", Statement=both)
    assert not may(any_value, "execute_statement", Statement=both)


PUBLIC: dict[str, Any] = {
    "ForAllValues:StringEquals": {"dynamodb:Attributes": ["pk", "owner", "n"]},
    "StringEqualsIfExists": {
        "dynamodb:Select": "SPECIFIC_ATTRIBUTES",
        "dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"],
    },
}
NAMES = {"ExpressionAttributeNames": {"#s": "secret"}}
VALUE = {"ExpressionAttributeValues": {":x": {"S": "x"}}}


@pytest.mark.parametrize(
    ("call", "own", "foreign"),
    [
        ("get_item", {"ProjectionExpression": "n"}, {"ProjectionExpression": "#s", **NAMES}),
        ("get_item", {"AttributesToGet": ["n"]}, {}),
        ("get_item", {"ProjectionExpression": "n"}, {"ProjectionExpression": "n, secret.a"}),
        ("update_item", {"UpdateExpression": "REMOVE n"}, {"UpdateExpression": "REMOVE secret"}),
        ("update_item", {"UpdateExpression": "SET n = pk"}, {"UpdateExpression": "SET n = secret"}),
        (
            "update_item",
            {"AttributeUpdates": {"n": {"Action": "DELETE"}}},
            {"AttributeUpdates": {"secret": {"Action": "DELETE"}}},
        ),
        (
            "update_item",
            {"UpdateExpression": "REMOVE n", "ReturnValues": "UPDATED_OLD"},
            {"UpdateExpression": "REMOVE n", "ReturnValues": "ALL_OLD"},
        ),
        (
            "delete_item",
            {"ConditionExpression": "attribute_exists(n)"},
            {"ConditionExpression": "attribute_exists(n) OR secret = :x", **VALUE},
        ),
        (
            "delete_item",
            {"Expected": {"n": {"Exists": False}}},
            {"Expected": {"secret": {"Exists": False}}},
        ),
    ],
)
def test_attributes(may: Asked, call: str, own: Any, foreign: Any) -> None:
    assert may(PUBLIC, call, **T, Key=ANN, **own)
    assert not may(PUBLIC, call, **T, Key=ANN, **foreign)


@pytest.mark.parametrize("more", [{}, LEADING])
def test_what_requests_share_is_only_what_they_have_in_common(may: Asked, more: Any) -> None:
    """Each is asked twice, among others of its operation that differ from it in one parameter."""
    shared = {**PUBLIC["StringEqualsIfExists"], "dynamodb:ReturnConsumedCapacity": "NONE"}
    policy = {**PUBLIC, "StringEqualsIfExists": shared, **more}
    key, item = {"Key": ANN}, {"Item": {**ANN, "n": {"N": "1"}}}
    put_secret = {"Item": {**ANN, "secret": {"S": "y"}}}
    n, secret = ({"ConditionExpression": f"attribute_exists({each})"} for each in ("n", "secret"))
    total, all_old = {"ReturnConsumedCapacity": "TOTAL"}, {"ReturnValues": "ALL_OLD"}
    some, remove = {"ProjectionExpression": "n"}, {"UpdateExpression": "REMOVE n"}
    hidden = {"UpdateExpression": "REMOVE secret"}
    requests: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
        ("get_item", {**key, **some}, [key, total, {"ProjectionExpression": "secret"}]),
        ("put_item", item, [put_secret, total, all_old, secret]),
        ("put_item", {**item, **n}, [put_secret, secret]),
        ("update_item", {**key, **remove}, [hidden, total, all_old, secret]),
        ("delete_item", {**key, **n}, [total, all_old, secret]),
    ]
    for call, own, changes in requests * 2:
        assert may(policy, call, **T, **own)
        foreign = {name: {**value, **BOB} for name, value in own.items() if name in ("Key", "Item")}
        assert may(policy, call, **T, **{**own, **foreign}) is not bool(more)
        for change in changes:
            changed = change if change == key else {**own, **change}
            assert not may(policy, call, **T, **changed), change


def test_attributes_of_other_requests(may: Asked) -> None:
    def item(*names: str) -> dict[str, Any]:
        return {"pk": {"S": "ann#1"}, **{name: {"N": "1"} for name in names}}

    def text(columns: str, where: str = "") -> dict[str, Any]:
        return {"Statement": f"SELECT {columns} FROM things WHERE pk = 'a'{where}"}

    n, secret = {"ProjectionExpression": "n"}, {"ProjectionExpression": "secret"}
    assert may(PUBLIC, "put_item", **T, Item=item("n"))
    assert not may(PUBLIC, "put_item", **T, Item=item("secret"))
    assert may(PUBLIC, "query", **query("a", **n))
    assert not may(PUBLIC, "query", **query("a", **secret))
    assert not may(PUBLIC, "query", **query("a"))
    assert not may(PUBLIC, "query", **query("a", Select="COUNT"))
    filtered = {**n, "FilterExpression": "attribute_exists(secret)"}
    assert not may(PUBLIC, "query", **query("a", **filtered))
    assert not may(PUBLIC, "scan", **T, **filtered)
    assert may(PUBLIC, "scan", **T, **n)
    for key, condition in (("n", n), ("secret", secret)):
        wanted = {"Keys": [ANN], **condition}
        assert may(PUBLIC, "batch_get_item", RequestItems={"things": wanted}) is (key == "n")
        got = [{"Get": {**T, "Key": ANN, **condition}}]
        assert may(PUBLIC, "transact_get_items", TransactItems=got) is (key == "n")
        put = [{"PutRequest": {"Item": item(key)}}]
        assert may(PUBLIC, "batch_write_item", RequestItems={"things": put}) is (key == "n")
        assert may(PUBLIC, "execute_statement", **text(key)) is (key == "n")
        assert may(PUBLIC, "execute_statement", **text("n", f" AND {key} = 1")) is (key == "n")
        updated = f"UPDATE things SET n = {key} WHERE pk = 'ann#1'"
        assert may(PUBLIC, "execute_statement", Statement=updated) is (key == "n")
    assert not may(PUBLIC, "execute_statement", **text("*"))
    returning = "UPDATE things REMOVE n WHERE pk = 'ann#1' RETURNING {} OLD *"
    for which in ("ALL", "MODIFIED"):
        asked = {"Statement": returning.format(which)}
        assert may(PUBLIC, "execute_statement", **asked) is (which == "MODIFIED")


def test_operations_that_enclose_others(may: Asked) -> None:
    inside = {"StringEquals": {"dynamodb:EnclosingOperation": "TransactWriteItems"}}
    assert may(inside, "transact_write_items", **writes(("Put", {"Item": ITEM})))
    assert not may(inside, "put_item", **T, Item=ITEM)
    inside = {"StringEquals": {"dynamodb:EnclosingOperation": "ExecuteTransaction"}}
    text = {"Statement": "INSERT INTO things VALUE {'pk': 'ann#2'}"}
    assert may(inside, "execute_transaction", TransactStatements=[text])
    assert not may(inside, "execute_statement", **text)


def test_tags(may: Asked) -> None:
    arn = THINGS
    blue = {"ForAllValues:StringEquals": {"aws:TagKeys": ["team"]}}
    tags = [{"Key": "team", "Value": "blue"}]
    assert may(blue, "tag_resource", ResourceArn=arn, Tags=tags)
    assert not may(blue, "tag_resource", ResourceArn=arn, Tags=[{"Key": "x", "Value": "blue"}])
    assert not may(blue, "untag_resource", ResourceArn=arn, TagKeys=["team", "x"])
    value = {"StringEquals": {"aws:RequestTag/Team": "blue"}}
    assert may(value, "tag_resource", ResourceArn=arn, Tags=tags)
    assert not may(value, "tag_resource", ResourceArn=arn, Tags=[{**tags[0], "Value": "red"}])


def test_a_table_that_carries_a_tag(folder: Path) -> None:
    tagged = {"StringEquals": {"aws:ResourceTag/team": "${aws:username}"}}
    policy = document(statement("Allow", "*", Condition=tagged))
    with opened(folder, ann=policy) as database:
        ann = client_of(database, "ann")
        assert not allowed(ann.get_item, **T, Key=ANN)
        tags = [{"Key": "team", "Value": "ann"}]
        database.execute("TagResource", {"ResourceArn": THINGS, "Tags": tags})
        assert allowed(ann.get_item, **T, Key=ANN)
        assert allowed(ann.query, **query("x"))
        assert not allowed(ann.get_item, TableName="others", Key=ANN)
        foreign = THINGS.replace("us-east-1", "eu-west-1")
        assert not allowed(ann.get_item, TableName=foreign, Key=ANN)
        database.execute("UntagResource", {"ResourceArn": THINGS, "TagKeys": ["team"]})
        assert not allowed(ann.get_item, **T, Key=ANN)


@pytest.mark.parametrize("name", ["backup", "export", "import", "stream", "index"])
def test_tables_have_any_names(folder: Path, name: str) -> None:
    """A table `backup` is no backup: it and its indexes have tags and a policy."""
    tagged = {"StringEquals": {"aws:ResourceTag/team": "blue"}}
    policy = document(statement("Allow", "*"), statement("Deny", "*", Condition=tagged))
    with opened(folder, ann=policy, bob=document(statement("Allow", "*"))) as database:
        create_things(database, name)
        arn = f"{TABLES}{name}"
        ann, bob = client_of(database, "ann"), client_of(database, "bob")
        for client in (ann, bob):
            assert allowed(client.scan, TableName=name, IndexName="by_owner")
            assert allowed(client.get_item, TableName=name, Key=ANN)
        database.execute(
            "TagResource", {"ResourceArn": arn, "Tags": [{"Key": "team", "Value": "blue"}]}
        )
        assert not allowed(ann.scan, TableName=name, IndexName="by_owner")
        assert not allowed(ann.get_item, TableName=name, Key=ANN)
        resource = [arn, f"{arn}/index/*"]
        denial = statement("Deny", "dynamodb:Scan", resource, Principal={"AWS": f"{USER}bob"})
        database.execute("PutResourcePolicy", {"ResourceArn": arn, "Policy": document(denial)})
        assert not allowed(bob.scan, TableName=name, IndexName="by_owner")


def test_what_depends_on_time_is_not_remembered(folder: Path) -> None:
    until = {"DateLessThan": {"aws:CurrentTime": "2026-11-26T12:00:00Z"}, **LEADING}
    access = access_file(folder, {"ann": document(statement("Allow", "*", Condition=until))})
    clock = TestClock("2026-11-26T11:59:59")
    settings = hashrange.Settings(access=access)
    with hashrange.connect(clock=clock, settings=settings) as database:
        create_things(database)
        clock.advance(0.5)
        ann = client_of(database, "ann")
        for _ in range(2):
            assert allowed(ann.get_item, **T, Key=ANN)
            assert not allowed(ann.get_item, **T, Key=BOB)
        clock.advance(1)
        assert not allowed(ann.get_item, **T, Key=ANN)
