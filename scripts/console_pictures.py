"""Take the pictures of the web console in docs/pictures, of the examples' own tables.

python scripts/console_pictures.py

It needs Chromium, as the tests of the console do.
"""

import importlib
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
EXAMPLES = ("orders", "chat", "animals", "organisations")

ORDER = {"pk": {"S": "customer#ann"}, "sk": {"S": "order#2024-05-03T12:00:00.000000Z#o-4"}}
QUERY = "pk=customer%23ann&skop=begins_with&sk=order%23&fname=status&fop==&fvalue=shipped&run=1"
SHOTS = (
    # name, path, width, height, colours
    ("console-items", "/table/shop", 1200, 640, "light"),
    ("console-query", f"/table/shop/query?{QUERY}", 1200, 620, "light"),
    ("console-edit", "", 1200, 560, "dark"),
    ("console-side", "/table/chat?view=side", 1200, 620, "dark"),
    ("console-phone", "/table/shop", 390, 700, "dark"),
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
            if not shown:
                _change(page)
            page.screenshot(path=PICTURES / f"{name}.png")
            context.close()


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


if __name__ == "__main__":
    main()
