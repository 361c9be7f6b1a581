"""The values of an attribute with their counts, over what was read."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from console import shop
from console.asking import Browserless, Window
from hashrange.tools.console import Console, serving
from hashrange.tools.target import target_of

ITEMS = 6_000
STATES = ("open", "shipped", "paid")


@pytest.fixture(scope="module")
def console() -> Iterator[Browserless]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        target.client.create_table(**shop.TABLE)
        for start in range(0, ITEMS, 25):
            puts = [{"PutRequest": {"Item": _item(start + each)}} for each in range(25)]
            target.client.batch_write_item(RequestItems={"shop": puts})
        with serving(Console(target)) as url:
            yield Browserless(url).enter()


def _item(number: int) -> dict[str, Any]:
    item = {"pk": {"S": "a"}, "sk": {"S": f"{number:06}"}, "n": {"N": str(number % 7)}}
    if number % 10:
        item["state"] = {"S": STATES[number % 3]}
    return item


def counts(page: Any) -> dict[str, int]:
    rows = page.locator("#facets tbody tr")
    told = rows.evaluate_all("rows => rows.map(row => [row.dataset.text, row.dataset.count])")
    return {json.loads(text)[""].popitem()[1]: int(count) for text, count in told}


EXPECTED = {
    state: sum(1 for n in range(ITEMS) if n % 10 and n % 3 == at) for at, state in enumerate(STATES)
}


@pytest.mark.usefixtures("short_rounds")
def test_values_are_counted_over_all_rounds(window: Window) -> None:
    """Each round reads one step, and the page joins their counts."""
    page = window.visit("/table/shop")
    page.locator("summary", has_text="Values").click()
    page.get_by_label("Count the values of").fill("state")
    page.get_by_role("button", name="Count", exact=True).click()
    page.get_by_text("6,000 of 6,000 items read").wait_for()
    assert counts(page) == EXPECTED
    page.get_by_text("600 do not have the attribute").wait_for()
    shown = page.locator("#facets tbody .number").all_inner_texts()
    assert shown == [f"{count:,}" for count in sorted(EXPECTED.values(), reverse=True)]
    page.get_by_role("link", name="paid").click()
    page.wait_for_url("**fname=state**fvalue=paid**")


@pytest.mark.usefixtures("short_rounds")
def test_counting_is_stopped(window: Window) -> None:
    asked = []

    def slowly(route: Any) -> None:
        asked.append(route.request.url)  # no round gets an answer

    window.page.route("**round=1**", slowly)
    page = window.visit("/table/shop/values?of=state")
    page.locator("progress").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("2,000 of 6,000 items read").wait_for()
    assert sum(counts(page).values()) == 1_800
    page.unroute("**round=1**")


def test_values_of_what_a_filter_leaves(console: Browserless) -> None:
    path = "/table/shop/values?of=n&fname=state&fop==&ftype=S&fvalue=open"
    text = console.ask(path).text
    assert text.count("<tr data-row") == 7
    assert "fname=state&amp;fop=%3D&amp;ftype=S&amp;fvalue=open" in text


def test_an_attribute_must_be_named(console: Browserless) -> None:
    assert console.ask("/table/shop/values").status == 400
