"""The grid of items: numbers to the right, and the sort key in sight."""

from typing import Any

from console import shop
from console.asking import Open


def test_numbers_are_at_the_right_and_the_sort_key_in_sight(
    browser: Any, client: Any, opened: Open
) -> None:
    shop.make(client)
    wide = {f"number {number:02}": {"N": str(number)} for number in range(20)}
    client.put_item(TableName="shop", Item={"pk": {"S": "w"}, "sk": {"S": "here"}, **wide})
    console = opened(write=True)
    for width in (1280, 390):
        context = browser.new_context(viewport={"width": width, "height": 800})
        page = context.new_page()
        page.goto(console.url)
        page.goto(f"http://{console.parts.netloc}/table/shop")
        row = page.locator("[data-row]", has_text="here")
        align = "e => getComputedStyle(e).textAlign"
        assert row.locator("td", has_text="19").evaluate(align) == "right"
        assert page.locator("th", has_text="number 19").evaluate(align) == "right"
        assert row.locator(".first").evaluate(align) != "right"
        before = row.locator(".first").bounding_box()
        page.locator(".scroll", has=row).evaluate("e => e.scrollTo(1e6, 0)")
        after = row.locator(".first").bounding_box()
        assert abs(after["x"] - before["x"]) < 8
        context.close()
