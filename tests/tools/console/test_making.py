"""Tables are created and deleted."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from console.asking import Browserless, Window
from hashrange.tools.console import Console, serving
from hashrange.tools.target import Target, target_of


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with hashrange.connect() as database:
        yield target_of(database, "a database")


@pytest.fixture(scope="module")
def console(target: Target) -> Iterator[Browserless]:
    with serving(Console(target, write=True)) as url:
        yield Browserless(url).enter()


def names(target: Target) -> Any:
    return target.client.list_tables()["TableNames"]


def test_a_table_is_created_and_deleted(window: Window, target: Target) -> None:
    page = window.visit("/")
    page.get_by_role("link", name="New table").click()
    for field, text in (("Name", "orders"), ("Partition key", "pk"), ("Sort key", "at")):
        page.get_by_label(field, exact=True).fill(text)
    page.get_by_label("Type of the sort key", exact=True).select_option("N")
    page.get_by_label("Stream").select_option("KEYS_ONLY")
    page.get_by_label("Name of the index", exact=True).fill("by-status")
    page.get_by_label("Partition key of the index", exact=True).fill("status")
    page.get_by_text("+ one more").click()
    page.get_by_label("Name of the index", exact=True).nth(1).fill("by-day")
    page.get_by_label("Partition key of the index", exact=True).nth(1).fill("day")
    page.get_by_label("Sort key of the index", exact=True).nth(1).fill("at")
    page.get_by_label("Type of the sort key of the index", exact=True).nth(1).select_option("N")
    page.get_by_text("+ one more").click()
    page.get_by_label("Name of the index", exact=True).nth(2).fill("by-price")
    page.get_by_label("Kind of the index").nth(2).select_option("local")
    assert not page.get_by_label("Partition key of the index", exact=True).nth(2).is_visible()
    page.get_by_label("Sort key of the index", exact=True).nth(2).fill("price")
    page.get_by_role("button", name="Create").click()
    page.wait_for_url("**/table/orders")
    made = target.client.describe_table(TableName="orders")["Table"]
    assert [key["AttributeName"] for key in made["KeySchema"]] == ["pk", "at"]
    assert {index["IndexName"] for index in made["GlobalSecondaryIndexes"]} == {
        "by-status",
        "by-day",
    }
    [local] = made["LocalSecondaryIndexes"]
    assert [key["AttributeName"] for key in local["KeySchema"]] == ["pk", "price"]
    assert made["StreamSpecification"]["StreamViewType"] == "KEYS_ONLY"

    page.get_by_role("link", name="Details").click()
    page.get_by_role("link", name="Delete the table").click()
    page.get_by_label("Type orders to delete it").fill("order")
    page.get_by_role("button", name="Delete the table").click()
    page.get_by_text("Type orders to delete the table.").wait_for()
    assert names(target) == ["orders"]
    page.get_by_label("Type orders to delete it").fill("orders")
    page.get_by_role("button", name="Delete the table").click()
    page.get_by_text("The table orders is deleted.").wait_for()
    assert names(target) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"table": ""}, "The table needs a name"),
        ({"hash": ""}, "The table needs a partition key"),
        ({"table": "no spaces"}, "tableName"),
        ({"ihash": ""}, "The index by-status needs a partition key"),
        ({"ikind": "local"}, "The local index by-status needs a sort key"),
        ({"ihash": "pk", "ihashtype": "N"}, "pk: cannot have two types, S and N"),
        ({"iname": "i"}, "IndexName"),
        ({"hashtype": "X"}, "attributeType"),
    ],
)
def test_a_mistake_keeps_the_form(
    console: Browserless, target: Target, changed: dict[str, str], said: str
) -> None:
    form = {
        "table": "made",
        "hash": "pk",
        "hashtype": "S",
        "range": "",
        "rangetype": "S",
        "iname": "by-status",
        "ikind": "global",
        "ihash": "status",
        "ihashtype": "S",
        "irange": "",
        "irangetype": "S",
        "iproject": "ALL",
    } | changed
    answer = console.post("/new-table", **form)
    assert answer.status == 400
    assert said in answer.text.partition('role="alert"')[2]
    assert f'value="{form["iname"]}"' in answer.text
    assert names(target) == []


def test_a_protected_table_says_so(console: Browserless, target: Target) -> None:
    target.client.create_table(
        TableName="kept",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        DeletionProtectionEnabled=True,
    )
    answer = console.post("/table/kept/delete", name="kept")
    assert answer.status == 400
    assert "deletion protection" in answer.text.lower()
    assert names(target) == ["kept"]
    target.client.update_table(TableName="kept", DeletionProtectionEnabled=False)
    target.client.delete_table(TableName="kept")
