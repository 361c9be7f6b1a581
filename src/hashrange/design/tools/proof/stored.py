"""Comparing all items of a table with the items that it should have."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.types import encode
from hashrange.design.execute.steps import ApiCall, Connection, Steps, run
from hashrange.design.table import Table
from hashrange.design.tools.proof.declared import Model, Record, copies, key_fields
from hashrange.design.tools.proof.oracle import Oracle
from hashrange.model.values import Item as WireItem


def differences(
    table: Table, connection: Connection, oracle: Oracle, *, late: Collection[str] = ()
) -> Iterator[str]:
    """A line for each kind of difference between the table's items and the oracle's records.

    Copies whose `sync` is in `late` are not compared.
    """
    oracle.settle()
    stored = {
        identity(type(item), partial(getattr, item)): vars(item)
        for item in _items(table, connection)
    }
    seen = set()
    for record in oracle.records:
        values = stored.pop(identity(record.model, record.__getitem__), None)
        name = record.model.__name__
        if values is None:
            lines = [f"{name}: an item is missing"]
        else:
            wanted = _expected(table, record, late)
            lines = [
                f"{name}.{field}: it is {values[field]!r} instead of {value!r}"
                for field, value in wanted.items()
                if text({field: values[field]}) != text({field: value})
            ]
        for line in lines:
            if line.split(":")[0] not in seen:
                seen.add(line.split(":")[0])
                yield line
    left = [name for name, _ in stored]
    for name in sorted(set(left)):
        yield f"{name}: {left.count(name)} items that should have been deleted are still stored"


def _expected(table: Table, record: Record, late: Collection[str]) -> dict[str, Any]:
    """The expected values of the stored item, without fields that each write sets.

    Copies whose `sync` is in `late` are left out too.
    """
    left_out = counted(table.model.entity(record.model))
    left_out |= {name for name, copy in copies(record.model).items() if copy.sync in late}
    return {name: value for name, value in record.values.items() if name not in left_out}


def counted(entity: Entity) -> set[str | None]:
    """The fields that each write sets: the version and the times of updates."""
    return {*entity.update_times, entity.version}


def identity(model: Model, value_of: Callable[[str], Any]) -> tuple[str, str]:
    return model.__name__, text({name: value_of(name) for name in key_fields(model)})


def text(values: dict[str, Any]) -> str:
    """The values, in their stored form, as text: equal for equal values."""
    return repr({n: _encoded(v) for n, v in sorted(values.items()) if v is not None and v != set()})


def _encoded(value: Any) -> Any:
    """A value in wire form. A tuple of floats is always a vector, and is returned unchanged."""
    vector = isinstance(value, tuple) and bool(value) and isinstance(value[0], float)
    return value if vector else encode(value)


def _items(table: Table, connection: Connection) -> Iterator[Any]:
    for raw in run(_scan(table.name), connection):
        item = table.load(raw)
        if item is not None:  # else it is a marker
            yield item


def _scan(name: str) -> Steps[list[WireItem]]:
    request: dict[str, Any] = {"TableName": name, "ConsistentRead": True}
    items: list[WireItem] = []
    while True:
        response = yield ApiCall("Scan", request)
        items += response["Items"]
        if "LastEvaluatedKey" not in response:
            return items
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]
