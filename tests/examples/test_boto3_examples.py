"""The boto3 examples: the exact results of every access pattern, and that each program runs."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from waiting import SECONDS_MAX

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("organisations", "orders", "sensors", "animals", "chat")


@contextmanager
def _importable() -> Iterator[None]:
    sys.path.insert(0, str(EXAMPLES))
    yield
    sys.path.remove(str(EXAMPLES))


Prepared = Callable[[str], tuple[Any, Any]]


def prepare(name: str) -> tuple[Any, Any]:
    """An example's module by its name, and a client of a new database with its tables."""
    with _importable():
        module = importlib.import_module(f"boto3_{name}")
        client = importlib.import_module("showing").connect()
    module.prepare(client)
    return module, client


@pytest.fixture
def prepared() -> Prepared:
    return prepare


@pytest.fixture(scope="module")
def shared() -> Prepared:
    """The same for tests that only read. They share the databases."""
    return cache(prepare)


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_the_program_shows_its_patterns(name: str) -> None:
    command = [sys.executable, str(EXAMPLES / f"boto3_{name}.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
    assert "consumed" in ran.stdout
    assert "Query" in ran.stdout


# (example, for each access pattern in the order of its table: items found, requests, capacity)
MEASURED: list[tuple[str, list[tuple[int, int, float]]]] = [
    ("organisations", [(1, 1, 0.5), (2, 1, 0.5), (1, 1, 1.0), (2, 1, 0.5), (2, 2, 1.5)]),
    ("orders", [*((count, 1, 0.5) for count in (1, 1, 3, 2, 1)), (2, 10, 5.0), (2, 1, 1.0)]),
    (
        "sensors",
        [
            *((count, 1, 0.5) for count in (1, 5, 5)),
            *((50, 1, 1.5), (10, 1, 0.5), (2, 1, 0.5)),
            *((1, 1, 0.5), (10_000, 2, 137.0)),
        ],
    ),
    ("animals", [(count, 1, 0.5) for count in (3, 1, 4, 2, 3, 1, 2, 2)]),
    ("chat", [*((count, 1, 0.5) for count in (1, 1, 1, 3, 1, 2)), (2, 2, 1.5)]),
]


@pytest.mark.parametrize(("name", "expected"), MEASURED, ids=NAMES)
def test_results_and_costs_of_the_patterns(
    shared: Prepared, name: str, expected: list[tuple[int, int, float]]
) -> None:
    module, client = shared(name)
    with _importable():
        meter_of = importlib.import_module("showing").Meter
    patterns = module.patterns() if name == "sensors" else module.PATTERNS
    seen = []
    for pattern in patterns:
        with meter_of(client) as meter:
            found = pattern.run(client)
        seen.append((len(found), meter.requests, meter.capacity))
    assert seen == expected


def test_organisations(shared: Prepared) -> None:
    example, client = shared("organisations")
    foo, other_foo, bar, other_bar = example.PROJECTS
    assert example.organisation(client, "abc123") == {"id": "abc123", "name": "Foo Inc."}
    assert example.organisation(client, "absent") is None
    assert example.projects(client, "abc123") == [foo, other_foo]
    assert example.projects(client, "def456") == [bar, other_bar]
    assert example.project(client, "abc123", "Foo Project") == foo
    assert example.updated_since(client, "abc123", date(2018, 8, 1)) == [foo]
    assert example.updated_since(client, "abc123", date(2017, 8, 1)) == [other_foo, foo]
    owned = example.owned_by(client, "jane")
    assert sorted(owned, key=lambda found: str(found["organisation_id"])) == [
        {"owner": "jane", "organisation_id": "abc123", "name": "Foo Project"},
        {"owner": "jane", "organisation_id": "def456", "name": "Bar Project"},
    ]
    assert sorted(example.owned_by_in_full(client, "jane"), key=str) == sorted([foo, bar], key=str)
    assert example.owned_by_in_full(client, "nobody") == []


def test_orders(shared: Prepared) -> None:
    example, client = shared("orders")
    assert example.customer(client, "ann")["name"] == "Ann"
    assert example.customer(client, "nobody") is None
    ids = [order["order_id"] for order in example.orders(client, "ann")]
    assert ids == ["o-1", "o-2", "o-4"]
    since = example.orders_since(client, "ann", example.APRIL)
    assert [order["order_id"] for order in since] == ids[1:]
    assert example.order(client, "ann", example.APRIL, "o-2") == since[0]
    assert example.latest_order(client, "ann") == since[1]
    assert example.latest_order(client, "nobody") is None
    assert example.cart_line(client, "bob", "cup")["quantity"] == 2
    assert example.product_in_full(client, "pot") == [
        example.product(client, "pot"),
        example.stock(client, "pot"),
    ]


def test_an_order_leaves_the_sparse_index_when_it_is_shipped(prepared: Prepared) -> None:
    example, client = prepared("orders")

    def open_orders() -> list[str]:
        return [order["order_id"] for order in example.unfulfilled(client)]

    assert open_orders() == ["o-3", "o-4"]
    example.ship(client, "bob", example.BOBS, "o-3")
    assert open_orders() == ["o-4"]
    assert [order["status"] for order in example.orders(client, "bob")] == ["shipped"]
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        example.ship(client, "bob", example.BOBS, "o-3")


def test_a_cart_becomes_an_order(prepared: Prepared) -> None:
    example, client = prepared("orders")
    assert example.add_to_cart(client, "ann", "pot", 1) == 1
    assert example.add_to_cart(client, "ann", "pot", 2) == 3
    example.add_to_cart(client, "ann", "cup", 6)
    assert _cart(example, client) == {"cup": 6, "pot": 3}
    placed = example.place_order(client, "ann", datetime(2024, 6, 1, tzinfo=UTC), "o-5")
    assert placed["lines"] == {"cup": 6, "pot": 3}
    assert _cart(example, client) == {}
    assert example.latest_order(client, "ann") == placed
    assert example.unfulfilled(client)[-1] == placed
    assert example.stock(client, "pot")["available"] == 10 - 3


def _cart(example: Any, client: Any) -> dict[str, int]:
    return {line["product_id"]: line["quantity"] for line in example.cart(client, "ann")}


def test_an_order_of_more_than_there_is_changes_nothing(prepared: Prepared) -> None:
    example, client = prepared("orders")
    example.add_to_cart(client, "ann", "cup", 1)
    example.add_to_cart(client, "ann", "pot", 11)
    before = example.unfulfilled(client)
    with pytest.raises(ClientError, match="None, None, None, None, ConditionalCheckFailed"):
        example.place_order(client, "ann", datetime(2024, 6, 1, tzinfo=UTC), "o-5")
    assert _cart(example, client) == {"cup": 1, "pot": 11}
    assert example.stock(client, "cup")["available"] == 100
    assert example.unfulfilled(client) == before


def test_a_change_of_stock_does_not_rewrite_the_description(prepared: Prepared) -> None:
    example, client = prepared("orders")
    assert example.restock(client, "pot", 5) == 1.0
    assert example.stock(client, "pot")["available"] == 15
    assert example.product(client, "pot")["description"] == example.LONG_DESCRIPTION


def test_sensors(shared: Prepared) -> None:
    example, client = shared("sensors")
    assert example.building(client, "b-2")["name"] == "Building b-2"
    assert example.building(client, "b-3") is None
    assert [floor["floor_id"] for floor in example.floors(client, "b-1")] == [
        f"f-{number}" for number in range(1, 6)
    ]
    rooms = [room["room_id"] for room in example.rooms(client, "b-1", "f-2")]
    assert rooms == ["r-10", "r-6", "r-7", "r-8", "r-9"]
    ids = [sensor["sensor_id"] for sensor in example.building_sensors(client, "b-1")]
    assert sorted(ids) == sorted(f"s-{number}" for number in range(1, 51))
    on_floor = {sensor["sensor_id"] for sensor in example.floor_sensors(client, "f-2")}
    assert on_floor == {f"s-{number}" for number in range(11, 21)}
    in_room = [sensor["sensor_id"] for sensor in example.room_sensors(client, "r-3")]
    assert in_room == ["s-5", "s-6"]
    latest = example.latest(client, "s-5")
    assert (latest["sensor_id"], latest["sk"]) == ("s-5", "23:45:36.000000")
    assert example.latest(client, "s-5", date(2024, 5, 2)) is None
    counts = {"Building": 2, "Floor": 10, "Room": 50, "Sensor": 100, "Measurement": 10_000}
    assert {kind: len(example.all_of(client, kind)) for kind in counts} == counts


def test_animals(shared: Prepared) -> None:
    example, client = shared("animals")

    def names(pattern: str, *arguments: Any) -> list[str]:
        return [found["animal_id"] for found in getattr(example, pattern)(client, *arguments)]

    def streets(*place: str) -> list[str]:
        return [found["street"] for found in example.addresses(client, *place)]

    assert names("dogs") == ["Waldi", "Rex", "Bello", "Lassie"]
    assert names("dogs_that", "sit") == ["Bello", "Lassie"]
    assert names("cats") == ["Leo", "Mia", "Tom"]
    assert names("parrots_between", (2, 5)) == ["Polly"]
    assert names("parrots_between", (3, 101)) == ["Polly", "Coco"]
    assert names("parrots_above", 5) == ["Coco", "Rio"]
    assert names("parrots_below", 5) == ["Polly"]
    assert names("dogs_born", date(2019, 5, 1), date(2021, 2, 14)) == ["Rex", "Waldi"]
    assert names("cats_born", date(2019, 5, 1), date(2021, 2, 14)) == ["Tom"]
    assert streets("London") == ["Parkway", "Buckingham Palace", "Downing St"]
    assert streets("London", "Westminster") == ["Buckingham Palace", "Downing St"]
    assert streets("London", "Westminster", "Downing St") == ["Downing St"]
    assert streets("Lond") == []


def test_chat(shared: Prepared) -> None:
    example, client = shared("chat")
    assert example.login(client, "EMAIL", "user1@example.com")["user_id"] == "1"
    assert example.login(client, "USERNAME", "John")["user_id"] == "2"
    assert example.login(client, "EMAIL", "nobody@example.com") is None
    [position] = example.organisations(client, "1")
    assert (position["org_id"], position["role"]) == ("1", "Admin")
    kinds = [found["entityType"] for found in example.account(client, "1")]
    assert kinds == ["User", "Login", "Position", "Login"]
    since = example.messages_since(client, "1", example.MOMENT)
    assert [found["message_id"] for found in since] == ["10", "20", "3"]
    assert example.messages(client, "1") == since[::-1]
    later = example.messages_since(client, "1", example.MOMENT + timedelta(seconds=1))
    assert later == since[2:]
    assert [found["username"] for found in example.members(client, "1")] == ["Mike", "John"]
    assert example.member_count(client, "1") == 2
    assert example.membership(client, "1", "2")["username"] == "John"
    assert [found["name"] for found in example.server_list(client, "2")] == ["Gaming", "Cooking"]
    assert example.server_list(client, "3") == []


def test_costs_of_renaming(prepared: Prepared) -> None:
    example, client = prepared("chat")
    assert example.rename_server(client, "1", "Playing") == 1
    assert [found["name"] for found in example.server_list(client, "2")] == ["Playing", "Cooking"]
    assert example.rename_user(client, "2", "Johnny") == 1 + 2
    assert [found["username"] for found in example.members(client, "1")] == ["Mike", "Johnny"]
    assert [found["username"] for found in example.members(client, "2")] == ["Johnny"]
