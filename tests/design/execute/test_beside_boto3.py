"""Each example's model and its plain boto3 program: the same tables and results.

The program makes its tables and fills them. The model finds them fitting, reads their items, and
writes what it read into tables of its own in another database: then both hold the same, attribute
by attribute. And every access pattern of the model gives there what the program's function of the
same name gives here.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import ModuleType
from typing import Any

import boto3
import pytest
from boto3.dynamodb.types import TypeDeserializer
from pydantic import BaseModel

import hashrange
from hashrange import design as st
from hashrange.design.declare.patterns import Pattern

from ..test_examples import EXAMPLES, served

pytestmark = pytest.mark.slow

Arguments = tuple[Any, ...]
Row = dict[str, Any]
JAN = date(2020, 1, 1)
SECOND = datetime(2024, 10, 14, 1, 1, 2, tzinfo=UTC)
APRIL = datetime(2024, 4, 2, 11, tzinfo=UTC)
ASKED: dict[str, list[tuple[str, Arguments]]] = {
    "organisations": [
        ("organisation", ("abc123",)),
        ("project", ("abc123", "Foo Project")),
        ("projects", ("abc123",)),
        ("updated_since", ("abc123", date(2018, 7, 27))),
        ("owned_by", ("jane",)),
    ],
    "orders": [
        ("customer", ("ann",)),
        ("orders", ("ann",)),
        ("orders_since", ("ann", APRIL)),
        ("latest_order", ("ann",)),
        ("order", ("ann", APRIL, "o-2")),
        ("unfulfilled", ()),
        ("cart", ("bob",)),
        ("cart_line", ("bob", "cup")),
        ("product", ("pot",)),
        ("stock", ("pot",)),
        ("product_in_full", ("pot",)),
    ],
    "sensors": [
        ("building", ("b-1",)),
        ("floors", ("b-1",)),
        ("rooms", ("b-1", "f-2")),
        ("building_sensors", ("b-1",)),
        ("floor_sensors", ("f-2",)),
        ("room_sensors", ("r-3",)),
        ("latest", ("s-1", date(2024, 5, 1))),
        ("all_of", ("Room",)),
    ],
    "animals": [
        ("addresses", ("London",)),
        ("addresses", ("London", "Westminster")),
        ("addresses", ("London", "Westminster", "Downing St")),
        ("dogs", ()),
        ("dogs_that", ("sit",)),
        ("cats", ()),
        ("parrots_between", ((3, 101),)),
        ("parrots_above", (3,)),
        ("parrots_below", (201,)),
        ("dogs_born", (JAN, date(2021, 2, 14))),
        ("cats_born", (JAN, date(2022, 4, 5))),
    ],
    "chat": [
        ("user", ("1",)),
        ("login", ("EMAIL", "user1@example.com")),
        ("account", ("1",)),
        ("organisation", ("1",)),
        ("organisations", ("1",)),
        ("server", ("1",)),
        ("membership", ("1", "2")),
        ("members", ("1",)),
        ("member_count", ("1",)),
        ("servers_of", ("2",)),
        ("server_list", ("2",)),
        ("messages", ("1",)),
        ("messages_since", ("1", SECOND)),
    ],
}


@dataclass
class Pair:
    """A model and a program; `theirs` is the program's database, `ours` the model's."""

    model: ModuleType
    program: ModuleType
    theirs: hashrange.Database
    ours: hashrange.Database
    client: Any
    connection: Any

    @property
    def tables(self) -> list[st.Table]:
        return [found for found in vars(self.model).values() if isinstance(found, st.Table)]

    def stored(self, table: st.Table, database: hashrange.Database) -> list[Row]:
        """All items, in the table's order, without unique markers."""
        found = database.execute("Scan", {"TableName": table.name})["Items"]
        return [raw for raw in found if raw.get("entityType") != {"S": "unique"}]

    def copy(self, table: st.Table) -> None:
        """The items, owners before their copies."""
        assert table.create(self.theirs) is False
        table.create(self.connection)
        store = table.open(table.protocols[0], self.connection)
        order = [entity.model for entity in table.model.entities]
        loaded = (table.load(raw) for raw in self.stored(table, self.theirs))
        found = [item for item in loaded if item is not None]
        for item in sorted(found, key=lambda item: order.index(type(item))):
            # Built again, so that the copy has only attributes that the model knows.
            store.put(type(item)(**item.model_dump(exclude={"version"})))


@pytest.fixture(params=["in process", "over HTTP"])
def pair(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Pair]]:
    """A pair by its name, with both sides filled."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    theirs, ours = hashrange.connect(), hashrange.connect()

    def of(name: str) -> Pair:
        model, program = importlib.import_module(name), importlib.import_module(f"boto3_{name}")
        if name == "sensors":  # a hundred each are for a demonstration
            monkeypatch.setattr(program, "MEASUREMENTS_PER_SENSOR", 3)
        program.prepare(client)
        pair = Pair(model, program, theirs, ours, client, connection)
        for table in pair.tables:
            pair.copy(table)
        return pair

    with ExitStack() as stack:
        if request.param == "in process":
            client, connection = theirs.boto3_session().resource("dynamodb").meta.client, ours
        else:
            ports = [stack.enter_context(served(database)) for database in (theirs, ours)]
            client = _over_http(boto3.resource, ports[0]).meta.client
            connection = _over_http(boto3.client, ports[1])
        yield of
    for name in ASKED:
        sys.modules.pop(name, None)


def _over_http(connect: Any, port: int) -> Any:
    return connect(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="example",
        aws_secret_access_key="example",
    )


@pytest.mark.deep
@pytest.mark.parametrize("example", ASKED)
def test_same_items_and_same_answers(pair: Callable[[str], Pair], example: str) -> None:
    both = pair(example)
    for table in both.tables:
        assert both.stored(table, both.ours) == both.stored(table, both.theirs)
        assert both.stored(table, both.ours)
        for protocol, patterns in table.patterns.items():
            store = table.open(protocol, both.connection)
            for pattern in patterns:
                asked = [arguments for name, arguments in ASKED[example] if name == pattern.name]
                assert asked, f"{pattern} is not compared"
                for arguments in asked:
                    compare(both, table, store, pattern, arguments)


def compare(
    both: Pair, table: st.Table, store: Any, pattern: Pattern, arguments: Arguments
) -> None:
    """The model takes an entity by its class, the program by its name."""
    mine = [getattr(both.model, a) if pattern.by_type else a for a in arguments]
    ours = rows(getattr(store, pattern.name)(*mine), table)
    theirs = getattr(both.program, pattern.name)(both.client, *arguments)
    for view in (result for result in pattern.results if issubclass(result, st.View)):
        theirs = [{name: row[name] for name in view.model_fields} for row in theirs]
    assert ours == theirs
    assert ours, "nothing was compared"


def rows(found: Any, table: st.Table) -> Any:
    """The value, in the form that boto3 returns."""
    if isinstance(found, st.Item):
        deserialize = TypeDeserializer().deserialize
        return {name: deserialize(value) for name, value in table.dump(found).items()}
    if isinstance(found, BaseModel):
        return found.model_dump(mode="json")
    return found if isinstance(found, int) else [rows(item, table) for item in found]
