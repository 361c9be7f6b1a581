"""The query builder: every operator, and the code that it shows does what it says."""

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

import boto3
import pytest

import hashrange
from console import shop
from console.asking import Browserless
from hashrange.tools.console import Console, serving
from hashrange.tools.console.values import item_of
from hashrange.tools.target import target_of

ANN = {"pk": "customer#ann"}


def orders(*numbers: int) -> list[str]:
    return [f"order#{number:02}" for number in numbers]


def filtered(operator: str, value: str = "", kind: str = "N", **more: str) -> dict[str, str]:
    return {"fname": "total", "fop": operator, "ftype": kind, "fvalue": value, **more}


ALL = [*orders(*range(shop.ORDERS)), "profile"]
CASES = [
    (ANN, ALL),
    ({**ANN, "desc": "1"}, ALL[::-1]),
    ({**ANN, "skop": "=", "sk": "profile"}, ["profile"]),
    ({**ANN, "skop": "<", "sk": "order#02"}, orders(0, 1)),
    ({**ANN, "skop": "<=", "sk": "order#02"}, orders(0, 1, 2)),
    ({**ANN, "skop": ">", "sk": "order#10"}, [*orders(11), "profile"]),
    ({**ANN, "skop": ">=", "sk": "order#11"}, [*orders(11), "profile"]),
    ({**ANN, "skop": "between", "sk": "order#03", "sk2": "order#05"}, orders(3, 4, 5)),
    ({**ANN, "skop": "begins_with", "sk": "pro"}, ["profile"]),
    ({**ANN, **filtered("=", "20")}, orders(2)),
    ({**ANN, **filtered("<>", "20")}, [each for each in ALL if each != "order#02"]),
    ({**ANN, **filtered("<", "20")}, orders(0, 1)),
    ({**ANN, **filtered("<=", "20")}, orders(0, 1, 2)),
    ({**ANN, **filtered(">", "100")}, orders(11)),
    ({**ANN, **filtered(">=", "100")}, orders(10, 11)),
    ({**ANN, **filtered("between", "20", fvalue2="30")}, orders(2, 3)),
    ({**ANN, **filtered("in", "10, 30")}, orders(1, 3)),
    ({**ANN, **filtered("exists")}, orders(*range(shop.ORDERS))),
    ({**ANN, **filtered("not_exists")}, ["profile"]),
    ({**ANN, **filtered("type", "N", "S")}, orders(*range(shop.ORDERS))),
    ({**ANN, **filtered("begins_with", "op", "S"), "fname": "status"}, orders(0, 3, 6, 9)),
    ({**ANN, **filtered("not_contains", "e", "S"), "fname": "status"}, ["profile"]),
    ({**ANN, **filtered("=", "4"), "fname": "lines.cup"}, orders(4)),
    ({**ANN, **filtered("=", '{"M": {"cup": {"N": "4"}}}', "JSON"), "fname": "lines"}, orders(4)),
    ({**filtered("=", "20")}, orders(2)),
    ({"index": "by-status", "pk": "open", "skop": ">=", "sk": "60"}, orders(6, 9)),
    ({"index": "by-status", "pk": "open", "attributes": "sk, total"}, orders(0, 3, 6, 9)),
]


@pytest.fixture(scope="module")
def db() -> Iterator[hashrange.Database]:
    with hashrange.connect() as database:
        yield database


@pytest.fixture(scope="module")
def console(db: hashrange.Database) -> Iterator[Browserless]:
    target = target_of(db, "a database")
    shop.make(target.client)
    with serving(Console(target)) as url:
        yield Browserless(url).enter()


@pytest.fixture(scope="module")
def session(db: hashrange.Database) -> boto3.Session:
    return db.boto3_session()


def asked(console: Browserless, page: str, fields: dict[str, str]) -> str:
    answer = console.ask(f"/table/shop/query{page}?{urlencode(fields)}")
    assert answer.status == 200
    return answer.text


def code(text: str) -> dict[str, str]:
    """The request by language, from the page."""
    found = re.findall(r"code for ([^\"]+)\".*?<pre[^>]*>(.*?)</pre>", text, re.DOTALL)
    return {language: unescape(shown) for language, shown in found}


