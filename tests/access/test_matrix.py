"""Every operation, signed and over HTTP, as users whose policies differ in one thing each.

What touches items is in `ROWS`, and asked for by key, attribute, table and index; all other
operations have no such condition keys, so a policy that requires one must deny them.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.client import HTTPConnection
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from access_files import (
    ACCOUNT,
    REGION,
    TABLES,
    THINGS,
    access_file,
    document,
    keys_file,
    statement,
)
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from msgspec import Struct

from conformance.conftest import serving
from conformance.service_model import input_shapes
from conformance.test_resources import ACTIONS, MORE_ACTIONS, simplest
from hashrange.testing.postgres_server import PostgresServer

OWN, FOREIGN = "ann#1", "bob#1"
FREE, SECRET = "n", "secret"
INDEX = f"{THINGS}/index/by_owner"
T = {"TableName": "things"}


# ---- what is asked ----


class Row(Struct, frozen=True):
    """A request by keys and an attribute, and what it needs.

    `whole` is one of several members, all of which must be allowed.
    """

    operation: str
    actions: tuple[str, ...]
    request: Callable[[list[str], str], dict[str, Any]]
    leading: bool = True
    index: bool = False
    whole: bool = False


def key(value: str) -> dict[str, Any]:
    return {"pk": {"S": value}}


def of_item(**more: Any) -> Callable[[list[str], str], dict[str, Any]]:
    """A request for one item by its key; `#a` stands for the attribute."""
    return lambda keys, attribute: {
        **T,
        "Key": key(keys[0]),
        "ExpressionAttributeNames": {"#a": attribute},
        **more,
    }


def put(value: str, attribute: str) -> dict[str, Any]:
    return {**key(value), attribute: {"S": "x"}}


def query(keys: list[str], attribute: str) -> dict[str, Any]:
    return {
        **T,
        "KeyConditionExpression": "pk = :v",
        "ProjectionExpression": "#a",
        "ExpressionAttributeNames": {"#a": attribute},
        "ExpressionAttributeValues": {":v": {"S": keys[0]}},
    }


def query_index(keys: list[str], attribute: str) -> dict[str, Any]:
    return {
        **query(keys, attribute),
        "KeyConditionExpression": "#o = :v",
        "ExpressionAttributeNames": {"#a": attribute, "#o": "owner"},
        "IndexName": "by_owner",
    }


def scan(keys: list[str], attribute: str) -> dict[str, Any]:
    return {**T, "ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": attribute}}


def batch_get(keys: list[str], attribute: str) -> dict[str, Any]:
    wanted = {"Keys": [key(each) for each in keys], "ProjectionExpression": f"pk, {attribute}"}
    return {"RequestItems": {"things": wanted}}


def batch_put(keys: list[str], attribute: str) -> dict[str, Any]:
    puts = [{"PutRequest": {"Item": put(each, attribute)}} for each in keys]
    return {"RequestItems": {"things": puts}}


def batch_delete(keys: list[str], attribute: str) -> dict[str, Any]:
    """With a put of an own item, so that it names the attribute."""
    deletes = [{"DeleteRequest": {"Key": key(each)}} for each in keys]
    own = {"PutRequest": {"Item": put("ann#2", attribute)}}
    return {"RequestItems": {"things": [own, *deletes]}}


def transact_get(keys: list[str], attribute: str) -> dict[str, Any]:
    projection = {"ProjectionExpression": attribute}
    return {"TransactItems": [{"Get": {**T, "Key": key(each), **projection}} for each in keys]}


CONDITION = "attribute_exists(#a)"
MEMBERS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "Put": lambda value, attribute: {"Item": put(value, attribute)},
    "Update": lambda value, attribute: {
        "Key": key(value),
        "UpdateExpression": "REMOVE #a",
        "ExpressionAttributeNames": {"#a": attribute},
    },
    **{
        kind: lambda value, attribute: {
            "Key": key(value),
            "ConditionExpression": CONDITION,
            "ExpressionAttributeNames": {"#a": attribute},
        }
        for kind in ("Delete", "ConditionCheck")
    },
}


def transact_write(kind: str) -> Row:
    def request(keys: list[str], attribute: str) -> dict[str, Any]:
        return {"TransactItems": [{kind: {**T, **MEMBERS[kind](each, attribute)}} for each in keys]}

    action = "ConditionCheckItem" if kind == "ConditionCheck" else f"{kind}Item"
    return Row("TransactWriteItems", (action,), request, whole=True)


TEXTS = {
    "Select": "SELECT pk, {1} FROM things WHERE pk = '{0}'",
    "Insert": "INSERT INTO things VALUE {{'pk': '{0}', '{1}': 'x'}}",
    "Update": "UPDATE things REMOVE {1} WHERE pk = '{0}'",
    "Delete": "DELETE FROM things WHERE pk = '{0}' AND {1} = 'x'",
}
EXISTS = "EXISTS(SELECT * FROM things WHERE pk = '{0}' AND {1} = 'x')"


def by_text(kind: str, text: str) -> Iterator[Row]:
    def texts(keys: list[str], attribute: str) -> list[dict[str, Any]]:
        return [{"Statement": text.format(each, attribute)} for each in keys]

    actions = (f"PartiQL{kind}",)
    if text != EXISTS:
        yield Row("ExecuteStatement", actions, lambda *asked: texts(*asked)[0])
        yield Row("BatchExecuteStatement", actions, lambda *asked: {"Statements": texts(*asked)})
    yield Row(
        "ExecuteTransaction",
        actions,
        lambda *asked: {"TransactStatements": texts(*asked)},
        whole=True,
    )


def select_index(keys: list[str], attribute: str) -> dict[str, Any]:
    columns = f"pk, {attribute}"
    return {
        "Statement": f"SELECT {columns} FROM things.by_owner WHERE \"owner\" = '{keys[0]}'",
    }


def one(operation: str, request: Callable[[list[str], str], dict[str, Any]], **more: bool) -> Row:
    return Row(operation, (operation,), request, **more)


ROWS = [
    one("GetItem", of_item(ProjectionExpression="#a")),
    one("PutItem", lambda keys, attribute: {**T, "Item": put(keys[0], attribute)}),
    one("UpdateItem", of_item(UpdateExpression="REMOVE #a")),
    one("DeleteItem", of_item(ConditionExpression=CONDITION)),
    one("Query", query),
    one("Query", query_index, index=True),
    one("Scan", scan, leading=False),
    one(
        "Scan", lambda *asked: {**scan(*asked), "IndexName": "by_owner"}, leading=False, index=True
    ),
    one("BatchGetItem", batch_get, whole=True),
    one("BatchWriteItem", batch_put, whole=True),
    one("BatchWriteItem", batch_delete, whole=True),
    Row("TransactGetItems", ("GetItem",), transact_get, whole=True),
    *map(transact_write, MEMBERS),
    *chain.from_iterable(by_text(*each) for each in TEXTS.items()),
    *by_text("Select", EXISTS),
    Row("ExecuteStatement", ("PartiQLSelect",), select_index, index=True),
    Row(
        "ExecuteStatement",
        ("PartiQLSelect",),
        lambda keys, attribute: {"Statement": f"SELECT pk, {attribute} FROM things"},
        leading=False,
    ),
]
OTHERS = sorted(set(simplest()) - {row.operation for row in ROWS})


def other(operation: str, table: str) -> dict[str, Any]:
    text = json.dumps(simplest()[operation])
    for old, new in (
        ("eu-west-1:111122223333", f"{REGION}:{ACCOUNT}"),
        ('"aaa"', f'"{table}"'),
        ("table/aaa", f"table/{table}"),
        ("table/books", f"table/{table}"),
    ):
        text = text.replace(old, new)
    found: dict[str, Any] = json.loads(text)
    return found


# ---- who asks ----


def only(actions: tuple[str, ...]) -> str:
    return "only" + "".join(actions)


def but(actions: tuple[str, ...]) -> str:
    return "but" + "".join(actions)


def needed(operation: str) -> tuple[str, ...]:
    more = ("TagResource",) if operation == "CreateTable" else MORE_ACTIONS.get(operation, ())
    return (ACTIONS.get(operation, operation), *more)


def required(name: str, *values: str) -> str:
    """Everything, if a condition key is there and has only these values."""
    own = f"dynamodb:{name}"
    condition = {"ForAllValues:StringLike": {own: values}, "Null": {own: "false"}}
    return document(statement("Allow", "*", Condition=condition))


def users() -> dict[str, str]:
    found = {
        "nobody": "",
        "all": document(statement("Allow", "*")),
        "table": document(statement("Allow", "*", THINGS)),
        "index": document(statement("Allow", "*", INDEX)),
        "other": document(statement("Allow", "*", [f"{TABLES}others", f"{TABLES}others/*"])),
        "leading": required("LeadingKeys", "ann#*"),
        "attribute": required("Attributes", "pk", "owner", FREE),
    }
    for actions in {row.actions for row in ROWS} | {needed(each) for each in OTHERS}:
        named = [f"dynamodb:{each}" for each in actions]
        found[only(actions)] = document(statement("Allow", named))
        found[but(actions)] = document(statement("Allow", "*"), statement("Deny", named[0]))
    return found


class Asking:
    """Signed requests over one connection; `padding` makes each of them larger."""

    def __init__(self, url: str, padding: int = 0) -> None:
        self._host = url.removeprefix("http://")
        self._connection = HTTPConnection(self._host)
        self._padding = b" " * padding
        self._targets = {each.partition(".")[2]: each for each in input_shapes()}

    def __call__(self, user: str, operation: str, request: dict[str, Any]) -> tuple[int, Any]:
        """The number of members that are denied, or whether the request is, and the answer."""
        target = self._targets[operation]
        body = json.dumps(request).encode() + self._padding
        headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
        signed = AWSRequest("POST", f"http://{self._host}/", headers, body)
        credentials = Credentials(user.upper(), f"secret-of-{user}")
        SigV4Auth(credentials, "dynamodb", REGION).add_auth(signed)
        self._connection.request("POST", "/", body, dict(signed.headers.items()))
        with self._connection.getresponse() as response:
            answer = json.loads(response.read())
        if operation == "BatchExecuteStatement":
            codes = [each.get("Error", {}).get("Code") for each in answer["Responses"]]
            return codes.count("AccessDenied"), answer
        return "AccessDenied" in answer.get("__type", ""), answer


# ---- what comes of it ----


def expected(row: Row) -> Iterator[tuple[str, list[str], str, int]]:
    """Users, keys and an attribute, and the number of denials."""
    mine = [OWN], FREE
    yield "nobody", *mine, 1
    yield "all", *mine, 0
    yield only(row.actions), *mine, 0
    yield but(row.actions), *mine, 1
    yield "other", *mine, 1
    yield "table", *mine, int(row.index)
    yield "index", *mine, int(not row.index)
    yield "attribute", *mine, 0
    yield "attribute", [OWN], SECRET, 1
    for key in (FOREIGN, OWN, FOREIGN):  # again, since answers are remembered
        yield "leading", [key], FREE, int(not row.leading or key == FOREIGN)
    if row.whole or row.operation == "BatchExecuteStatement":
        yield "leading", [OWN, FOREIGN], FREE, 1
        yield "leading", [FOREIGN, OWN], FREE, 1
        yield "nobody", [OWN, FOREIGN], FREE, 1 if row.whole else 2


def check_rows(ask: Asking, users: frozenset[str]) -> None:
    for row in ROWS:
        for user, keys, attribute, denials in expected(row):
            if user not in users:
                continue
            request = row.request(keys, attribute)
            denied, answer = ask(user, row.operation, request)
            assert denied == denials, f"{user} {row.operation} {request} {answer}"


def check_others(ask: Asking, users: frozenset[str]) -> None:
    """Whoever is allowed asks for a table that does not exist, so that nothing changes."""
    for operation in OTHERS:
        actions = needed(operation)
        for user in sorted({"nobody", but(actions), "other", "leading", "attribute"} & users):
            denied, answer = ask(user, operation, other(operation, "things"))
            assert denied, f"{user} {operation} {answer}"
        for user in sorted({"all", only(actions)} & users):
            denied, answer = ask(user, operation, other(operation, "absent"))
            assert not denied, f"{user} {operation} {answer}"


def asking(folder: Path, *arguments: object) -> AbstractContextManager[str]:
    found = users()
    files = ("--access", access_file(folder, found), "--keys", keys_file(folder, *found))
    return serving(*arguments, *files)


def create(ask: Asking) -> None:
    names = ("pk", "owner")
    _, answer = ask(
        "root",
        "CreateTable",
        {
            **T,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in names
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by_owner",
                    "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
    )
    assert "TableDescription" in answer


def test_every_operation_is_denied_by_each_condition(tmp_path: Path) -> None:
    with asking(tmp_path) as url:
        ask = Asking(url)
        create(ask)
        everybody = frozenset(users())
        check_rows(ask, everybody)
        check_others(ask, everybody)


LARGE = 513 * 1024
"""A body of this size is evaluated in another process."""


@pytest.mark.deep
def test_large_requests_are_denied_over_postgresql(
    tmp_path: Path, durable_postgres_server: PostgresServer
) -> None:
    with asking(tmp_path, durable_postgres_server.new_schema()) as url:
        create(Asking(url))
        ask = Asking(url, LARGE)
        some = frozenset({"nobody", "leading"})
        check_rows(ask, some)
        check_others(ask, some)
