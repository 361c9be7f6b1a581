"""A search goes on until the page is full or the table has been read, and can be stopped."""

import random
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from waiting import SECONDS_MAX

import hashrange
from console import shop
from console.asking import Browserless
from hashrange.tools.console import Console, serving
from hashrange.tools.console.searching import Portion, Search, search
from hashrange.tools.target import target_of

ITEMS = 6_000
RARE = 2_000
"""One item in this many has the rare value."""
FILTER = urlencode({"fname": "rare", "fop": "=", "ftype": "S", "fvalue": "yes"})
STATEMENT = "SELECT * FROM shop WHERE rare = 'yes'"


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
    rare = "yes" if number % RARE == RARE - 1 else "no"
    return {"pk": {"S": "a"}, "sk": {"S": f"{number:06}"}, "rare": {"S": rare}}


@pytest.fixture
def page(browser: Any, console: Browserless, short_rounds: None) -> Iterator[Any]:
    """A window whose searches begin one request in each round."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS_MAX)
    page.goto(console.url)
    yield page
    context.close()


@pytest.mark.parametrize("path", ["", "/query"])
def test_one_page_shows_items_that_are_far_apart(console: Browserless, path: str) -> None:
    text = console.ask(f"/table/shop{path}?{FILTER}&run=1").text
    assert "data-stop" in text or text.count("<tr data-row") == ITEMS // RARE


@pytest.mark.parametrize("path", ["/table/shop?", "/table/shop/query?run=1&"])
def test_rounds_follow_each_other(page: Any, console: Browserless, path: str) -> None:
    page.goto(f"http://{console.parts.netloc}{path}{FILTER}")
    page.get_by_text(re.compile(f"6,000 of 6,000 items read, {ITEMS // RARE} on this")).wait_for()
    assert page.locator("[data-row]").count() == ITEMS // RARE
    assert page.locator("[data-stop]").count() == 0


def test_a_statement_goes_on_too(page: Any, console: Browserless) -> None:
    page.goto(f"http://{console.parts.netloc}/partiql")
    page.locator("textarea[name=statement]").fill(STATEMENT)
    page.keyboard.press("Control+Enter")
    page.get_by_text(re.compile("items read, 3 on this page")).wait_for()
    assert page.locator("[data-row]").count() == ITEMS // RARE


def test_a_search_is_stopped_and_goes_on(page: Any, console: Browserless) -> None:
    asked = []

    def slowly(route: Any) -> None:
        asked.append(route.request.url)
        if len(asked) < 3:
            route.continue_()  # the last round stays without an answer

    page.route("**round=1**", slowly)
    page.goto(f"http://{console.parts.netloc}/table/shop?{FILTER}")
    with page.expect_request(lambda request: "read=1050" in request.url):
        pass
    progress = page.locator("progress")
    assert progress.get_attribute("value") == "1050"
    assert progress.get_attribute("max") == str(ITEMS)
    page.get_by_role("button", name="Stop").click()
    page.unroute("**round=1**")
    page.wait_for_timeout(100)
    assert len(asked) == 3, "no other round was asked for"
    page.get_by_role("link", name="Go on").click()
    page.get_by_text(re.compile("6,000 of 6,000 items read")).wait_for()


def test_a_page_is_never_overfull_and_misses_nothing() -> None:
    """Whatever the distances of the items that pass a filter."""
    seed = random.randrange(2**32)
    print("seed", seed)
    generator = random.Random(seed)
    for _ in range(50):
        passing = [generator.random() < generator.choice((0.001, 0.9)) for _ in range(5_000)]

        def read(limit: int, after: str | None, passing: list[bool] = passing) -> Portion:
            start = int(after or 0)
            end = min(start + limit, len(passing))
            items = [{"n": {"N": str(at)}} for at in range(start, end) if passing[at]]
            return Portion(items, end - start, 0.5, str(end) if end < len(passing) else None)

        seen: list[str] = []
        after: str | None = ""
        while after is not None:
            done = search(read, Search(20, 0, 0, 0, after or None, 20), generator.choice((0, 60)))
            assert len(done.items) <= 20
            assert done.found == len(done.items)
            seen += [item["n"]["N"] for item in done.items]
            after = done.after
        assert seen == [str(at) for at, passes in enumerate(passing) if passes]


@pytest.mark.parametrize("parameter", ["units=x", "read=-1", "found=1e9", "units=nan"])
def test_an_address_that_was_tampered_with(console: Browserless, parameter: str) -> None:
    assert console.ask(f"/table/shop?{parameter}").status == 400
