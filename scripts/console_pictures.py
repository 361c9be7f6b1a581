"""Take the pictures of the web console in docs/pictures, of the examples' own tables.

python scripts/console_pictures.py

It needs Chromium, as the tests of the console do.
"""

import importlib
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import hashrange
from hashrange.tools.console import Console, serving
from hashrange.tools.console.tour import fill
from hashrange.tools.console.values import cursor
from hashrange.tools.target import target_of

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
VISITS = 20_000
EXAMPLES = ("orders", "chat", "animals", "organisations")

ORDER = {"pk": {"S": "customer#ann"}, "sk": {"S": "order#2024-05-03T12:00:00.000000Z#o-4"}}
QUERY = "pk=customer%23ann&skop=begins_with&sk=order%23&fname=status&fop==&fvalue=shipped&run=1"
QUERY_PATH = f"/table/shop/query?{QUERY}"
SHOTS = (
    # name, path, width, height, colours
    ("console-items", "/table/shop", 1200, 640, "light"),
    ("console-query", f"/table/shop/query?{QUERY}", 1200, 620, "light"),
    ("console-edit", "", 1200, 560, "dark"),
    ("console-side", "/table/chat?view=side", 1200, 620, "dark"),
    ("console-phone", "/table/shop", 390, 700, "dark"),
    ("console-values", "/table/visits/values?of=page", 1200, 420, "light"),
    ("console-cell", QUERY_PATH, 1200, 560, "light"),
)

TOUR_SHOTS = (
    ("learn-ring", "/learn/ring?organisation=def456&owner=jane", 1200, 900, "light"),
    ("learn-hot", "/learn/hot?run=1&rate=16&keys=1", 1200, 800, "dark"),
)


def main() -> None:
    sys.path.insert(0, str(ROOT / "examples"))
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with hashrange.connect() as database, sync_playwright() as playwright:
        client = database.boto3_session().resource("dynamodb").meta.client
        for name in EXAMPLES:
            example = importlib.import_module(f"boto3_{name}")
            example.create(client)
            example.load(client)
        _visits(client)
        browser = playwright.chromium.launch(executable_path=path)
        _shoot(browser, Console(target_of(database, "shop.db"), write=True), SHOTS)
        with hashrange.connect() as tour:
            fill(tour)
            target = target_of(tour, "tour, in memory")
            _shoot(browser, Console(target, write=True, tour=True), TOUR_SHOTS)
        browser.close()


def _shoot(
    browser: Any, console: Console, shots: tuple[tuple[str, str, int, int, Any], ...]
) -> None:
    with serving(console) as url:
        for name, shown, width, height, colours in shots:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=colours
            )
            page = context.new_page()
            page.goto(url)
            page.goto(f"{url.partition('/?')[0]}{shown or _edit()}")
            page.wait_for_load_state("networkidle")
            if action := ACTIONS.get(name):
                action(page)
            page.screenshot(path=PICTURES / f"{name}.png")
            context.close()


def _visits(client: Any) -> None:
    """A table of many items, whose attribute `page` has few values."""
    client.create_table(
        TableName="visits",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    generator = random.Random(1)
    names = ("home", "search", "product", "cart", "help")
    pages = generator.choices(names, (9, 6, 5, 2, 1), k=VISITS)
    for start in range(0, VISITS, 25):
        puts = [
            {"PutRequest": {"Item": {"id": number, "page": pages[number]}}}
            for number in range(start, start + 25)
        ]
        client.batch_write_item(RequestItems={"visits": puts})


def _edit() -> str:
    return f"/table/shop/item/edit?key={cursor(ORDER)}"


def _change(page: Any) -> None:
    """Ship the order, up to what changes."""
    page.get_by_label("Value of status").fill("shipped")
    page.get_by_label("Value of lines").fill('{"cup": {"N": "5"}, "pot": {"N": "1"}}')
    page.get_by_label("Remove unfulfilled-pk").click()
    page.get_by_label("Remove unfulfilled-sk").click()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Write").wait_for()


def _change_cell(page: Any) -> None:
    """Ship an order, in its cell."""
    page.locator("td", has_text="shipped").first.dblclick(position={"x": 1, "y": 2})
    page.get_by_label("Value of status").fill("returned")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Write").wait_for()


def _counted(page: Any) -> None:
    page.get_by_text(f"{VISITS:,} of {VISITS:,} items read").wait_for()


ACTIONS = {"console-edit": _change, "console-cell": _change_cell, "console-values": _counted}


if __name__ == "__main__":
    main()
