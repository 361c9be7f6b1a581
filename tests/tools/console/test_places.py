"""What the browser keeps: tabs, and queries that were saved with a name."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from console import shop
from console.asking import Browserless, Window
from hashrange.tools.console import Console, serving
from hashrange.tools.target import target_of

QUERY = "/table/shop/query?pk=customer%23ann&run=1"


@pytest.fixture(scope="module")
def console() -> Iterator[Browserless]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        shop.make(target.client)
        target.client.create_table(**shop.TABLE | {"TableName": "other"})
        with serving(Console(target)) as url:
            yield Browserless(url).enter()


@pytest.fixture(autouse=True)
def _forgotten(window: Window) -> None:
    window.visit("/")
    window.page.evaluate("sessionStorage.clear(), localStorage.clear()")


def tabs(page: Any) -> list[str]:
    found: list[str] = page.locator("#tabs a").all_inner_texts()
    return found


def test_each_table_has_a_tab_with_its_last_place(window: Window) -> None:
    page = window.visit(QUERY)
    assert page.locator("#tabs").is_hidden(), "one tab needs no bar"
    window.visit("/table/other")
    assert tabs(page) == ["shop", "other"]
    assert page.locator("#tabs [aria-current=page]").inner_text() == "other"
    page.locator("#tabs a", has_text="shop").click()
    page.wait_for_url(f"**{QUERY}")


def test_a_table_has_two_tabs_if_asked_for(window: Window) -> None:
    page = window.visit(QUERY)
    page.keyboard.press("t")
    window.visit("/table/shop")
    assert tabs(page) == ["shop, query", "shop, items"]
    page.locator("#tabs a", has_text="query").click()
    page.wait_for_url(f"**{QUERY}")
    window.visit("/table/shop/details")
    assert tabs(page) == ["shop, details", "shop, items"]


def test_tabs_are_closed(window: Window) -> None:
    for path in ("/table/shop", "/table/other", "/partiql"):
        page = window.visit(path)
    assert tabs(page) == ["shop", "other", "PartiQL"]
    page.get_by_role("button", name="Close other").click()
    assert tabs(page) == ["shop", "PartiQL"]
    page.keyboard.press("w")
    page.wait_for_url("**/table/shop")
    assert page.locator("#tabs").is_hidden()


def save(page: Any, name: str) -> None:
    page.locator("summary", has_text="Saved").click()
    page.get_by_label("Name of the query").fill(name)
    page.keyboard.press("Enter")


def test_a_query_is_saved_before_it_runs(window: Window) -> None:
    page = window.visit("/table/shop/query")
    page.locator("#pk").fill("customer#ann")
    save(page, "all of <b>ann")
    page.get_by_role("link", name="all of <b>ann").click()
    page.wait_for_url("**/query?**pk=customer%23ann**")
    assert page.locator("[data-row]").count() == shop.ORDERS + 1
    window.visit("/table/other/query")
    page.locator("summary", has_text="Saved").click()
    page.get_by_text("Nothing is saved yet").wait_for()


def test_filters_are_saved(window: Window) -> None:
    page = window.visit("/table/shop")
    page.get_by_label("Attribute", exact=True).fill("status")
    page.get_by_label("Value", exact=True).fill("open")
    save(page, "open")
    page.get_by_role("link", name="open", exact=True).first.click()
    page.wait_for_url("**fvalue=open**")
    assert page.locator("[data-row]").count() == 4


def test_a_statement_is_saved_and_found_from_the_tables(window: Window) -> None:
    page = window.visit("/partiql")
    page.locator("#statement").fill("SELECT sk FROM shop WHERE pk = 'customer#ann'")
    save(page, "keys")
    window.visit("/")
    page.get_by_role("link", name="keys").click()
    page.wait_for_url("**/partiql?**")
    assert page.locator("[data-row]").count() == shop.ORDERS + 1
    window.visit("/")
    page.get_by_role("button", name="Remove keys").click()
    assert page.locator("[data-saved]").is_hidden()


def test_a_saved_statement_that_writes_is_not_run_by_its_address(
    window: Window, console: Browserless
) -> None:
    statement = "DELETE+FROM+shop+WHERE+pk='customer%23bob'+AND+sk='profile'"
    assert console.ask(f"/partiql?statement={statement}&run=1").status == 200
    assert "bob" in console.ask("/table/shop").text
