"""Values of an item as a whole: long texts, bytes, vectors, a thousand attributes."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

import hashrange
from console import shop
from console.asking import Answer, Browserless, Window
from hashrange.tools.console import Console, serving
from hashrange.tools.console.hexdump import hexdump
from hashrange.tools.console.values import cursor
from hashrange.tools.target import target_of

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
KEY = {"pk": {"S": "values"}, "sk": {"S": FAMILY}}
LONG = "first line\n" + "0123456789 " * 30_000 + FAMILY
BYTES = bytes(range(256)) * 40
ITEM: dict[str, Any] = {
    **KEY,
    "long": {"S": LONG},
    "bytes": {"B": BYTES},
    "written": {"B": b"a text"},
    "zeros": {"S": "\x00" * 20_000},
    "vector": {"L": [{"N": "0.5"}] * 64},
    "deep": {"M": {"a.b": {"L": [{"S": "x" * 3_000}, {"BS": [b"1", b"2"]}]}}},
}
MANY = {"pk": {"S": "many"}, "sk": {"S": "1"}}


@pytest.fixture(scope="module")
def console() -> Iterator[Browserless]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        target.client.create_table(**shop.TABLE)
        attributes = {f"attribute {n:04}": {"S": f"value {n}"} for n in range(1_000)}
        for item in (ITEM, MANY | attributes, shop.hostile()):
            target.client.put_item(TableName="shop", Item=item)
        with serving(Console(target)) as url:
            yield Browserless(url).enter()


def address(key: dict[str, Any], page: str = "", *at: str | int) -> str:
    path = f"&at={quote(json.dumps(at))}" if at else ""
    return f"/table/shop/item{page}?key={cursor(key)}{path}"


def value(console: Browserless, *at: str | int, file: str = "") -> Answer:
    return console.ask(address(KEY, f"/value{file}", *at))


def test_a_long_text_is_shown_whole(window: Window) -> None:
    page = window.visit(address(KEY))
    page.get_by_role("row", name="long").get_by_role("link", name="Show all").click()
    text = page.locator("pre.whole-text")
    assert text.inner_text() == LONG
    page.get_by_role("link", name="Back to the item").click()
    page.get_by_role("row", name="long").wait_for()


def test_bytes_are_shown_as_hexadecimal_digits_and_text(window: Window) -> None:
    page = window.visit(address(KEY))
    row = page.get_by_role("row", name="bytes B")
    assert "|.hashrange" not in row.inner_text()
    assert "60 61 62 63" in row.inner_text()
    assert "|`abcdefghijklmno|" in row.inner_text()
    row.get_by_role("link", name="Show all").click()
    assert page.locator("pre.whole-text").inner_text() == hexdump(BYTES)


def test_bytes_are_downloaded(window: Window) -> None:
    page = window.visit(address(KEY))
    with page.expect_download() as started:
        page.get_by_role("row", name="bytes B").get_by_role("link", name="Download").click()
    assert started.value.suggested_filename == "bytes.bin"
    with open(started.value.path(), "rb") as file:
        assert file.read() == BYTES


def test_bytes_of_a_text_are_shown_as_text_too(console: Browserless) -> None:
    text = value(console, "written").text
    assert ">a text</pre>" in text
    assert "61 20 74 65 78 74" in text


def test_a_vector_is_shown_whole(window: Window) -> None:
    page = window.visit(address(KEY))
    row = page.get_by_role("row", name="vector")
    assert "vector of 64, length 4" in row.inner_text()
    row.get_by_role("link", name="Show all").click()
    assert json.loads(page.locator("pre.whole-text").inner_text()) == [0.5] * 64


def test_joined_emoji_stay_whole(window: Window) -> None:
    page = window.visit(address(KEY))
    assert page.get_by_role("row", name="sk").locator(".v").inner_text() == FAMILY


def test_a_thousand_attributes_are_filtered(window: Window) -> None:
    page = window.visit(address(MANY))
    page.keyboard.press("/")
    page.keyboard.type("value 77")
    rows = page.locator("#item tbody tr:visible")
    assert rows.count() == 11, "77, and 770 to 779"


@pytest.mark.parametrize(
    ("at", "body"),
    [
        (("long",), LONG.encode()),
        (("deep", "a.b", 0), b"x" * 3_000),
        (("deep", "a.b", 1, 1), b"2"),
    ],
)
def test_any_value_is_a_file(console: Browserless, at: tuple[str | int, ...], body: bytes) -> None:
    answer = value(console, *at, file="/file")
    assert answer.text.encode() == body
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "at", [("nothing",), ("long", 0), ("deep", "a.b", 2), ("deep", "a.b", -1), (True,), ([1],)]
)
def test_a_path_that_leads_nowhere(console: Browserless, at: Any) -> None:
    assert value(console, *at).status == 404


@pytest.mark.parametrize("at", ["", "x", "{}", "[]", "[" * 100_000])
def test_an_address_that_names_no_value(console: Browserless, at: str) -> None:
    path = f"/table/shop/item/value?key={cursor(KEY)}&at={quote(at[:9_000])}"
    assert console.ask(path).status == 404


def test_a_text_of_invisible_characters_is_shown_as_bytes(console: Browserless) -> None:
    answer = value(console, "zeros")
    assert "00 00 00 00" in answer.text
    assert len(answer.text) < 200_000


def test_hostile_names_lead_to_their_values(console: Browserless) -> None:
    path = address(shop.HOSTILE_KEY, "/value", "' onfocus=alert(1) autofocus '")
    answer = console.ask(path)
    assert answer.status == 200
    assert "a name" in answer.text
