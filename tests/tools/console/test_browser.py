"""The pages in a headless Chromium do what they say."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import SECONDS_MAX

from console import shop
from console.asking import Browserless, Open
from hashrange.tools.console.values import cursor

ANN = {"pk": {"S": "customer#ann"}, "sk": {"S": "order#01"}}
BOB = {"pk": {"S": "customer#bob"}, "sk": {"S": "profile"}}
ITEM = f"/table/shop/item?key={cursor(BOB)}"


@pytest.fixture
def console(client: Any, opened: Open) -> Browserless:
    shop.make(client)
    return opened(write=True)


@pytest.fixture
def page(browser: Any, console: Browserless) -> Iterator[Any]:
    """A window that has entered. What its pages report as an error fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    reported: list[str] = []
    page.on("pageerror", lambda error: reported.append(str(error)))
    page.on("console", lambda said: reported.append(said.text) if said.type == "error" else None)
    page.goto(console.url)
    page.set_default_timeout(1000 * SECONDS_MAX)
    yield page
    context.close()
    # htmx reports requests that end because the page is left.
    expected = re.compile("status of (400|404|409)|^htmx:")
    assert [text for text in reported if not expected.search(text)] == []


def visit(page: Any, console: Browserless, path: str) -> None:
    page.goto(f"http://{console.parts.netloc}{path}")
    page.locator("[aria-busy]").first.wait_for(state="hidden")


def test_the_token_leaves_the_address(page: Any, console: Browserless) -> None:
    assert page.url == f"http://{console.parts.netloc}/"
    assert page.evaluate("document.cookie") == "", "scripts cannot read it"


def test_the_theme_follows_the_system_and_the_button(page: Any, console: Browserless) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(colour)
    assert dark != light
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(colour) == dark
    visit(page, console, "/table/shop")
    assert page.evaluate(colour) == dark, "it is remembered"


def test_keys(page: Any, console: Browserless) -> None:
    visit(page, console, "/")
    page.keyboard.press("/")
    page.keyboard.type("nothing like this")
    assert page.locator("[data-row]:visible").count() == 0
    page.keyboard.press("Control+a")
    page.keyboard.type("sho")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/table/shop")
    for key in "jjk":
        page.keyboard.press(key)
    page.keyboard.press("x")
    assert page.locator("[data-row]").nth(0).locator("input").is_checked()
    page.keyboard.press("Enter")
    page.wait_for_url("**/item?key=*")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.keyboard.press("e")
    page.wait_for_url("**/item/edit?key=*")


def test_pages_follow_each_other(page: Any, console: Browserless) -> None:
    visit(page, console, "/table/shop?limit=5")
    seen = []
    for _ in range(3):
        seen += page.locator("[data-row] a[data-item]").all_inner_texts()
        if not page.locator("[data-next]").count():
            break
        with page.expect_navigation():
            page.keyboard.press("n")
    assert len(seen) == shop.ORDERS + 2
    assert len(set(seen)) == shop.ORDERS + 1, "both customers have a profile"


def test_side_by_side(page: Any, console: Browserless) -> None:
    visit(page, console, "/table/shop?view=side")
    panes = page.locator(".pane")
    assert panes.count() == 2
    assert panes.nth(0).locator("[data-row]").count() == shop.ORDERS + 2
    assert panes.nth(1).locator("[data-row]").count() == shop.ORDERS


def test_the_query_builder_follows_the_form(page: Any, console: Browserless) -> None:
    visit(page, console, "/table/shop/query")
    request = page.locator("#request")
    assert "Scan" in request.inner_text()
    page.get_by_label(re.compile("^pk")).fill("customer#ann")
    page.locator("select[name=skop]").select_option("between")
    page.get_by_label(re.compile("^sk")).fill("order#02")
    page.locator("input[name=sk2]").fill("order#04")
    request.get_by_text(re.compile(r"\b3 returned")).wait_for()
    request.get_by_text("BETWEEN").first.wait_for()
    page.get_by_text("+ one more").click()
    page.locator(".filter").nth(1).wait_for()
    page.locator("input[name=fname]").nth(1).fill("status")
    page.locator("input[name=fvalue]").nth(1).fill("open")
    request.get_by_text(re.compile(r"\b1 returned")).wait_for()
    page.get_by_role("button", name="Run").click()
    page.wait_for_url("**run=1*")
    assert page.locator("[data-row] a[data-item]").all_inner_texts() == ["order#03"]


