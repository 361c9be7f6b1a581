"""Exports of tables, indexes and queries; the formats have tests of their own."""

import csv
import io
import json
import re
from html import unescape
from typing import Any

import pytest

from console import shop
from console.asking import Browserless, Open
from hashrange.tools.console import search_round
from hashrange.tools.console.pages import export
from hashrange.tools.console.results import COLUMNS_MAX
from hashrange.tools.console.values import item_of, key_at


@pytest.fixture
def console(client: Any, opened: Open) -> Browserless:
    shop.make(client)
    client.put_item(TableName="shop", Item=shop.hostile())
    return opened().enter()


def exported(console: Browserless, query: str) -> str:
    answer = console.ask(f"/table/shop/export/file?{query}")
    assert answer.status == 200
    assert answer.headers["content-disposition"].startswith('attachment; filename="shop')
    return answer.text


def test_a_table_keeps_every_type(console: Browserless, client: Any) -> None:
    lines = exported(console, "format=dynamodb-json").splitlines()
    found = [item_of(json.dumps(json.loads(line)["Item"])) for line in lines]
    assert found == client.scan(TableName="shop")["Items"]


def test_an_index(console: Browserless) -> None:
    lines = exported(console, "format=json-lines&index=by-status").splitlines()
    assert len(lines) == shop.ORDERS


def test_a_query_with_all_its_pages(console: Browserless) -> None:
    query = "pk=customer%23ann&skop=between&sk=order%2302&sk2=order%2304&limit=1"
    form = console.ask(f"/table/shop/export?{query}")
    assert "BETWEEN" in form.text
    assert 'name="sk2" value="order#04"' in form.text
    rows = list(csv.reader(io.StringIO(exported(console, f"{query}&format=csv"))))
    assert len(rows) == 4


def test_a_format_that_does_not_exist(console: Browserless) -> None:
    assert console.ask("/table/shop/export/file?format=xls").status == 400


csv.field_size_limit(2**20)


def seen(console: Browserless, path: str, format: str) -> str:
    """The file that a page links to, with the items that it shows."""
    text = console.ask(path).text
    [link] = re.findall(rf'href="([^"]*format={format}[^"]*)"', text)
    answer = console.ask(unescape(link))
    assert answer.status == 200
    return answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/table/shop?limit=5",
        "/table/shop?fname=status&fop==&ftype=S&fvalue=open&limit=3",
        "/table/shop?index=by-status",
        "/table/shop/query?pk=customer%23ann&desc=1&limit=4&run=1",
        "/partiql?statement=SELECT+*+FROM+shop+WHERE+pk='customer%23ann'&run=1",
    ],
)
def test_what_a_page_shows_is_a_file(console: Browserless, path: str) -> None:
    """The JSON has the items of the page and no others, in their order; so has the next page's."""
    while path:
        text = console.ask(path).text
        keys = [
            key_at(key)["sk"]["S"] for key in re.findall(r'data-item href="[^"]*key=([^"]*)"', text)
        ]
        assert [item["sk"] for item in json.loads(seen(console, path, "json"))] == keys
        assert len(list(csv.reader(io.StringIO(seen(console, path, "csv"))))) == len(keys) + 1
        following = re.findall(r'data-next href="([^"]*)"', text)
        path = unescape(following[0]) if following else ""


def test_only_a_select_is_a_file(console: Browserless) -> None:
    statement = "DELETE+FROM+shop+WHERE+pk='customer%23bob'+AND+sk='profile'"
    path = f"/partiql/file?statement={statement}&format=json&count=1"
    assert console.ask(path).status == 400


def test_many_columns_make_a_page_shorter(
    console: Browserless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_round, "CELLS_MAX", 3 * COLUMNS_MAX)
    text = console.ask("/table/shop").text
    assert text.count("<tr data-row") == 3
    assert "data-next" in text
    monkeypatch.setattr(search_round, "CELLS_MAX", 0)
    assert console.ask("/table/shop").text.count("<tr data-row") == 1


def test_a_file_is_not_read_for_ever(console: Browserless, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "SECONDS_MAX", 0)
    for path in ("/table/shop/export/file?", "/partiql/file?statement=SELECT+*+FROM+shop&count=1&"):
        answer = console.ask(f"{path}format=json")
        assert answer.status == 400
        assert "hashrange export has no time limit" in answer.text
