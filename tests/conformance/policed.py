"""A database that asks its policies, for a client who may do everything and one who may do nothing.

The first is allowed by a policy whose conditions need every condition key, so all of them are found
for each request of the suite. The answers must be those of a database without policies.

Each request is sent by the second client before: to this database, and to one that has never had a
table. It must be refused by both in the same words: who may do nothing learns nothing from what is
stored. The suite's own tests then show that the request has changed nothing.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hashrange
from hashrange.access.actions import GLOBAL_KEYS, OWN_KEYS
from hashrange.clients.calls import refusal
from hashrange.model.caller import DEFAULT_ACCOUNT, DEFAULT_REGION, Caller
from hashrange.model.errors import ApiError

USER = f"arn:aws:iam::{DEFAULT_ACCOUNT}:user/"
ALL, NOBODY = f"{USER}all", f"{USER}nobody"
TAGS = ("aws:PrincipalTag/a", "aws:RequestTag/a", "aws:ResourceTag/a")
EVERYTHING = {
    "Version": "2012-10-17",
    "Statement": {
        "Effect": "Allow",
        "Action": "dynamodb:*",
        "Resource": "*",
        "Condition": {
            "StringNotEquals": dict.fromkeys((*OWN_KEYS, *GLOBAL_KEYS, *TAGS), "no such value")
        },
    },
}


@contextmanager
def policed_session(folder: Path) -> Iterator[Any]:
    (folder / "everything.json").write_text(json.dumps(EVERYTHING))
    file = folder / "access.toml"
    file.write_text(
        f'[[principals]]\narn = "{ALL}"\npolicies = ["everything.json"]\n'
        f'[[principals]]\narn = "{NOBODY}"\n'
    )
    settings = hashrange.Settings(access=file)
    with (
        hashrange.connect(settings=settings) as database,
        hashrange.connect(settings=settings) as empty,
    ):
        session = database.boto3_session(principal=ALL)

        def ask_as_nobody(params: dict[str, Any], model: Any, **_: Any) -> None:
            told = [asked_by_nobody(each, model.name, params["body"]) for each in (database, empty)]
            assert told[0] == told[1], f"{model.name} of {params['body']!r}"

        session.events.register("before-call.dynamodb", ask_as_nobody)
        yield session


def asked_by_nobody(database: hashrange.Database, operation: str, body: bytes) -> str:
    """The refusal, in words."""
    assert database.access
    principal = database.access.principal(NOBODY)
    caller = Caller(DEFAULT_REGION, DEFAULT_ACCOUNT, "NOBODY", principal)
    try:
        answer = json.loads(database.runtime.call(operation, body, caller))
    except ApiError as error:
        found = refusal(operation, error)
        return f"{found.code}: {found.message}, {vars(found)}"
    members = answer["Responses"]
    assert operation == "BatchExecuteStatement", "only its members are refused one by one"
    assert all(set(each) <= {"Error", "TableName"} for each in members), answer
    return json.dumps(answer)
