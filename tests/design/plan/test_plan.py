"""The access-pattern table, and the choices and refusals behind it."""

import json
from datetime import date, datetime
from typing import Annotated, Protocol

import pytest

from hashrange import design as st
from hashrange.design.plan.plans import Plan, Unplanned

from ..models import item, model, patterns
from ..test_examples import example

SENSORS = [
    ("Get building info", "Base table", "GetItem", "pk=building#{building_id}", "sk=info", ""),
    (
        "Get the building's floor info",
        "Base table",
        "Query",
        "pk=building#{building_id}",
        "sk begins_with floor#",
        "",
    ),
    (
        "Get the floor's room info",
        "Base table",
        "Query",
        "pk=building#{building_id}",
        "sk begins_with floor@{floor_id}@room#",
        "",
    ),
    (
        "Get the building's sensor info",
        "GSI 1",
        "Query",
        "GSI1-pk=building#{building_id}",
        "",
        "",
    ),
    ("Get the floor's sensor info", "GSI 2", "Query", "GSI2-pk=floor#{floor_id}", "", ""),
    ("Get the room's sensor info", "GSI 3", "Query", "GSI3-pk=room#{room_id}", "", ""),
    (
        "Get the latest measurement of a particular sensor",
        "Base table",
        "Query",
        "pk=sensor#{sensor_id}#{at:%Y-%m-%d}",
        "",
        "Limit=1 ScanIndexForward=false",
    ),
    (
        "Get all items of a particular entity",
        "GSI 4",
        "Query",
        "entityType=Building | Floor | Room | Sensor | Measurement",
        "",
        "",
    ),
]


def test_the_plan_of_the_sensors_example() -> None:
    plan = example("sensors").table.plan()
    columns = [
        "Access pattern",
        "Base table / GSI / LSI",
        "Operation",
        "Partition key value",
        "Sort key value",
        "Other conditions / filters",
    ]
    found = json.loads(plan.json())
    assert found["table"] == "sensor-management"
    assert [list(row) for row in found["patterns"]] == [columns] * 8
    assert [tuple(row.values()) for row in found["patterns"]] == SENSORS
    lines = str(plan).splitlines()
    assert [cell.strip() for cell in lines[0].split(" | ")] == columns
    assert "sk begins_with `floor@{floor_id}@room#`" in plan.markdown()
    assert plan.markdown().count("\n") == 9


class Order(st.Item):
    key = st.key("customer#{customer_id}", "order#{placed}#{order_id}")
    by_status = st.index("GSI1", ("region", "status"), ("placed", "order_id"))

    customer_id: str
    order_id: str
    placed: datetime
    region: str
    status: str


class Note(st.Item):
    key = st.key("customer#{customer_id}", "note#{number:04d}")

    customer_id: str
    number: int
    text: str


class Patterns(st.Store, Protocol):
    def orders(self, customer_id: str) -> st.Query[Order]: ...
    def both(self, customer_id: str) -> st.Query[Order | Note]: ...
    def of_day(
        self,
        customer_id: str,
        since: Annotated[date, st.at_least("placed")],
        until: Annotated[date, st.before("placed")],
    ) -> st.Query[Order]: ...
    def open(self, region: str, status: str, placed: st.AtLeast[datetime]) -> st.Query[Order]: ...
    def above(self, customer_id: str, number: st.After[int]) -> st.Query[Note]: ...
    def by_status(self, status: str) -> st.Query[Order]: ...
    def late(self, customer_id: str, order_id: str) -> st.Query[Order]: ...


table = st.Table("orders", Patterns)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("orders", ("Base table", "pk=`customer#{customer_id}`", "sk begins_with `order#`")),
        ("both", ("Base table", "pk=`customer#{customer_id}`", "")),
        (
            "of_day",
            (
                "Base table",
                "pk=`customer#{customer_id}`",
                "sk between `order#{since}` and before `order#{until}`",
            ),
        ),
        ("open", ("GSI 1", "region=`{region}` status=`{status}`", "placed >= `{placed}`")),
        (
            "above",
            (
                "Base table",
                "pk=`customer#{customer_id}`",
                "sk between after `note#{number:04d}` and `note#…`",
            ),
        ),
    ],
)
def test_plans_of_patterns(name: str, row: tuple[str, str, str]) -> None:
    titles = {p.name: p.title for ps in table.patterns.values() for p in ps}
    [found] = [r for r in table.plan().rows if r.pattern == titles[name]]
    assert (found.source, found.hash, found.sort) == row


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "by_status",
            r"no argument gives customer_id for the key pk.*This would: Order: st.index\(\"GSI2\"",
        ),
        ("late", r"in order#.*, the value of a field before order_id is not known"),
    ],
)
def test_a_refusal_says_why_and_what_would_serve(name: str, reason: str) -> None:
    refused = table.plans[f"Patterns.{name}"]
    assert isinstance(refused, Unplanned)
    with pytest.raises(st.Unserved, match=reason):
        raise refused.error


