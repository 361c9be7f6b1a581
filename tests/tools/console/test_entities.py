"""A new item of an entity: its keys are computed, and shown before it is written."""

from collections.abc import Iterator

import pytest

import hashrange
from console.asking import Browserless, Window
from console.test_model import MODEL
from hashrange.tools.cli.design.model_files import tables_of
from hashrange.tools.console import Console, serving
from hashrange.tools.console.values import dumps
from hashrange.tools.target import Target, target_of

ORDER = {
    "customer_id": "ann",
    "order_id": "o-1",
    "placed": "2024-05-03T12:00:00Z",
    "lines": '{"cup": 2}',
}
SK = "order#2024-05-03T12:00:00.000000Z#o-1"


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        tables_of(MODEL)[0].create(target.client)
        yield target


@pytest.fixture(scope="module")
def console(target: Target) -> Iterator[Browserless]:
    with serving(Console(target, write=True, models=tables_of(MODEL))) as url:
        yield Browserless(url).enter()


def test_an_item_of_an_entity_is_made(window: Window, console: Browserless, target: Target) -> None:
    page = window.visit("/table/shop")
    page.locator("summary", has_text="New item").click()
    page.get_by_role("link", name="Order", exact=True).click()
    for field, text in ORDER.items():
        page.get_by_label(field).fill(text)
    keys = page.locator("#keys")
    keys.get_by_text(SK).wait_for()
    assert "GSI unfulfilled" in keys.inner_text()
    page.get_by_label("status").fill("shipped")
    keys.get_by_text("not in this index").first.wait_for()
    page.get_by_label("status").fill("open")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Write").wait_for()
    heads = page.locator(".changes th").all_inner_texts()
    assert [head.split("\n")[0] for head in heads[:4]] == [
        "pk",
        "sk",
        "unfulfilled-pk",
        "unfulfilled-sk",
    ]
    assert "key of unfulfilled" in heads[2]
    assert target.client.scan(TableName="shop")["Count"] == 0
    page.get_by_role("button", name="Write").click()
    page.get_by_text("Written.").wait_for()
    [stored] = target.client.scan(TableName="shop")["Items"]
    [table] = tables_of(MODEL)
    assert stored["sk"] == {"S": SK}
    loaded = table.load(stored)
    assert loaded is not None
    assert loaded.model_dump()["lines"] == {"cup": 2}

    again = console.post("/model/shop/create", item=dumps(stored))
    assert again.status == 409
    assert target.client.scan(TableName="shop")["Items"] == [stored]


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"order_id": ""}, "order_id", "is required"),
        ({"placed": "yesterday"}, "placed", "valid datetime"),
        ({"status": "lost"}, "status", "open"),
        ({"lines": "[1]"}, "lines", "should be"),
        ({"lines": "[1"}, "lines", "Invalid JSON"),
    ],
)
def test_a_fault_stands_beside_its_field(
    console: Browserless, changed: dict[str, str], field: str, said: str
) -> None:
    answer = console.post("/model/shop/new", entity="Order", **ORDER | changed)
    assert answer.status == 400
    after = answer.text.partition(f'name="{field}"')[2]
    assert said in after.partition('class="fault"')[2].partition("</p>")[0]


def test_a_value_that_no_key_can_have(console: Browserless) -> None:
    answer = console.post("/model/shop/new", entity="Customer", customer_id="x" * 3_000)
    assert answer.status == 400


@pytest.mark.parametrize("path", ["/model/shop/new?entity=Nobody", "/model/none/new?entity=Order"])
def test_what_the_model_does_not_have(console: Browserless, path: str) -> None:
    assert console.ask(path).status == 404


def test_a_read_only_console_makes_nothing(target: Target) -> None:
    before = target.client.scan(TableName="shop")["Items"]
    with serving(Console(target, models=tables_of(MODEL))) as url:
        console = Browserless(url).enter()
        for path in ("/model/shop/new", "/model/shop/create"):
            answer = console.post(path, entity="Order", **ORDER)
            assert answer.status == 403
    assert target.client.scan(TableName="shop")["Items"] == before
