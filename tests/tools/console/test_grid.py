"""The grid of items: typed, sorted, with columns that stay chosen, and edited cell by cell."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from console import shop
from console.asking import Browserless, Window
from hashrange.tools.console import Console, serving
from hashrange.tools.console.values import cursor
from hashrange.tools.target import Target, target_of

WIDE = {"pk": {"S": "w"}, "sk": {"S": "here"}} | {f"n {n:02}": {"N": str(n)} for n in range(40)}
ORDERS = "/table/shop/query?pk=customer%23ann&skop=begins_with&sk=order&run=1"


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        shop.make(target.client)
        target.client.put_item(TableName="shop", Item=WIDE)
        yield target


@pytest.fixture(scope="module")
def console(target: Target) -> Iterator[Browserless]:
    with serving(Console(target, write=True)) as url:
        yield Browserless(url).enter()


@pytest.fixture(autouse=True)
def _orders(target: Target) -> None:
    """Orders as they were before another test."""
    for number in range(shop.ORDERS):
        target.client.put_item(TableName="shop", Item=shop.order(number))


def order(target: Target, number: int) -> Any:
    key = {name: shop.order(number)[name] for name in ("pk", "sk")}
    return target.client.get_item(TableName="shop", Key=key)["Item"]


@pytest.mark.parametrize("width", [1280, 390])
def test_numbers_are_at_the_right_and_the_sort_key_in_sight(window: Window, width: int) -> None:
    window.page.set_viewport_size({"width": width, "height": 800})
    page = window.visit("/table/shop")
    row = page.locator("[data-row]", has_text="here")
    align = "e => getComputedStyle(e).textAlign"
    assert row.locator("td", has_text="19").evaluate(align) == "right"
    assert page.locator("th", has_text="n 19").evaluate(align) == "right"
    assert row.locator(".first").evaluate(align) != "right"
    before = row.locator(".first").bounding_box()
    page.locator(".scroll", has=row).evaluate("e => e.scrollTo(1e6, 0)")
    after = row.locator(".first").bounding_box()
    assert abs(after["x"] - before["x"]) < 8


def column(page: Any, name: str) -> list[str]:
    at = page.locator(f"th[data-name={name}]").first.evaluate("e => e.cellIndex")
    cells = page.locator(f"tr[data-row] > :nth-child({at + 1})").all_inner_texts()
    return [text.strip() for text in cells]


def test_a_page_is_sorted_by_a_column(window: Window) -> None:
    """Numbers as numbers; rows without the attribute come last, whatever the direction."""
    page = window.visit("/table/shop")
    numbers = [str(10 * n) for n in range(shop.ORDERS)]
    for expected, said in ((numbers, "ascending"), (numbers[::-1], "descending")):
        page.locator("th[data-name=total] .sort").first.click()
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == said
        assert column(page, "total") == [*expected, "", "", ""]
    assert len(set(column(page, "pk"))) == 3, "the partition key has become a column"
    page.get_by_role("link", name="order#11").click()
    page.wait_for_url("**/item?key=*")


def test_a_page_is_sorted_by_the_keyboard(window: Window) -> None:
    page = window.visit(ORDERS)
    page.locator("th[data-name=status] .sort").focus()
    page.keyboard.press("Enter")
    assert column(page, "status") == sorted(column(page, "status"))
    assert page.locator("th[data-name=status] .sort").evaluate("e => e.matches(':focus')")


def test_chosen_columns_are_kept(window: Window) -> None:
    page = window.visit("/table/shop")
    page.locator("summary", has_text="Columns").click()
    page.get_by_placeholder("Filter", exact=True).fill("n 3")
    assert page.locator("#columns li:visible").count() == 10
    page.get_by_label("n 39").check()
    page.get_by_label("Others").fill("status, nowhere")
    with page.expect_navigation():
        page.get_by_role("button", name="Keep these").click()
    window.visit("/")
    page = window.visit("/table/shop")
    names = {head.get_attribute("data-name") for head in page.locator("th[data-name]").all()}
    assert names == {"sk", "n 39", "status", "nowhere"}
    row = page.locator("[data-row]", has_text="here")
    assert row.locator("td", has_text="39").count() == 1, "though a row shows 24 otherwise"
    page.locator("summary", has_text="Columns").click()
    with page.expect_navigation():
        page.get_by_role("button", name="All", exact=True).click()
    assert page.locator("th[data-name='n 00']").count() == 1


def test_too_many_columns_are_refused(console: Browserless) -> None:
    query = "&".join(f"column={'x' * 200}{n}" for n in range(30))
    assert console.ask(f"/table/shop/columns?{query}").status == 400


@pytest.mark.parametrize("back", ["//evil.example", "/\\evil.example", "http://evil.example", "x"])
def test_the_way_back_stays_within_the_console(console: Browserless, back: str) -> None:
    answer = console.ask(f"/table/shop/columns?all=1&back={back}")
    assert answer.headers["location"] == "/table/shop"


def test_one_cell_is_edited_with_a_review(window: Window, target: Target) -> None:
    page = window.visit(ORDERS)
    page.get_by_role("row", name="order#03").locator("td", has_text="open").hover()
    page.get_by_role("button", name="Edit status").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value of status").fill("returned")
    page.keyboard.press("Control+Enter")
    dialog.get_by_role("button", name="Write").wait_for()
    assert dialog.locator(".removed").all_inner_texts() == ["\u2212 open"]
    assert dialog.locator(".added").all_inner_texts() == ["+ returned"]
    assert order(target, 3) == shop.order(3), "nothing is written yet"
    with page.expect_navigation():
        dialog.get_by_role("button", name="Write").click()
    assert window.path() == ORDERS, "back to the same place"
    assert order(target, 3) == {**shop.order(3), "status": {"S": "returned"}}
    assert "returned" in page.locator("[data-row].current").inner_text()


def test_a_cell_is_edited_by_keyboard_alone(window: Window, target: Target) -> None:
    window.visit("/")
    window.page.evaluate("sessionStorage.clear()")
    page = window.visit(ORDERS)
    for key in ("j", "l", "e"):
        page.keyboard.press(key)
    dialog = page.get_by_role("dialog")
    value = dialog.get_by_label("Value of lines")
    value.wait_for()
    assert value.evaluate("e => e.matches(':focus')")
    page.keyboard.press("Control+a")
    page.keyboard.type('{"pot": 1}')
    page.keyboard.press("Control+Enter")
    dialog.get_by_role("button", name="Write").wait_for()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert order(target, 0)["lines"] == {"M": {"pot": {"N": "1"}}}


def test_a_fault_of_a_cell_is_said_beside_it(window: Window, target: Target) -> None:
    page = window.visit(ORDERS)
    page.get_by_role("row", name="order#04").locator("td", has_text="40").dblclick(position=FAR)
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value of total").fill("forty")
    dialog.get_by_role("button", name="Review").click()
    dialog.get_by_role("alert").wait_for()
    assert "cannot be converted" in dialog.get_by_role("alert").inner_text()
    assert dialog.get_by_label("Value of total").input_value() == "forty"
    dialog.get_by_role("button", name="Cancel").click()
    dialog.wait_for(state="hidden")
    assert order(target, 4) == shop.order(4)


FAR = {"x": 1, "y": 2}
"""A place of a cell at which there is no link."""


def test_a_lost_race_of_a_cell_writes_nothing(window: Window, target: Target) -> None:
    page = window.visit(ORDERS)
    page.get_by_role("row", name="order#05").locator("td", has_text="50").hover()
    page.get_by_role("button", name="Edit total").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value of total").fill("51")
    dialog.get_by_role("button", name="Review").click()
    theirs = {**shop.order(5), "total": {"N": "52"}}
    target.client.put_item(TableName="shop", Item=theirs)
    dialog.get_by_role("button", name="Write").click()
    dialog.get_by_text("has been changed since you read it").wait_for()
    assert order(target, 5) == theirs


def test_a_read_only_console_has_no_pen(target: Target, browser: Any) -> None:
    with serving(Console(target)) as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.goto(url.partition("/?")[0] + ORDERS)
        cell = page.get_by_role("row", name="order#03").locator("td", has_text="open")
        cell.hover()
        assert page.locator(".pen").count() == 0
        cell.dblclick(position=FAR)
        assert page.locator("#cell").is_hidden()
        context.close()


def test_a_key_is_not_edited_as_a_cell(console: Browserless) -> None:
    key = cursor({name: shop.order(1)[name] for name in ("pk", "sk")})
    answer = console.ask(f"/table/shop/item/cell?key={key}&name=sk")
    assert answer.status == 303
    assert "/item/edit?" in answer.headers["location"]
