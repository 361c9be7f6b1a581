"""Exports of tables, indexes and queries; the formats have tests of their own."""

import csv
import io
import json
from typing import Any

import pytest

from console import shop
from console.asking import Browserless, Open
from hashrange.tools.console.values import item_of


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
