"""The provisioned capacity of tables and indexes, and the progress of builds, for metrics."""

from contextlib import closing
from typing import Any

from msgspec import Struct

from hashrange import kv
from hashrange.engine import fetch
from hashrange.model.tables import Index, Table
from hashrange.runtime.drive import drive

_PREFIX_BYTES = 8


class Capacity(Struct, frozen=True):
    """Of a table (`index` None) or global index, with None for what it does not have.

    `built` is how much of an index is built, from 0 to 1, while it is.
    """

    table: str
    index: str | None
    read_units: int | None
    write_units: int | None
    read_units_max: int | None
    write_units_max: int | None
    built: float | None


def capacities(store: kv.Store) -> list[Capacity]:
    """All tables in the order of their names, each followed by its global indexes."""
    with closing(store.snapshot()) as snapshot:
        steps: Any = fetch.all_tables()
        tables: list[Table] = drive(steps, snapshot)
    return [_capacity(table, owner) for table in tables for owner in table.with_global_indexes()]


def _capacity(table: Table, owner: Table | Index) -> Capacity:
    index = owner if isinstance(owner, Index) else None
    on_demand = table.on_demand
    maxima = (table.on_demand_limits if index is None else index.on_demand) or {}
    return Capacity(
        table.name,
        index.name if index else None,
        None if on_demand else owner.throughput.read,
        None if on_demand else owner.throughput.write,
        maxima.get("MaxReadRequestUnits") if on_demand else None,
        maxima.get("MaxWriteRequestUnits") if on_demand else None,
        _built(index) if index is not None and index.building else None,
    )


def _built(index: Index) -> float:
    """The table's rows are read in the order of their hash."""
    reached = index.built_to[:_PREFIX_BYTES].ljust(_PREFIX_BYTES, b"\x00")
    return int.from_bytes(reached, "big") / (1 << 8 * _PREFIX_BYTES)
