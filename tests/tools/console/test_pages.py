"""Every page fits its window, names what can be used, and meets WCAG 2.2 AA."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
import pytest

import hashrange
from console import shop
from console.asking import Browserless, Window
from console.test_model import MODEL
from hashrange.tools.cli.design.model_files import tables_of
from hashrange.tools.console import Console, serving
from hashrange.tools.console.values import cursor
from hashrange.tools.target import target_of

BOB = {"pk": {"S": "customer#bob"}, "sk": {"S": "profile"}}
LONG = {"pk": {"S": "k" * 900}, "sk": {"S": "s" * 600}}
VECTOR = {"pk": {"S": "vector"}, "sk": {"S": "1"}, "embedding": {"L": [{"N": "0.25"}] * 768}}
MANY = {"pk": {"S": "many"}, "sk": {"S": "1"}}
ITEM, HOSTILE = (f"/table/shop/item?key={cursor(key)}" for key in (BOB, shop.HOSTILE_KEY))
PAGES = (
    "/",
    "/model",
    "/model/shop/new?entity=Order",
    "/new-table",
    "/partiql?table=shop",
    "/partiql?statement=SELECT+*+FROM+shop&run=1",
    "/partiql?statement=SELECT+FROM&run=1",
    "/table/shop",
    "/table/shop?view=side",
    "/table/shop?fname=name&fop==&ftype=S&fvalue=bob",
    "/table/shop/query?pk=customer%23ann&run=1",
    "/table/shop/values?of=status",
    "/table/shop/details",
    "/table/shop/export",
    "/table/shop/delete",
    "/table/shop/partitions",
    "/table/shop/stream",
    ITEM,
    ITEM.replace("?", "/edit?"),
    ITEM.replace("?", "/delete?"),
    ITEM.replace("?", "/cell?name=name&"),
    ITEM.replace("?", "/new?"),
    "/table/shop/item/new",
    HOSTILE,
    HOSTILE.replace("?", "/value?at=%5B%22bytes%22%5D&"),
    HOSTILE.replace("?", "/value?at=%5B%22mixed%22%5D&"),
    f"/table/shop/item?key={cursor(MANY)}",
    "/table/nowhere",
)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ALL = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": TAGS}}
COLOURS = {"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": ["color-contrast"]}}
LOOKS: tuple[tuple[int, Literal["light", "dark"], Any], ...] = (
    # Only the colours depend on the theme.
    (1280, "light", ALL),
    (1280, "dark", COLOURS),
    (390, "dark", ALL),
    (390, "light", COLOURS),
)
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def console() -> Iterator[Browserless]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        shop.make(target.client)
        attributes = {f"attribute {n:04}": {"N": str(n)} for n in range(60)}
        for item in (LONG, VECTOR, MANY | attributes, shop.hostile()):
            target.client.put_item(TableName="shop", Item=item)
        with serving(Console(target, write=True, models=tables_of(MODEL))) as url:
            yield Browserless(url).enter()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_and_is_accessible(window: Window, path: str) -> None:
    """In both widths and both themes."""
    page = window.visit(path)
    page.evaluate(AXE)  # not as a script of the page, which its policy forbids
    for width, scheme, rules in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{path} is wider than {width}"
        assert page.locator("main, header, nav[aria-label=Main]").count() == 3
        # At the end of the page nothing lies beneath the bar with the counts.
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        found = page.evaluate("rules => axe.run(rules)", rules)["violations"]
        assert [told(each) for each in found] == [], f"at {width} in the {scheme}"
    assert page.evaluate("window.hit") is None


def told(violation: dict[str, Any]) -> str:
    nodes = [node["html"][:120] for node in violation["nodes"][:3]]
    return f"{violation['id']}: {violation['help']}: {nodes}"
