"""The boto3 examples: the exact results of every access pattern, and that each program runs."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("organisations", "orders", "sensors", "animals", "chat")


@contextmanager
def _importable() -> Iterator[None]:
    sys.path.insert(0, str(EXAMPLES))
    yield
    sys.path.remove(str(EXAMPLES))


@pytest.fixture
def prepared() -> Callable[[str], tuple[Any, Any]]:
    """An example's module by its name, and a client of a new database with its tables."""

    def prepare(name: str) -> tuple[Any, Any]:
        with _importable():
            module = importlib.import_module(f"boto3_{name}")
            client = importlib.import_module("showing").connect()
        module.prepare(client)
        return module, client

    return prepare


Prepared = Callable[[str], tuple[Any, Any]]


@pytest.mark.parametrize("name", NAMES)
def test_the_program_shows_its_patterns(name: str) -> None:
    command = [sys.executable, str(EXAMPLES / f"boto3_{name}.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "consumed" in ran.stdout
    assert "Query" in ran.stdout


# (example, for each access pattern in the order of its table: items found, requests, capacity)
MEASURED: list[tuple[str, list[tuple[int, int, float]]]] = [
    ("organisations", [(1, 1, 0.5), (2, 1, 0.5), (1, 1, 1.0), (2, 1, 0.5), (2, 2, 1.5)]),
    ("orders", [*((count, 1, 0.5) for count in (1, 1, 3, 2, 1, 2)), (1, 1, 1.0)]),
    (
        "sensors",
        [
            *((count, 1, 0.5) for count in (1, 5, 5)),
            *((50, 1, 1.0), (10, 1, 0.5), (2, 1, 0.5)),
            *((1, 1, 0.5), (10_000, 2, 130.0)),
        ],
    ),
    ("animals", [(count, 1, 0.5) for count in (4, 3, 1, 2, 1, 3, 1)]),
    ("chat", [*((count, 1, 0.5) for count in (1, 1, 1, 2, 2, 2)), (2, 2, 1.5)]),
]


@pytest.mark.parametrize(("name", "expected"), MEASURED, ids=NAMES)
def test_what_the_patterns_find_and_cost(
    prepared: Prepared, name: str, expected: list[tuple[int, int, float]]
) -> None:
    module, client = prepared(name)
    with _importable():
        meter_of = importlib.import_module("showing").Meter
    patterns = module.patterns() if name == "sensors" else module.PATTERNS
    seen = []
    for pattern in patterns:
        with meter_of(client) as meter:
            found = pattern.run(client)
        seen.append((len(found), meter.requests, meter.capacity))
    assert seen == expected


def test_organisations(prepared: Prepared) -> None:
    example, client = prepared("organisations")
    foo, other_foo, bar, other_bar = example.PROJECTS
    assert example.organisation(client, "abc123") == {"id": "abc123", "name": "Foo Inc."}
    assert example.organisation(client, "absent") is None
    assert example.projects(client, "abc123") == [foo, other_foo]
    assert example.projects(client, "def456") == [bar, other_bar]
    assert example.updated_lately(client, "abc123") == [foo]
    assert example.updated_lately(client, "abc123", days=365) == [other_foo, foo]
    owned = example.owned_by(client, "jane")
    assert sorted(owned, key=lambda found: str(found["organisation_id"])) == [
        {"owner": "jane", "organisation_id": "abc123", "name": "Foo Project"},
        {"owner": "jane", "organisation_id": "def456", "name": "Bar Project"},
    ]
    assert sorted(example.owned_by_in_full(client, "jane"), key=str) == sorted([foo, bar], key=str)
    assert example.owned_by_in_full(client, "nobody") == []


def test_orders(prepared: Prepared) -> None:
    example, client = prepared("orders")
    assert example.profile(client, "ann")["name"] == "Ann"
    dates = [order["orderedAt"] for order in example.orders(client, "ann")]
    assert dates == ["2024-03-01T10:00", "2024-04-02T11:00", "2024-05-03T12:00"]
    between = example.orders_between(client, "ann", "2024-03-01T10:00", "2024-04-02T11:00")
    assert [order["orderedAt"] for order in between] == dates[:2]
    assert example.latest_order(client, "ann")["orderedAt"] == dates[2]
    assert example.latest_order(client, "nobody") is None


def test_an_order_leaves_the_sparse_index_when_it_is_fulfilled(prepared: Prepared) -> None:
    example, client = prepared("orders")

    def open_orders() -> list[tuple[str, str]]:
        found = example.unfulfilled(client, "north")
        return [(order["customerId"], order["orderedAt"]) for order in found]

    assert open_orders() == [("bob", "2024-05-01T09:00"), ("ann", "2024-05-03T12:00")]
    example.fulfil(client, "bob", "2024-05-01T09:00")
    assert open_orders() == [("ann", "2024-05-03T12:00")]
    assert [order["orderedAt"] for order in example.orders(client, "bob")] == ["2024-05-01T09:00"]
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        example.fulfil(client, "bob", "2024-05-01T09:00")


def test_a_cart_becomes_an_order(prepared: Prepared) -> None:
    example, client = prepared("orders")
    assert example.add_to_cart(client, "ann", "pot", 1) == 1
    assert example.add_to_cart(client, "ann", "pot", 2) == 3
    example.add_to_cart(client, "ann", "cup", 6)
    assert example.cart(client, "ann") == {"cup": 6, "pot": 3}
    placed = example.place_order(client, "ann", "2024-06-01T08:00", "south")
    assert placed["lines"] == {"cup": 6, "pot": 3}
    assert example.cart(client, "ann") == {}
    assert example.latest_order(client, "ann") == placed
    assert example.unfulfilled(client, "south") == [placed]
    assert example.product_in_full(client, "pot")["stock"] == 10 - 3


def test_an_order_of_more_than_there_is_changes_nothing(prepared: Prepared) -> None:
    example, client = prepared("orders")
    example.add_to_cart(client, "ann", "cup", 1)
    example.add_to_cart(client, "ann", "pot", 11)
    with pytest.raises(ClientError, match="None, None, None, None, ConditionalCheckFailed"):
        example.place_order(client, "ann", "2024-06-01T08:00", "south")
    assert example.cart(client, "ann") == {"cup": 1, "pot": 11}
    assert example.product_in_full(client, "cup")["stock"] == 100
    assert example.unfulfilled(client, "south") == []


def test_a_change_of_stock_is_cheap_as_the_description_is_apart(prepared: Prepared) -> None:
    example, client = prepared("orders")
    assert example.restock(client, "pot", 5) == 1.0
    product = example.product_in_full(client, "pot")
    assert (product["stock"], product["description"]) == (15, example.LONG_DESCRIPTION)


def test_sensors(prepared: Prepared) -> None:
    example, client = prepared("sensors")
    assert example.building_info(client, "b-2")["name"] == "Building b-2"
    assert example.building_info(client, "b-3") is None
    assert [floor["floorId"] for floor in example.floors(client, "b-1")] == [
        f"f-{number}" for number in range(1, 6)
    ]
    rooms = [room["roomId"] for room in example.rooms(client, "b-1", "f-2")]
    assert rooms == ["r-10", "r-6", "r-7", "r-8", "r-9"]
    ids = [sensor["sensorId"] for sensor in example.building_sensors(client, "b-1")]
    assert sorted(ids) == sorted(f"s-{number}" for number in range(1, 51))
    on_floor = {sensor["sensorId"] for sensor in example.floor_sensors(client, "f-2")}
    assert on_floor == {f"s-{number}" for number in range(11, 21)}
    in_room = [sensor["sensorId"] for sensor in example.room_sensors(client, "r-3")]
    assert in_room == ["s-5", "s-6"]
    latest = example.latest_measurement(client, "s-5")
    assert (latest["sensorId"], latest["sk"]) == ("s-5", "23:45:36")
    assert example.latest_measurement(client, "s-5", date(2024, 5, 2)) is None
    counts = {"Building": 2, "Floor": 10, "Room": 50, "Sensor": 100, "Measurement": 10_000}
    assert {kind: len(example.all_of(client, kind)) for kind in counts} == counts


def test_animals(prepared: Prepared) -> None:
    example, client = prepared("animals")
    commands = ["beg", "roll over", "sit", "sit"]
    assert example.dog_commands(client) == [f"dog:command:{command}" for command in commands]
    trees = ["elm", "oak", "spruce"]
    assert example.trees_climbed(client) == [f"cat:treeclimbed:{tree}" for tree in trees]
    words = "parrot:words:000003", "parrot:words:000101", "parrot:words:000201"
    assert example.parrots_knowing(client, 2, 5) == [words[0]]
    assert example.parrots_knowing(client, 6) == [*words[1:]]
    assert example.parrots_knowing(client, 0, 4) == [words[0]]
    assert example.parrots_knowing(client, 3, 101) == [*words[:2]]
    assert example.born_between(client, "dog", date(2019, 5, 1), date(2020, 12, 31)) == [
        "dog:born:2019-05-01"
    ]
    assert example.addresses(client, "London") == [
        "London:Camden:Parkway:1",
        "London:Westminster:Buckingham Palace",
        "London:Westminster:Downing St:10",
    ]
    assert len(example.addresses(client, "London", "Westminster")) == 2
    assert example.addresses(client, "London", "Westminster", "Downing St") == [
        "London:Westminster:Downing St:10"
    ]


def test_chat(prepared: Prepared) -> None:
    example, client = prepared("chat")
    assert [found["userId"] for found in example.by_email(client, "user1@example.com")] == ["1"]
    assert [found["userId"] for found in example.by_username(client, "John")] == ["2"]
    assert example.by_email(client, "nobody@example.com") == []
    [membership] = example.organisations(client, "1")
    assert (membership["orgId"], membership["role"]) == ("1", "Admin")
    first, second = "2024-10-14T01:01:01.0Z", "2024-10-14T01:01:02.0Z"
    ids = [found["msgId"] for found in example.messages(client, 1, first, second)]
    assert ids == [10, 20, 3]
    assert [found["msgId"] for found in example.messages(client, 1, first, first)] == [10, 20]
    assert [found["msgId"] for found in example.latest_messages(client, 1, 2)] == [3, 20]
    assert [found["username"] for found in example.members(client, "1")] == ["Mike", "John"]
    assert [found["name"] for found in example.servers(client, "2")] == ["Gaming", "Cooking"]
    assert example.servers(client, "3") == []


def test_renaming_costs_what_was_chosen(prepared: Prepared) -> None:
    example, client = prepared("chat")
    assert example.rename_server(client, "1", "Playing") == 1
    assert [found["name"] for found in example.servers(client, "2")] == ["Playing", "Cooking"]
    assert example.rename_user(client, "2", "Johnny") == 1 + 2
    assert [found["username"] for found in example.members(client, "1")] == ["Mike", "Johnny"]
    assert [found["username"] for found in example.members(client, "2")] == ["Johnny"]
