"""The ways between pages: links on keys, types and values; items beside an item; lit tabs."""

import random
import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from math import dist
from typing import Any

import pytest

import hashrange
from console import shop
from console.asking import Browserless, Open, Window
from hashrange.tools.console import Console, rings, serving
from hashrange.tools.console.values import cursor
from hashrange.tools.target import target_of

LONG = {"pk": {"S": "k" * 900}, "sk": {"S": "s" * 600}}
WIDE = {"pk": {"S": "wide"}, "sk": {"S": "1"}} | {f"name {n:02}": {"S": "x" * 9} for n in range(20)}
ORDER = f"/table/shop/item?key={cursor({'pk': {'S': 'customer#ann'}, 'sk': {'S': 'order#01'}})}"


@pytest.fixture(scope="module")
def console() -> Iterator[Browserless]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        shop.make(target.client)
        for item in (LONG, WIDE):
            target.client.put_item(TableName="shop", Item=item)
        with serving(Console(target, write=True)) as url:
            yield Browserless(url).enter()


def test_a_partition_key_leads_to_its_items(window: Window) -> None:
    page = window.visit("/table/shop")
    page.get_by_role("link", name="customer#ann").click()
    page.wait_for_url("**/query?pk=customer%23ann&run=1")
    assert page.locator("[data-row]").count() == shop.ORDERS + 1


def test_a_type_leads_to_its_items(window: Window) -> None:
    page = window.visit("/table/shop")
    page.locator("a.entity", has_text="order").click()
    page.wait_for_url("**fname=pk**")
    assert page.locator("[data-row]").count() == shop.ORDERS


def test_a_value_leads_to_items_that_have_it_too(window: Window) -> None:
    page = window.visit("/table/shop")
    page.get_by_role("link", name="shipped").first.click()
    page.wait_for_url("**fvalue=shipped**")
    assert page.locator("[data-row]").count() == 8
    page.get_by_role("link", name="20", exact=True).click()
    page.wait_for_url("**fvalue=20**")
    assert page.locator("[data-row]").count() == 1, "both filters"
    page = window.visit(ORDER)
    page.locator("a.way", has_text="shipped").click()
    page.wait_for_url("**fvalue=shipped**")


def test_a_way_to_a_value_names_its_type(client: Any, opened: Open) -> None:
    shop.make(client)
    for sk, value in (("1", {"S": "7"}), ("2", {"N": "7"}), ("3", {"BOOL": True})):
        client.put_item(TableName="shop", Item={"pk": {"S": "types"}, "sk": {"S": sk}, "x": value})
    text = unescape(opened().enter().ask("/table/shop/query?pk=types&run=1").text)
    found = re.findall(r'fname=x&fop=%3D&ftype=(\w+)&fvalue2=&fvalue=(\w+)"', text)
    assert found == [("S", "7"), ("N", "7"), ("BOOL", "true")]


def test_items_follow_each_other_and_the_list_is_found_again(window: Window) -> None:
    page = window.visit("/table/shop/query?pk=customer%23ann&run=1")
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    for number, key in enumerate("jjk", 2):
        page.wait_for_url("**/item?key=*")
        expected = {2: 2, 3: 3, 4: 4}[number]
        page.get_by_text(f"{expected} of 13 in the list").wait_for()
        page.keyboard.press(key)
    page.get_by_text("3 of 13 in the list").wait_for()
    page.keyboard.press("u")
    page.wait_for_url("**/query?pk=customer%23ann&run=1")
    assert page.locator("[data-row].current").inner_text().strip().startswith("order#02")
    for key in ("l", "l", "l"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "20"


@pytest.mark.parametrize(
    ("path", "main", "tab"),
    [
        ("/", "Tables", None),
        ("/partiql", "PartiQL", None),
        ("/table/shop", "Tables", "Items"),
        (ORDER, "Tables", "Items"),
        (ORDER.replace("?", "/edit?"), "Tables", "Items"),
        ("/table/shop/query", "Tables", "Query"),
        ("/table/shop/details", "Tables", "Details"),
    ],
)
def test_the_right_tab_is_lit(console: Browserless, path: str, main: str, tab: str | None) -> None:
    text = console.ask(path).text
    lit = re.findall(r"<a href=\"[^\"]*\" aria-current=\"\w+\">(\w+)</a>", text)
    assert [each for each in lit if each != "Table"] == [main] + [tab] * bool(tab)


def test_counts_say_what_they_count(console: Browserless) -> None:
    text = console.ask("/table/shop?limit=4").text
    assert "16 items in the table" in text
    assert re.search(r"\d items? on this page", text)


def test_a_long_key_stays_within_its_card(window: Window) -> None:
    for width in (1280, 390):
        window.page.set_viewport_size({"width": width, "height": 800})
        page = window.visit("/table/shop")
        card = page.locator(".collection", has_text="kkkk")
        inner, outer = (card.locator(part).bounding_box() for part in ("h3 > .rest", "h3"))
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]
        assert inner["y"] + inner["height"] <= outer["y"] + outer["height"]
    window.page.set_viewport_size({"width": 1280, "height": 800})


def test_numbers_stand_on_the_line_of_their_row(window: Window) -> None:
    page = window.visit("/")
    assert page.locator("tbody td").first.evaluate("e => getComputedStyle(e).verticalAlign") == (
        "baseline"
    )


def test_a_wide_card_shows_that_there_is_more(window: Window) -> None:
    page = window.visit("/table/shop")
    wide = page.locator(".scroll", has_text="name 19")
    masked = "e => getComputedStyle(e).maskImage !== 'none'"
    page.locator(".scroll.more").wait_for()
    assert wide.evaluate(masked)
    wide.evaluate("e => e.scrollTo(1e6, 0)")
    page.locator(".scroll.more").wait_for(state="detached")
    assert not wide.evaluate(masked)


def test_ctrl_enter_runs_the_query(window: Window) -> None:
    page = window.visit("/table/shop/query")
    page.locator("#pk").fill("customer#bob")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**run=1**")
    assert page.locator("[data-row]").count() == 1


def test_numbers_on_a_ring_do_not_hide_each_other() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    generator = random.Random(seed)
    for _ in range(200):
        spread = generator.choice((2**64, 2**58))
        bounds = sorted({generator.randrange(spread) for _ in range(generator.randrange(23))})
        texts = [None, *(f"{bound:016x}" for bound in bounds), None]
        partitions = [
            {"number": number, "from": start or "0", "to": end}
            for number, (start, end) in enumerate(pairwise(texts))
        ]
        largest = [
            {"hash": f"{generator.randrange(spread):016x}", "key": {}, "items": 1, "bytes": 1}
            for _ in range(10)
        ]
        collections = {"largest": largest, "complete": True}
        ring = rings.ring({"partitions": partitions, "collections": collections})
        for points in (
            [arc.label for arc in ring.arcs if arc.label],
            [(dot.x, dot.y) for dot in ring.dots],
        ):
            near = [dist(a, b) for at, a in enumerate(points) for b in points[:at]]
            assert min(near, default=99) >= 20
            assert all(max(map(abs, point)) <= 130 for point in points)
