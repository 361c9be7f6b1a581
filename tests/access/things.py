"""A database with two tables, whose users have policies, and requests for it."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from access_files import access_file, allowed, client_of, create_things, document, statement

import hashrange

ITEM = {"pk": {"S": "ann#1"}, "owner": {"S": "ann"}, "secret": {"S": "x"}, "n": {"N": "1"}}
OTHER = {"pk": {"S": "bob#1"}, "owner": {"S": "bob"}, "secret": {"S": "y"}}


def opened(folder: Path, **users: str) -> hashrange.Database:
    """A database with two tables and two items, and these users with their policies."""
    path = access_file(folder, users)
    database = hashrange.connect(settings=hashrange.Settings(access=path))
    for name in ("things", "others"):
        create_things(database, name)
        for item in (ITEM, OTHER):
            database.execute("PutItem", {"TableName": name, "Item": item})
    return database


class Asked:
    """Asks as a user who has one condition on everything."""

    def __init__(self, folder: Path, opened_until: ExitStack) -> None:
        self._folder = folder
        self._opened_until = opened_until
        self._clients: dict[str, Any] = {}

    def __call__(self, condition: Any, call: str, /, resource: Any = "*", **request: Any) -> bool:
        policy = document(statement("Allow", "*", resource, Condition=condition))
        if policy not in self._clients:
            database = self._opened_until.enter_context(opened(self._folder, ann=policy))
            self._clients[policy] = client_of(database, "ann")
        return allowed(getattr(self._clients[policy], call), **request)


T = {"TableName": "things"}
ANN, BOB = {"pk": {"S": "ann#1"}}, {"pk": {"S": "bob#1"}}
LEADING = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "${aws:username}#*"}}


def query(value: str, **more: Any) -> dict[str, Any]:
    return {
        **T,
        "KeyConditionExpression": "pk = :v",
        "ExpressionAttributeValues": {":v": {"S": value}},
        **more,
    }


PARTIQL = "SELECT * FROM things WHERE pk = "
