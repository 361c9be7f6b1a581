"""Every pattern of the examples' models returns what its title says."""

import asyncio
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest
from waiting import SECONDS_MAX

import hashrange
from hashrange import design as st
from hashrange.server.listener import open_listener
from hashrange.server.server import Server

EXAMPLES = Path(__file__).parents[2] / "examples"
MOMENT = datetime(2024, 10, 14, 1, 1, 1, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["in process", "boto3", "boto3 over HTTP"])
def connection(request: pytest.FixtureRequest, database: hashrange.Database) -> Iterator[Any]:
    if request.param == "in process":
        yield database
    elif request.param == "boto3":
        yield database.boto3_session().client("dynamodb")
    else:
        with served(database) as port:
            yield boto3.client(
                "dynamodb",
                endpoint_url=f"http://127.0.0.1:{port}",
                region_name="us-east-1",
                aws_access_key_id="example",
                aws_secret_access_key="example",
            )


@contextmanager
def served(database: hashrange.Database) -> Iterator[int]:
    """Serve the database in a thread; returns the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    listener = open_listener("127.0.0.1", 0)
    server = Server(database.runtime, listener)
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(SECONDS_MAX)
        yield listener.port
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(SECONDS_MAX)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_organisations(connection: Any) -> None:
    m = example("organisations")
    m.organisations.create(connection)
    m.projects.create(connection)
    organisations = m.organisations.open(m.Organisations, connection)
    projects = m.projects.open(m.Projects, connection)
    organisations.put(m.Organisation(id="abc123", name="Acme"))
    rows = [
        ("abc123", "Foo Project", "jane", date(2018, 8, 2)),
        ("abc123", "Other Foo Project", "john", date(2018, 3, 2)),
        ("def456", "Bar Project", "jane", date(2018, 3, 12)),
        ("def456", "Other Bar Project", "sarah", date(2017, 12, 6)),
    ]
    for organisation, name, owner, updated in rows:
        projects.put(
            m.Project(organisation_id=organisation, name=name, owner=owner, last_updated=updated)
        )
    assert organisations.organisation("abc123").name == "Acme"
    assert organisations.organisation("zzz") is None
    assert [p.name for p in projects.projects("abc123")] == ["Foo Project", "Other Foo Project"]
    recent = list(projects.updated_since("abc123", date(2018, 7, 27)))
    assert [(type(p), p.name) for p in recent] == [(m.UpdatedProject, "Foo Project")]
    assert {p.name for p in projects.owned_by("jane")} == {"Foo Project", "Bar Project"}
    with pytest.raises(st.BadValue, match="view"):
        projects.put(recent[0])


def test_orders(connection: Any) -> None:
    m = example("orders")
    m.table.create(connection)
    db = m.table.open(m.Shop, connection)
    db.put(m.Customer(customer_id="c-1", name="Ann", email="ann@example.com"))
    orders = [
        m.Order(
            customer_id="c-1",
            order_id=f"o-{n}",
            placed=MOMENT + timedelta(hours=n),
            lines={"p-1": n},
        )
        for n in range(5)
    ]
    with db.batch() as batch:
        for order in orders:
            batch.put(order)
    db.put(m.CartLine(customer_id="c-1", product_id="p-1", quantity=2, expires=LATER))
    assert list(db.orders("c-1")) == orders
    assert list(db.orders_since("c-1", MOMENT + timedelta(hours=3))) == orders[3:]
    assert [line.expires for line in db.cart("c-1")] == [LATER]
    with db.edit(db.order, "c-1", orders[1].placed, "o-1") as order:
        order.status = "shipped"
    assert [o.order_id for o in db.unfulfilled()] == ["o-0", "o-2", "o-3", "o-4"]
    first = db.unfulfilled().page(3)
    assert [o.order_id for o in first] == ["o-0", "o-2", "o-3"]
    assert [o.order_id for o in db.unfulfilled().page(3, first.cursor)] == ["o-4"]
    db.put(m.Stock(product_id="p-1", available=3))
    stock = db.stock("p-1")
    assert stock.version == 1
    db.save(stock.replace(available=2))
    with pytest.raises(st.Conflict):
        db.save(stock.replace(available=1))
    assert db.add(m.Stock(product_id="p-1", available=0), available=-1).available == 1
    assert db.stock("p-1").version == 3


def test_sensors(connection: Any) -> None:
    m = example("sensors")
    m.table.create(connection)
    db = m.table.open(m.Sensors, connection)
    db.put(m.Building(building_id="b-1", name="HQ"))
    for floor in ("1", "10", "2"):
        db.put(m.Floor(building_id="b-1", floor_id=floor))
        db.put(m.Room(building_id="b-1", floor_id=floor, room_id="r"))
    db.put(m.Sensor(sensor_id="s-1", building_id="b-1", floor_id="1", room_id="r"))
    db.put(m.Sensor(sensor_id="s-2", building_id="b-1", floor_id="1"))
    for minute in range(3):
        at = MOMENT + timedelta(minutes=minute)
        db.put(m.Measurement(sensor_id="s-1", at=at, value=Decimal(minute)))
    assert db.building("b-1").name == "HQ"
    assert [f.floor_id for f in db.floors("b-1")] == ["1", "10", "2"]
    assert [r.floor_id for r in db.rooms("b-1", "1")] == ["1"]
    assert {s.sensor_id for s in db.building_sensors("b-1")} == {"s-1", "s-2"}
    assert {s.sensor_id for s in db.floor_sensors("1")} == {"s-1", "s-2"}
    assert [s.sensor_id for s in db.room_sensors("r")] == ["s-1"]
    assert db.latest("s-1", MOMENT.date()).value == 2
    assert db.latest("s-1", date(2024, 10, 15)) is None
    assert {f.floor_id for f in db.all_of(m.Floor)} == {"1", "10", "2"}


def test_animals(connection: Any) -> None:
    m = example("animals")
    m.table.create(connection)
    db = m.table.open(m.Animals, connection)
    for n, (district, street) in enumerate(
        [("Westminster", "Downing St"), ("Westminster", "Buckingham"), ("Camden", "Downing St")]
    ):
        db.put(
            m.Address(
                address_id=f"a{n}", city="London", district=district, street=street, number=10
            )
        )
    for n, words in enumerate([3, 5, 101, 201]):
        db.put(m.Parrot(animal_id=f"p{n}", words=words))
    db.put(m.Dog(animal_id="d1", command="sit", born=date(2020, 1, 1)))
    db.put(m.Dog(animal_id="d2", command="roll over", born=date(2021, 1, 1)))
    db.put(m.Cat(animal_id="c1", tree="oak", born=date(2020, 1, 1)))
    assert len(list(db.addresses("London"))) == 3
    assert len(list(db.addresses("London", "Westminster"))) == 2
    assert [a.address_id for a in db.addresses("London", "Westminster", "Downing St")] == ["a0"]
    assert list(db.addresses("Lond")) == []
    assert [d.command for d in db.dogs()] == ["roll over", "sit"]
    assert [d.animal_id for d in db.dogs_that("sit")] == ["d1"]
    assert [c.tree for c in db.cats()] == ["oak"]
    assert [p.words for p in db.parrots_between((3, 101))] == [3, 5, 101]
    assert [p.words for p in db.parrots_above(5)] == [101, 201]
    assert [p.words for p in db.parrots_below(5)] == [3]
    assert list(db.parrots_below(0)) == []
    assert [d.animal_id for d in db.dogs_born(date(2020, 1, 1), date(2021, 1, 1))] == ["d1"]
    with pytest.raises(st.BadValue):
        db.put(m.Parrot(animal_id="p9", words=1_000_000))


def test_chat(connection: Any) -> None:
    m = example("chat")
    m.table.create(connection)
    accounts = m.table.open(m.Accounts, connection)
    chat = m.table.open(m.Chat, connection)
    for user, name in (("1", "John"), ("2", "Mike")):
        accounts.put(m.User(user_id=user, username=name))
    accounts.put(m.Login(user_id="1", method="EMAIL", handle="user1@example.com"))
    assert accounts.login("EMAIL", "user1@example.com").user_id == "1"
    with pytest.raises(st.NotUnique) as refused:
        accounts.put(m.Login(user_id="2", method="EMAIL", handle="user1@example.com"))
    assert refused.value.field == "one_owner"
    assert [type(i) for i in accounts.account("1")] == [m.User, m.Login]
    for server in ("7", "8"):
        chat.put(m.Server(server_id=server, name=f"Server {server}"))
        chat.put(m.Membership(server_id=server, user_id="1"))
    chat.put(m.Membership(server_id="7", user_id="2"))
    assert [x.username for x in chat.members("7")] == ["John", "Mike"]
    assert chat.member_count("7") == 2
    assert {x.server_id for x in chat.servers_of("1")} == {"7", "8"}
    assert [s.name for s in chat.server_list("1")] == ["Server 7", "Server 8"]
    with accounts.edit(accounts.user, "1") as user:
        user.username = "Johnny"
    assert [x.username for x in chat.members("7")] == ["Johnny", "Mike"]
    assert [x.username for x in chat.members("8")] == ["Johnny"]
    for n in range(3):
        at = MOMENT + timedelta(seconds=n)
        chat.put(m.Message(chat_id="1", message_id=str(n), at=at, text=str(n)))
    assert [x.text for x in chat.messages("1")] == ["2", "1", "0"]
    assert [x.text for x in chat.messages_since("1", MOMENT + timedelta(seconds=1))] == ["1", "2"]
