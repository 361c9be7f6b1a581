"""The page of a stream: its newest records, and what changed in each."""

import re
from typing import Any

import pytest
from waiting import SECONDS_MAX

from console import shop
from console.asking import Browserless, Open
from hashrange.tools.console.stream_tails import RECORDS_KEPT, TAILS_MAX, StreamTails

ON = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
PAGE = "/table/shop/stream"


@pytest.fixture
def console(client: Any, opened: Open) -> Browserless:
    client.create_table(**{**shop.TABLE, "StreamSpecification": ON})
    return opened().enter()


def put(client: Any, name: str, **values: str) -> None:
    item = {"pk": {"S": f"customer#{name}"}, "sk": {"S": "profile"}}
    client.put_item(TableName="shop", Item=item | {k: {"S": v} for k, v in values.items()})


def test_changes_are_shown_newest_first(console: Browserless, client: Any) -> None:
    assert "Nothing yet" in console.ask(PAGE).text
    put(client, "ann", city="Leeds")
    put(client, "ann", city="London")
    page = console.ask(PAGE).text
    assert "2 records" in page
    assert page.index(">modify<") < page.index(">insert<")
    assert re.search(r'class="removed".*Leeds', page)
    assert re.search(r'class="added".*London', page)


def test_nothing_new_is_no_answer(console: Browserless, client: Any) -> None:
    console.ask(PAGE)
    put(client, "ann")
    asked = f"{PAGE}/records?seen="
    assert console.ask(asked + "0").status == 200
    assert console.ask(asked + "1").status == 204


def test_the_oldest_records_are_there_if_asked_for(console: Browserless, client: Any) -> None:
    put(client, "before")
    assert "customer#before" not in console.ask(PAGE).text
    assert "customer#before" in console.ask(f"{PAGE}?from=oldest").text


def test_memory_is_bounded(console: Browserless, client: Any) -> None:
    console.ask(PAGE)
    for number in range(RECORDS_KEPT + 30):
        put(client, f"n-{number}")
    page = console.ask(PAGE).text
    assert f"{RECORDS_KEPT + 30} records" in page
    assert page.count('class="record"') == RECORDS_KEPT
    assert f"n-{RECORDS_KEPT + 29}" in page
    assert "n-0<" not in page


def test_streams_are_forgotten(client: Any, of_db: Any) -> None:
    tails = StreamTails(of_db.streams)
    made = []
    for number in range(TAILS_MAX + 1):
        table = {**shop.TABLE, "StreamSpecification": ON, "TableName": f"table-{number}"}
        described = client.create_table(**table)["TableDescription"]
        made.append(
            (described["LatestStreamArn"], tails.of(described["LatestStreamArn"], "LATEST"))
        )
    [(first, old), *_, (last, new)] = made
    assert tails.of(last, "LATEST") is new
    assert tails.of(first, "LATEST") is not old


def test_hostile_values_are_escaped(console: Browserless, client: Any) -> None:
    console.ask(PAGE)
    client.put_item(TableName="shop", Item=shop.hostile())
    client.delete_item(TableName="shop", Key=shop.HOSTILE_KEY)
    page = console.ask(PAGE).text
    assert "<script>window" not in page
    assert "&lt;script&gt;" in page
    assert "U+202E" in page
    assert len(page) < 200_000


def test_a_table_without_a_stream(console: Browserless, client: Any) -> None:
    client.update_table(TableName="shop", StreamSpecification={"StreamEnabled": False})
    assert "has no stream" in console.ask(PAGE).text
    assert "turned off" in console.ask(f"{PAGE}/records").text
    client.delete_table(TableName="shop")
    assert console.ask(f"{PAGE}/records").status == 404


def test_records_appear_by_themselves(console: Browserless, client: Any, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS_MAX)
    page.goto(console.url.replace("/?", f"{PAGE}?"))
    page.get_by_text("Nothing yet").wait_for()
    put(client, "ann", city="Leeds")
    page.get_by_role("link", name="customer#ann").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.get_by_role("link", name="Pause").click()
    page.get_by_role("link", name="Follow").wait_for()
    assert page.locator("#records[hx-get]").count() == 0
    context.close()
