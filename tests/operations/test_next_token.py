"""Tokens of ExecuteStatement that were tampered with are refused, whatever they contain."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hashrange
from hashrange.model.errors import ValidationException

QUERY = "SELECT * FROM \"rows\" WHERE pk = 'p'"
SCAN = 'SELECT * FROM "rows"'


@pytest.fixture(scope="module")
def database() -> Iterator[hashrange.Database]:
    with hashrange.connect() as database:
        names = [("pk", "HASH"), ("sk", "RANGE")]
        database.execute(
            "CreateTable",
            {
                "TableName": "rows",
                "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in names],
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": kind}
                    for name, kind in (("pk", "S"), ("sk", "N"))
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for number in "123":
            item = {"pk": {"S": "p"}, "sk": {"N": number}}
            database.execute("PutItem", {"TableName": "rows", "Item": item})
        yield database


def page(database: hashrange.Database, text: str, **more: Any) -> dict[str, Any]:
    return database.execute("ExecuteStatement", {"Statement": text, "Limit": 1, **more})


def forged(token: str, partition: Any, key: Any) -> str:
    digest, *_ = json.loads(urlsafe_b64decode(token))
    return urlsafe_b64encode(json.dumps([digest, partition, key]).encode()).decode()


FORGED: list[tuple[Any, Any]] = [
    (-1, None),
    (1, None),
    (2**70, None),
    ("0", None),
    (0, {}),
    (0, {"pk": {"S": "p"}}),
    (0, {"pk": {"S": "p"}, "sk": {"S": "1"}}),
    (0, {"pk": {"S": "p"}, "sk": {"N": "x"}}),
    (0, {"pk": {"S": "p"}, "sk": {"N": "1"}, "x": {"S": "1"}}),
    (0, {"pk": {"S": "p", "N": "1"}, "sk": {"N": "1"}}),
    (0, {"pk": {"B": "?"}, "sk": {"N": "1"}}),
    (0, {"pk": {"X": "p"}, "sk": {"N": "1"}}),
    (0, {"pk": {"SS": ["p"]}, "sk": {"N": "1"}}),
    (0, {"pk": {}, "sk": {}}),
    (0, {"pk": {"S": ""}, "sk": {"N": "1"}}),
    (0, [1]),
]


@pytest.mark.parametrize("text", [QUERY, SCAN])
@pytest.mark.parametrize(("partition", "key"), FORGED)
def test_forged(database: hashrange.Database, text: str, partition: Any, key: Any) -> None:
    token = forged(page(database, text)["NextToken"], partition, key)
    with pytest.raises(ValidationException, match=r"^Invalid NextToken$"):
        page(database, text, NextToken=token)


def test_a_key_of_another_partition(database: hashrange.Database) -> None:
    token = forged(page(database, QUERY)["NextToken"], 0, {"pk": {"S": "q"}, "sk": {"N": "1"}})
    with pytest.raises(ValidationException, match=r"^Invalid NextToken$"):
        page(database, QUERY, NextToken=token)


@given(st.one_of(st.text(min_size=1, max_size=60), st.binary(min_size=1, max_size=60)))
def test_any_token_is_refused(database: hashrange.Database, content: str | bytes) -> None:
    token = content if isinstance(content, str) else urlsafe_b64encode(content).decode()
    with pytest.raises(ValidationException):
        page(database, QUERY, NextToken=token)


def test_nested_tokens(database: hashrange.Database) -> None:
    content = b'["",0,' + b"[" * 20_000
    token = urlsafe_b64encode(content).decode()
    with pytest.raises(ValidationException, match=r"^Invalid NextToken$"):
        page(database, QUERY, NextToken=token)
