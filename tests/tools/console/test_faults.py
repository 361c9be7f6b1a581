"""Faults of an item are said beside their fields, before anything is written."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from console import shop
from console.asking import Browserless, Window
from hashrange.tools.console import Console, serving
from hashrange.tools.console.checking import WHOLE, faults_of
from hashrange.tools.console.shapes import TableShape
from hashrange.tools.console.values import cursor
from hashrange.tools.target import target_of

ORDER = {"pk": {"S": "customer#ann"}, "sk": {"S": "order#03"}}
ITEM = {"pk": {"S": "p"}, "sk": {"S": "s"}}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with hashrange.connect() as database:
        yield target_of(database, "a database").client


@pytest.fixture(scope="module")
def console() -> Iterator[Browserless]:
    with hashrange.connect() as database:
        target = target_of(database, "a database")
        shop.make(target.client)
        with serving(Console(target, write=True)) as url:
            yield Browserless(url).enter()


def test_a_fault_stands_beside_its_field_before_write(window: Window) -> None:
    page = window.visit(f"/table/shop/item/edit?key={cursor(ORDER)}")
    page.get_by_label("Value of status").fill("")
    page.locator(".attribute", has=page.get_by_label("Value of total")).locator(
        "select"
    ).select_option("S")
    page.get_by_label("Value of lines").fill('{"cup": {"SS": []}}')
    page.get_by_role("button", name="Review").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("button", name="Write").count() == 0
    for name, said in (
        ("status", "must not be empty"),
        ("total", "must be a number"),
        ("lines", "may not be empty"),
    ):
        value = page.get_by_label(f"Value of {name}")
        field = page.locator(".attribute", has=value)
        assert said in field.locator(".fault").inner_text()
        assert value.get_attribute("aria-invalid") == "true"
        described = page.locator(f"#{value.get_attribute('aria-describedby')}")
        assert described.inner_text() == field.locator(".fault").inner_text()


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"pk": {"S": "p"}}, "sk"),
        ({**ITEM, "sk": {"N": "1"}}, "sk"),
        ({**ITEM, "pk": {"S": ""}}, "pk"),
        ({**ITEM, "pk": {"S": "p" * 2_049}}, "pk"),
        ({**ITEM, "sk": {"S": "s" * 1_025}}, "sk"),
        ({**ITEM, "status": {"N": "1"}, "total": {"N": "1"}}, "status"),
        ({**ITEM, "status": {"S": ""}, "total": {"N": "1"}}, "status"),
        ({**ITEM, "n": {"N": "1" * 39}}, "n"),
        ({**ITEM, "m": {"M": {"": {"S": "x"}}}}, "m"),
        ({**ITEM, "s": {"NS": ["1", "1.0"]}}, "s"),
        ({**ITEM, "b": {"BS": []}}, "b"),
        ({**ITEM, "z": {"NULL": False}}, "z"),
        ({**ITEM, "long": {"S": "x" * 400 * 1024}}, WHOLE),
    ],
)
def test_what_the_service_refuses_is_a_fault(client: Any, item: Any, name: str) -> None:
    """And nothing else is, as the second item of each case shows."""
    if "shop" not in client.list_tables()["TableNames"]:
        client.create_table(**shop.TABLE)
    shape = TableShape.of(client.describe_table(TableName="shop")["Table"])
    assert list(faults_of(shape, item)) == [name]
    with pytest.raises(client.exceptions.ClientError, match="ValidationException"):
        client.put_item(TableName="shop", Item=item)
    right = {each: value for each, value in item.items() if each != name} if name else {}
    assert faults_of(shape, ITEM | right) == {}
    client.put_item(TableName="shop", Item=ITEM | right)