@pytest.mark.parametrize(("fields", "expected"), CASES)
@pytest.mark.deep
def test_what_is_asked_is_found_and_the_code_finds_it_too(
    console: Browserless,
    db: hashrange.Database,
    session: boto3.Session,
    fields: dict[str, str],
    expected: list[str],
) -> None:
    page = asked(console, "", {**fields, "run": "1"})
    result = "".join(re.findall(r"<tr data-row.*?</tr>", page, re.DOTALL))
    assert re.findall(r"order#\d\d|profile", result) == expected
    shown = code(page)

    variables: dict[str, Any] = {}
    with patch.object(boto3, "client", session.client):
        exec(shown["boto3"], variables)
    assert [item["sk"]["S"] for item in variables["response"]["Items"]] == expected

    assert [item["sk"]["S"] for item in _by_cli(db, shown["AWS CLI"])] == expected


def _by_cli(db: hashrange.Database, command: str) -> list[dict[str, Any]]:
    """Read the command as the AWS CLI does: JSON where the option is a structure."""
    aws, service, operation, *words = shlex.split(command.replace("\\\n", ""))
    assert (aws, service) == ("aws", "dynamodb")
    members: dict[str, Any] = {}
    while words:
        option = words.pop(0).removeprefix("--")
        name = "".join(word.capitalize() for word in option.removeprefix("no-").split("-"))
        if not words or words[0].startswith("--"):
            members[name] = not option.startswith("no-")
        else:
            text = words.pop(0)
            members[name] = int(text) if text.isdecimal() else text
    for name in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        if name in members:
            members[name] = json.loads(members[name])
    found: list[dict[str, Any]] = db.execute(operation.capitalize(), members)["Items"]
    return found


@pytest.mark.parametrize(("fields", "expected"), CASES[:1] + CASES[-3:])
def test_the_javascript_has_the_same_members(
    console: Browserless, browser: Any, fields: dict[str, str], expected: list[str]
) -> None:
    shown = code(asked(console, "/request", fields))
    literal = re.search(r"Command\((\{.*\})\)", shown["JavaScript"], re.DOTALL)
    assert literal
    page = browser.new_page()
    members = page.evaluate(f"({literal[1]})")
    page.close()
    variables: dict[str, Any] = {"dict": dict}
    called = re.search(r"client\.\w+(\(.*\))", shown["boto3"], re.DOTALL)
    assert called
    assert members == eval(f"dict{called[1]}", variables)


def test_values_are_quoted_for_each_language(console: Browserless, session: boto3.Session) -> None:
    """A value cannot leave its quotes."""
    evil = "'; rm -rf ~; echo \"${HOME}`id`\\\n\u2028</pre><script>"
    shown = code(asked(console, "/request", {"pk": evil}))
    with patch.object(boto3, "client", session.client):
        exec(shown["boto3"], {})
    values = shlex.split(shown["AWS CLI"])
    assert item_of(values[values.index("--expression-attribute-values") + 1])[":pk"]["S"] == evil


def test_the_cost_is_that_of_the_answer(console: Browserless) -> None:
    """A filter drops what has been read and paid for."""
    shown = asked(console, "/request", filtered("=", "20"))
    assert f"{shop.ORDERS + 2} items read" in shown
    assert "1 returned" in shown
    page = asked(console, "", {**filtered("=", "20"), "run": "1"})
    assert re.search(r"14 items read, 1 on this page, [\d.]+ read unit", page)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"index": "by-status", "pk": "open", "sk": "many"}, "many"),
        ({**ANN, "skop": "nonsense", "sk": "x"}, "not an operator"),
        ({**ANN, **filtered("=", "no", "BOOL")}, "true or false"),
        ({**ANN, **filtered("=", "?", "B")}, "base64"),
        ({**ANN, **filtered("=", "{", "JSON")}, "not JSON"),
        ({**ANN, "limit": "x"}, "not a number"),
    ],
)
def test_a_mistake_is_told_beside_the_form(
    console: Browserless, fields: dict[str, str], said: str
) -> None:
    for page, run in (("", "1"), ("/request", "")):
        text = asked(console, page, {**fields, "run": run})
        assert said in text.partition('role="alert"')[2]


def test_an_index_that_does_not_exist(console: Browserless) -> None:
    answer = console.ask("/table/shop/query?index=nope")
    assert answer.status == 404
    assert "no index nope" in answer.text
