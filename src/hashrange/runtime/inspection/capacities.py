"""The capacity of tables and indexes, and the progress and lag of indexes, for metrics."""

from contextlib import closing
from typing import Any

from msgspec import Struct

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.indexes import propagation
from hashrange.metering.meter import Meter
from hashrange.model.tables import Index, Table, VectorIndex
from hashrange.runtime.drive import drive

LAG_SECONDS_MIN = 0.001
"""The least lag that is reported for an index that does not show a change yet, because 0 means that
the index shows all changes."""
_PREFIX_BYTES = 8


class Capacity(Struct, frozen=True):
    """The capacity of a table (`index` None), or of its global or vector index.

    Figures that do not apply are None. Units are per second. While an index is being built, `built`
    is the completed part, from 0 to 1. `lag_seconds` is the age of the oldest change that the index
    does not show yet; it is known for an index that is updated from a log or whose throughput is
    enforced.
    """

    table: str
    index: str | None
    read_units: int | None
    write_units: int | None
    read_units_max: int | None
    write_units_max: int | None
    built: float | None
    lag_seconds: float | None = None


def capacities(store: kv.Store, now: float, meter: Meter | None = None) -> list[Capacity]:
    """The capacities of all tables in the order of their names. The capacities of a table's global
    and vector indexes follow the table's."""
    with closing(store.snapshot()) as snapshot:
        steps: Any = fetch.all_tables()
        tables: list[Table] = drive(steps, snapshot)
        lags = [lag_seconds(table, snapshot, now) for table in tables]
    return [
        _capacity(
            table, owner, lag if lag is not None else queue_lag_seconds(meter, table, owner, now)
        )
        for table, lag in zip(tables, lags, strict=True)
        for owner in (*table.with_global_indexes(), *table.vector_indexes)
    ]


def lag_seconds(table: Table, snapshot: kv.Snapshot, now: float) -> float | None:
    """The age, in seconds, of the oldest change that the table's global and vector indexes do not
    show yet.

    It is 0 if they show all changes, and None if they are not updated from a log.
    """
    if table.index_log is None or not table.following:
        return None
    steps: Any = propagation.oldest(table)
    since: float | None = drive(steps, snapshot)
    return _age(since, now)


def queue_lag_seconds(
    meter: Meter | None, table: Table, owner: Table | Index | VectorIndex, now: float
) -> float | None:
    """The lag, in seconds, of a global index whose entries wait for write units. None if `owner` is
    not a global index, or if throughput is not enforced."""
    if meter is None or not meter.enforced or not isinstance(owner, Index):
        return None
    return _age(meter.waiting_since(table, owner, now), now)


def _age(since: float | None, now: float) -> float:
    return 0.0 if since is None else max(now - since, LAG_SECONDS_MIN)


def _capacity(table: Table, owner: Table | Index | VectorIndex, lag: float | None) -> Capacity:
    if isinstance(owner, VectorIndex):
        built = _built(owner) if owner.building else None
        return Capacity(table.name, owner.name, None, None, None, None, built, lag)
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
        lag if index is not None else None,
    )


def _built(index: Index | VectorIndex) -> float:
    """The completed part of an index build, from 0 to 1. A build reads rows in the order of their
    hashes, and this is the part of the range of hashes that it has read."""
    reached = index.built_to[:_PREFIX_BYTES].ljust(_PREFIX_BYTES, b"\x00")
    return int.from_bytes(reached, "big") / (1 << 8 * _PREFIX_BYTES)
