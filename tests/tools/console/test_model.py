"""The pages of a model: its plan, its patterns as forms, its pictures."""

import re
from pathlib import Path
from typing import Any

import pytest
from programs import fault
from waiting import SECONDS_MAX

from console.asking import Browserless
from console.test_command import started
from console.test_tour import text_of
from hashrange.tools.cli.design.model_files import tables_of
from hashrange.tools.console import Console, serving
from hashrange.tools.console.tour import strings
from hashrange.tools.target import Target

MODEL = Path(__file__).parents[3] / "examples" / "orders.py"
PLACED = ("2024-03-01T10:00:00.000000Z", "2024-05-03T12:00:00.000000Z")


@pytest.fixture
def console(of_db: Target) -> Any:
    tables = tables_of(MODEL)
    tables[0].create(of_db.client)
    for number, placed in enumerate(PLACED):
        item = strings(
            entityType="Order",
            pk="customer#ann",
            sk=f"order#{placed}#o-{number}",
            customer_id="ann",
            order_id=f"o-{number}",
            placed=placed,
            status="<b>open",
            unfulfilled_pk=f"unfulfilled#{number}",
            unfulfilled_sk=f"{placed}#o-{number}",
        )
        of_db.client.put_item(TableName="shop", Item=item)
    with serving(Console(of_db, models=tables)) as url:
        yield Browserless(url).enter()


def test_entities_and_plan(console: Browserless) -> None:
    page = console.ask("/model")
    assert page.status == 200
    said = text_of(page.text)
    for text in (
        "CartLine",
        "Get all unfulfilled orders",
        "GSI unfulfilled",
        "customer#{customer_id}",
    ):
        assert text in said
    assert 'href="/model"' in console.ask("/").text


def ask(console: Browserless, pattern: str, **fields: str) -> Any:
    parameters = "&".join(f"{name}={text}" for name, text in fields.items())
    return console.ask(f"/model/shop/pattern?pattern=Shop.{pattern}&run=1&{parameters}")


def test_a_pattern_runs_by_its_form(console: Browserless) -> None:
    form = console.ask("/model/shop/pattern?pattern=Shop.orders_since").text
    assert re.findall(r"<label>(\w+)", form) == ["customer_id", "since"]
    assert "Result 2 items" in text_of(ask(console, "orders", customer_id="ann").text)
    since = ask(console, "orders_since", customer_id="ann", since="2024-04-01T00:00:00Z")
    assert "Result 1 item" in text_of(since.text)
    assert "o-1" in since.text
    assert "o-0" not in since.text
    assert "&lt;b&gt;open" in since.text
    assert "Result 0 items" in text_of(ask(console, "customer", customer_id="bob").text)


def test_a_pattern_of_several_requests(console: Browserless) -> None:
    page = text_of(ask(console, "unfulfilled").text)
    assert "Result 2 items of 10 requests" in page


def test_mistakes_are_told(console: Browserless) -> None:
    for fields in ({"customer_id": "ann", "since": "soon"}, {"customer_id": ""}):
        answer = ask(console, "orders_since", **fields)
        assert answer.status == 400
        assert 'role="alert"' in answer.text
    for path in (
        "/model/other/pattern?pattern=Shop.orders",
        "/model/shop/pattern?pattern=%3Cb%3E",
        "/model/shop/picture?view=none",
    ):
        answer = console.ask(path)
        assert answer.status == 404
        assert "<b>" not in answer.text


def test_pictures(console: Browserless) -> None:
    for view in ("table", "entities", "patterns"):
        answer = console.ask(f"/model/shop/picture?view={view}")
        assert answer.headers["content-type"].startswith("image/svg+xml")
        assert answer.text.startswith("<svg")


def test_the_command_takes_a_model(tmp_path: Path) -> None:
    import hashrange

    path = str(tmp_path / "app.db")
    hashrange.connect(path).close()
    with started("console", path, "--model", str(MODEL), "--port", "0") as (_, console):
        assert "Get a customer" in console.ask("/model").text
        answer = ask(console, "orders", customer_id="ann")
        assert answer.status == 400
    said = fault("console", path, "--model", str(tmp_path / "none.py"), "--port", "0")
    assert "none.py" in said


def test_a_form_in_a_browser(console: Browserless, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS_MAX)
    page.goto(console.url.replace("/?", "/model?"))
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    picture = page.locator("details[open] img")
    picture.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('details[open] img').naturalWidth > 100")
    page.get_by_role("link", name="Get a customer's orders in the order of time").click()
    page.get_by_label("customer_id").fill("ann")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("2 items").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    context.close()
