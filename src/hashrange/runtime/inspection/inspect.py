"""The contents and the load of a database: partitions, item collections and indexes.

The contents come from the counters of the partitions, which are exact; the load comes from the
meter of this process.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

from hashrange import kv
from hashrange.engine import fetch, partitions
from hashrange.engine.keyspace import keys
from hashrange.engine.keyspace.rows import Row
from hashrange.metering.meter import Meter
from hashrange.metering.usage import KeyCounts, SourceUsage
from hashrange.model.insights import Insights
from hashrange.model.tables import Index, Table
from hashrange.runtime import source
from hashrange.runtime.drive import drive
from hashrange.runtime.inspection.capacities import lag_seconds, queue_lag_seconds

WALKED_ROWS_MAX = 100_000
"""At most this many rows are read to find large item collections, in all tables and indexes
together."""
COLLECTIONS_SHOWN = 10
CHUNK_ROWS = 1000

Shown = dict[str, Any]


def inspect(
    store: kv.Store, meter: Meter | None, now: float, table_name: str | None
) -> list[Shown]:
    """The report of one table, or of all tables in the order of their names. Empty if there is no
    table with this name."""
    with closing(store.snapshot()) as snapshot:
        tables: list[Table] = _answered(fetch.all_tables(), snapshot)
        wanted = [table for table in tables if table_name in (None, table.name)]
        count = sum(len(partitions.sources(table)) for table in wanted)
        rows_max = WALKED_ROWS_MAX // max(1, count)
        return [_table(table, snapshot, meter, now, rows_max) for table in wanted]


def _answered(steps: Any, snapshot: kv.Snapshot) -> Any:
    return drive(steps, snapshot)


def _table(
    table: Table, snapshot: kv.Snapshot, meter: Meter | None, now: float, rows_max: int
) -> Shown:
    sources = partitions.sources(table)
    counts = _answered(fetch.partition_statistics(sources), snapshot)
    shown = [
        _source(table, each, snapshot, count, _collections(each, snapshot, rows_max), meter, now)
        for each, count in zip(sources, counts, strict=True)
    ]
    lag = lag_seconds(table, snapshot, now)
    if lag is not None:
        for index in shown[1:]:
            index["lag_seconds"] = lag
    local = [index for index in table.indexes if index.local]
    counts = _answered(fetch.partition_statistics(local), snapshot)
    others = [
        {"name": index.name, "local": True, "items": items, "bytes": size}
        for index, [(items, size)] in zip(local, counts, strict=True)
    ]
    vectors = table.vector_indexes
    counts = _answered(fetch.partition_statistics(vectors), snapshot)
    others += [
        {"name": index.name, "vector": True, "local": False, "items": items, "bytes": size}
        | ({} if lag is None else {"lag_seconds": lag})
        for index, [(items, size)] in zip(vectors, counts, strict=True)
    ]
    base = shown[0]
    return {
        "table": table.name,
        "billing": table.billing_mode,
        **base,
        "indexes": [
            {"name": index.name, "local": False, **each}
            for index, each in zip(sources[1:], shown[1:], strict=True)
            if isinstance(index, Index)
        ]
        + others,
    }


def _source(
    table: Table,
    owner: Table | Index,
    snapshot: kv.Snapshot,
    counts: list[tuple[int, int]],
    collections: Shown,
    meter: Meter | None,
    now: float,
) -> Shown:
    usage = meter.usage.of(table, owner) if meter is not None else None
    shown: Shown = {
        "items": sum(items for items, _ in counts),
        "bytes": sum(size for _, size in counts),
        "partitions": [*_partitions(owner, snapshot, counts, usage)],
        "collections": collections,
    }
    if usage is not None:
        shown["load"] = _load(owner, usage)
    if meter is not None and meter.enforced:
        _add_credit(shown, meter, table, owner, now)
        if isinstance(owner, Index):
            shown["lag_seconds"] = queue_lag_seconds(meter, table, owner, now)
    if owner.insights is not None and owner.insights.status(now) == "ENABLED":
        shown["contributor_insights"] = _insights(table, owner, owner.insights, usage)
    return shown


def _partitions(
    owner: Table | Index,
    snapshot: kv.Snapshot,
    counts: list[tuple[int, int]],
    usage: SourceUsage | None,
) -> Iterator[Shown]:
    """The range, the contents and the load of each partition."""
    for partition, (items, size) in zip(owner.partitions, counts, strict=True):
        end = partitions.end_of(owner, partition)
        shown: Shown = {
            "number": partition.number,
            "from": partition.start.hex(),
            "to": None if end is None else end.hex(),
            "from_key": _first_key(owner, snapshot, partition.start),
            "items": items,
            "bytes": size,
        }
        if partition.counted_in is not None:
            shown["counting"] = True
        if usage is not None:
            shown["read_units"] = usage.partitions[partition.number, False]
            shown["write_units"] = usage.partitions[partition.number, True]
        yield shown


def _first_key(owner: Table | Index, snapshot: kv.Snapshot, start: bytes) -> Shown | None:
    """The key of the first item of a partition, if the partition begins in the middle of an item
    collection; otherwise None."""
    if len(start) <= kv.PARTITION_BYTES:
        return None
    page = source.page(snapshot, kv.Range(owner.space, start, None, rows_max=1))
    if not page.rows or not page.rows[0][0].startswith(start[: kv.PARTITION_BYTES]):
        return None
    return _named(owner, Row(page.rows[0][1]).raw, whole=True)


def _collections(owner: Table | Index, snapshot: kv.Snapshot, rows_max: int) -> Shown:
    """The largest item collections among the first rows, about `rows_max` of them. The report is
    `complete` if these are all rows."""
    sizes: dict[bytes, tuple[int, int]] = {}
    names: dict[bytes, bytes] = {}
    walked, start, complete = 0, b"", False
    while walked < rows_max and not complete:
        page = source.page(snapshot, kv.Range(owner.space, start, None, rows_max=CHUNK_ROWS))
        for key, value in page.rows:
            digest = key[: kv.PARTITION_BYTES]
            items, size = sizes.get(digest, (0, 0))
            sizes[digest] = items + 1, size + kv.unpack_weight(value)[0]
            names.setdefault(digest, value)
        walked += len(page.rows)
        complete = page.exhausted
        if page.rows:
            start = page.rows[-1][0] + b"\x00"
    largest = sorted(sizes.items(), key=lambda each: (-each[1][1], each[0]))[:COLLECTIONS_SHOWN]
    return {
        "complete": complete,
        "rows_walked": walked,
        "largest": [
            {
                "key": _named(owner, Row(names[digest]).raw),
                "hash": digest.hex(),
                "items": items,
                "bytes": size,
            }
            for digest, (items, size) in largest
        ],
    }


def _add_credit(shown: Shown, meter: Meter, table: Table, owner: Table | Index, now: float) -> None:
    """Add the read and write credit of each partition, and of the whole table or index, to a
    report.

    The credit is the number of units that can be served now; it is negative after a debt.
    """
    for name, written in (("read_credit", False), ("write_credit", True)):
        credits = meter.credits(table, owner, written, now)
        for part in shown["partitions"]:
            part[name] = credits[part["number"]]
        shown["load"][name] = credits.get(None)


def _load(owner: Table | Index, usage: SourceUsage) -> Shown:
    return {
        "read_units": usage.read_units,
        "write_units": usage.write_units,
        "throttled": dict(usage.throttled),
        "accessed": _hot(owner, usage.accessed),
        "throttled_keys": _hot(owner, usage.throttled_keys),
    }


def _insights(
    table: Table, owner: Table | Index, insights: Insights, usage: SourceUsage | None
) -> Shown:
    """The report of each rule of Contributor Insights; empty if throughput is not measured."""
    index_name = owner.name if isinstance(owner, Index) else None
    reports = []
    for rule in insights.rules(table.name, index_name, bool(owner.range)):
        contributors: list[Shown] = []
        if usage is not None:
            hot = _hot(owner, usage.accessed if rule.accessed else usage.throttled_keys)
            contributors = hot["sort_keys" if rule.sort_keys else "partition_keys"]
        reports.append({"rule": rule.name, "contributors": contributors})
    return {"mode": insights.mode, "reports": reports}


def _hot(owner: Table | Index, counts: KeyCounts) -> dict[str, list[Shown]]:
    """The keys with the highest counts, in two lists: partition keys alone, and partition keys
    together with sort keys."""
    return {
        "partition_keys": [
            {"key": _named(owner, raw), "count": count}
            for raw, count in counts.partition_keys.most()
        ],
        "sort_keys": [
            {"key": _named(owner, raw, whole=True), "count": count}
            for raw, count in counts.sort_keys.most()
        ],
    }


def _named(owner: Table | Index, raw: bytes, *, whole: bool = False) -> Shown:
    """The values of a partition key by attribute name; with `whole`, also the value of the sort
    key."""
    names = owner.key if whole else owner.hash
    return cast(Shown, dict(zip(names, keys.parse_raw(raw), strict=False)))