def test_a_store_with_a_refused_pattern_does_not_open() -> None:
    with pytest.raises(st.Unserved):
        table.open(Patterns, object_with_execute())


def object_with_execute() -> object:
    class Fake:
        def execute(self, operation: str, payload: object) -> dict[str, object]:
            raise AssertionError

    return Fake()


def test_a_request_is_shown_as_it_is_sent() -> None:
    shown = table.request(Patterns.above, "c-1", number=5)
    [(operation, request)] = shown.requests
    assert operation == "Query"
    values = request["ExpressionAttributeValues"]
    assert [v["S"] for v in values.values()] == [
        "customer#c-1",
        "note#0005\0",
        "note#\U0010ffff",
    ]
    assert "note#0005" in str(shown)


def test_request_shows_writes_too() -> None:
    note = Note(customer_id="c-1", number=5, text="x")
    shown = table.request(Patterns.put, note)
    assert [operation for operation, _ in shown.requests] == ["PutItem"]
    assert shown.requests[0][1]["Item"]["sk"] == {"S": "note#0005"}
    [(operation, request)] = table.request(Patterns.create, note).requests
    assert (operation, request["ConditionExpression"]) == ("PutItem", "attribute_not_exists(#0)")
    [(operation, request)] = table.request(Patterns.delete, note).requests
    assert (operation, request["Key"]["sk"]) == ("DeleteItem", {"S": "note#0005"})


def test_request_shows_every_write_of_an_item_or_a_key() -> None:
    m = example("orders")
    table, shop = m.table, m.Shop
    stock = table.load(table.dump(m.Stock(product_id="p-1", available=3)))
    shown = {
        "save": table.request(shop.save, stock.replace(available=2)),
        "move": table.request(shop.move, stock.replace(product_id="p-2")),
        "add": table.request(shop.add, stock, available=-1),
        "add where": table.request(shop.add, stock, where="available >= :n", available=-1, n=1),
        "assign": table.request(shop.assign, stock, "available", 7),
        "delete": table.request(shop.delete, shop.stock, "p-1"),
        "get_many": table.request(shop.get_many, shop.stock, ["p-1", "p-2"]),
        "edit": table.request(shop.edit, shop.stock, product_id="p-1"),
        "update": table.request(shop.update, shop.stock, print, "p-1"),
    }
    assert {name: [o for o, _ in found.requests] for name, found in shown.items()} == {
        "save": ["UpdateItem"],
        "move": ["TransactWriteItems"],
        "add": ["UpdateItem"],
        "add where": ["UpdateItem"],
        "assign": ["UpdateItem"],
        "delete": ["DeleteItem"],
        "get_many": ["BatchGetItem"],
        "edit": ["GetItem"],
        "update": ["GetItem"],
    }
    with pytest.raises(TypeError, match="requests of patch cannot be shown"):
        table.request(shop.patch, shop.stock, product_id="p-1")


def test_optional_arguments_shorten_the_prefix() -> None:
    animals = example("animals")
    plan = animals.table.plans["Animals.addresses"]
    assert isinstance(plan, Plan)
    for arguments, prefix in (
        (("London",), "London:"),
        (("London", "Westminster"), "London:Westminster:"),
    ):
        shown = animals.table.request(animals.Animals.addresses, *arguments)
        [(_, request)] = shown.requests
        assert request["ExpressionAttributeValues"][":s0"] == {"S": prefix}
    with pytest.raises(TypeError, match="only the last arguments"):
        animals.table.request(animals.Animals.addresses, "London", street="Downing St")


class Elsewhere(st.Item):
    key = st.key("e#{e}", "info")
    by_x = st.index("elsewhere", "x#{x}", "e#{e}")

    e: st.Slug
    x: st.Slug


def test_an_index_of_another_table_is_refused() -> None:
    class Patterns(st.Store, Protocol):
        @st.using(Elsewhere.by_x)
        def items(self, x: str) -> st.Query[Here]: ...

    with pytest.raises(st.DeclarationError, match=r"@st\.using: here has no index elsewhere"):
        st.Table("here", Patterns)


class Here(st.Item):
    key = st.key("h#{h}", "info")

    h: st.Slug
    x: st.Slug


def test_both_ends_of_a_range_are_shown_for_a_field_and_for_a_template() -> None:
    pattern = "def of(self, a: str, n: st.Between[int]) -> st.Query[A]: ..."
    for key, shown in (
        ("st.attr('a'), st.attr('n')", "n between `{n}` and `{n}`"),
        ("'a#{a}', '{n:04d}'", "sk between `{n:04d}` and `{n:04d}`"),
    ):
        table = model(item("A", key, "a: st.Slug; n: int") + patterns(pattern))
        assert shown in table.plan().markdown()