def test_partiql(page: Any, console: Browserless) -> None:
    visit(page, console, "/partiql")
    page.locator("textarea[name=statement]").fill("SELECT sk FROM shop WHERE pk = 'customer#ann'")
    page.keyboard.press("Control+Enter")
    page.locator("[data-row]").first.wait_for()
    assert page.locator("[data-row]").count() == shop.ORDERS + 1
    page.locator("textarea[name=statement]").fill("SELECT FROM")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("alert").wait_for()
    assert "ValidationException" in page.get_by_role("alert").inner_text()


def test_an_item_is_edited(page: Any, console: Browserless, client: Any) -> None:
    visit(page, console, ITEM)
    page.keyboard.press("e")
    page.wait_for_url("**/edit?**")
    page.get_by_label("Value of name").fill("Robert\n\u05e9\u05dc\u05d5\u05dd <b>")
    page.get_by_text("+ one more attribute").click()
    row = page.locator(".attribute").nth(3)
    row.locator("input[name=name]").fill("age")
    row.locator("select").select_option("N")
    row.locator("textarea").fill("41")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Write").wait_for()
    assert page.locator(".removed").all_inner_texts() == ["\u2212 bob"]
    page.get_by_role("button", name="Change more").click()
    assert page.get_by_label("Value of age").input_value() == "41"
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Write").click()
    page.get_by_text("Written.").wait_for()
    name = {"S": "Robert\n\u05e9\u05dc\u05d5\u05dd <b>"}
    found = client.get_item(TableName="shop", Key=BOB)["Item"]
    assert found == {**BOB, "name": name, "age": {"N": "41"}}


def test_hostile_values_are_shown_and_kept(page: Any, console: Browserless, client: Any) -> None:
    item = shop.hostile()
    client.put_item(TableName="shop", Item=item)
    visit(page, console, "/table/shop")
    visit(page, console, f"/table/shop/item?key={cursor(shop.HOSTILE_KEY)}")
    for mark in ("U+0000", "U+202E", "U+001B"):
        assert page.locator(".unseen", has_text=mark).count()
    page.keyboard.press("e")
    page.get_by_role("button", name="Review").click()
    page.get_by_text("Nothing changes.").wait_for()  # the browser has kept every value
    page.get_by_role("button", name="Change more").click()
    page.get_by_label("Value of direction").fill("plain")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Write").click()
    page.get_by_text("Written.").wait_for()
    found = client.get_item(TableName="shop", Key=shop.HOSTILE_KEY)["Item"]
    assert found == {**found, **item, "direction": {"S": "plain"}, **_sets(found)}
    assert page.evaluate("window.hit") is None


def _sets(item: dict[str, Any]) -> dict[str, Any]:
    """Sets have no order."""
    return {name: value for name, value in item.items() if {"SS", "NS", "BS"} & set(value)}


def test_items_are_selected_and_deleted(page: Any, console: Browserless, client: Any) -> None:
    visit(page, console, "/table/shop")
    boxes = page.locator("input[name=key]")
    assert not page.locator(".selection").is_visible()
    boxes.nth(0).check()
    page.get_by_label("all on this page").check()
    assert page.locator("[data-count]").inner_text() == str(shop.ORDERS + 2)
    page.get_by_role("button", name="Delete or copy").click()
    page.get_by_role("button", name=re.compile("^Delete 14 items")).click()
    page.get_by_text("14 items deleted").wait_for()
    assert client.scan(TableName="shop")["Count"] == 0


def test_a_table_that_is_deleted_underneath(page: Any, console: Browserless, client: Any) -> None:
    visit(page, console, "/table/shop/query?pk=customer%23ann")
    client.delete_table(TableName="shop")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("alert").wait_for()
    assert "There is no table shop" in page.get_by_role("alert").inner_text()
