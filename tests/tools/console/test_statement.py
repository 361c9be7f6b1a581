"""The page of PartiQL statements."""

import re
from html import unescape
from typing import Any

import pytest

from console import shop
from console.asking import Answer, Browserless, Open


@pytest.fixture
def console(client: Any, opened: Open) -> Browserless:
    shop.make(client)
    return opened(write=True).enter()


def run(console: Browserless, statement: str, **more: str) -> str:
    answer = send(console, statement, **more)
    assert answer.status == 200
    return answer.text


def send(console: Browserless, statement: str, **more: str) -> Answer:
    """As a browser does, which follows a SELECT to its address."""
    answer = console.post("/partiql", statement=statement, **more)
    return console.ask(answer.headers["location"]) if answer.status == 303 else answer


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("SELECT * FROM shop", shop.ORDERS + 2),
        ("SELECT * FROM \"shop\" WHERE pk = 'customer#ann' AND begins_with(sk, 'o')", 12),
        ('select sk, total from "shop"."by-status" where "status" = \'open\'', 4),
        ('SELECT * FROM shop."by-status" WHERE "status" = \'open\'', 4),
        ("SELECT * FROM shop WHERE pk = 'nobody'", 0),
    ],
)
def test_a_select(statement: str, count: int, console: Browserless) -> None:
    page = run(console, statement)
    assert page.count("<tr data-row") == count
    assert re.search(rf"{count} on this page, [\d.]+ read unit", page)


def test_pages_follow_each_other(console: Browserless, client: Any) -> None:
    for number in range(shop.ORDERS, 150):
        client.put_item(TableName="shop", Item=shop.order(number))
    page = run(console, "SELECT * FROM shop")
    [token] = re.findall(r'name="after" value="([^"]+)"', page)
    after = run(console, "SELECT * FROM shop", after=unescape(token))
    assert page.count("<tr data-row") + after.count("<tr data-row") == 152


def test_writes(console: Browserless, client: Any) -> None:
    key = "pk = 'customer#bob' AND sk = 'profile'"
    assert "Written." in run(console, f"UPDATE shop SET age = 41 WHERE {key}")
    assert "41" in run(console, f"UPDATE shop REMOVE age WHERE {key} RETURNING ALL OLD *")
    assert "Written." in run(console, f"DELETE FROM shop WHERE {key}")
    assert "Written." in run(console, "INSERT INTO shop VALUE {'pk': 'a', 'sk': 'b'}")
    assert client.scan(TableName="shop")["Count"] == shop.ORDERS + 2


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("", "Write a statement first."),
        ("SELECT", "ValidationException"),
        ("SELECT * FROM nowhere", "ResourceNotFoundException"),
        ("INSERT INTO shop VALUE {'pk': 'customer#bob', 'sk': 'profile'}", "Duplicate"),
    ],
)
def test_a_mistake_keeps_the_statement(statement: str, said: str, console: Browserless) -> None:
    answer = send(console, statement)
    assert answer.status == 400
    assert said in answer.text.partition('role="alert"')[2]
    assert f"\n{statement}</textarea>" in unescape(answer.text)
