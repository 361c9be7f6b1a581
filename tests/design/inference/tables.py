"""Filling tables, and comparing what was inferred with what was written."""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import hashrange
from hashrange import design as st
from hashrange.design.declare.entity import Entity
from hashrange.design.errors import BadValue, NotFound, NotUnique
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.verbs import Write

Item = dict[str, Any]
ALSO_WRITTEN = {
    "{placed:%Y-%m-%dT%H:%M:%S.%fZ}": "{placed}",
}
"""Templates that write the same texts."""


def fill(table: st.Table, database: hashrange.Database, *, parents: int = 25, seed: int = 0) -> int:
    """Create the table with items of all entities; returns how many."""
    table.create(database)
    core, connection = StoreSteps(table.model, [], None, None), connect(database)
    count = 0
    for item in st.sample(table, parents=parents, children=60, seed=seed, readable=True):
        try:
            run(core.write(Write("create", item)), connection)
        except (NotUnique, NotFound, BadValue, st.AlreadyExists):
            continue
        count += 1
    return count


def declared(source: str) -> st.Table:
    """The table of an inferred module, which has to run."""
    module = sys.modules["an_inferred_model"] = ModuleType("an_inferred_model")
    exec(source, vars(module))
    return next(value for value in vars(module).values() if isinstance(value, st.Table))


def templates(entity: Entity) -> dict[str, str]:
    """By key attribute, the template."""
    found = {}
    for key in (entity.key, *entity.indexes):
        for column in key.columns:
            text = str(column.template)
            for longer, shorter in ALSO_WRITTEN.items():
                text = text.replace(longer, shorter)
            found[column.attribute] = text
    return found


def stored(database: hashrange.Database, name: str) -> list[Item]:
    found: list[Item] = []
    request: Item = {"TableName": name}
    while True:
        response = database.execute("Scan", request)
        found += response["Items"]
        if "LastEvaluatedKey" not in response:
            return found
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def same_keys(table: st.Table, items: list[Item]) -> int:
    """How many items a model reads and writes again under the same keys, byte for byte."""
    keys = {c.attribute for source in table.model.sources for c in source.columns}
    count = 0
    for raw in items:
        item = table.load(raw)
        if item is not None:
            again = table.model.entity(type(item)).dump(item)
            assert {k: again.get(k) for k in keys} == {k: raw.get(k) for k in keys}
            count += 1
    return count


def put(database: hashrange.Database, table: str, /, **values: Any) -> None:
    item = {n: v if isinstance(v, Mapping) else {"S": v} for n, v in values.items()}
    database.execute("PutItem", {"TableName": table, "Item": item})


def create(database: hashrange.Database, name: str = "app", **more: Any) -> None:
    names = [d["AttributeName"] for d in more.get("AttributeDefinitions", [])]
    definitions = [
        {"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk") if n not in names
    ]
    database.execute(
        "CreateTable",
        {
            "TableName": name,
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
            **more,
            "AttributeDefinitions": definitions + more.get("AttributeDefinitions", []),
        },
    )


def orders(database: hashrange.Database, count: int) -> None:
    """Customers and invoices of another program, without types and with its own names."""
    create(database)
    for n in range(count // 10):
        put(database, "app", pk=f"CUST#{n}", sk="PROFILE", customerId=str(n), name=f"Name {n}")
    for n in range(count):
        key = {"pk": f"CUST#{n % 30}", "sk": f"INV#{n:06d}"}
        put(database, "app", **key, customerId=str(n % 30), number={"N": str(n)})
