"""Upgrades rows that an older hashrange has stored to the version that this one uses.

The row `system.FORMAT` has the version of the stored rows. If the row is missing, the version is 1,
or the store is new and has nothing to upgrade. Each step upgrades the rows from one version to the
next. Like an operation, a step is a generator of reads that returns writes. All steps that a store
needs are run in one transaction, and each sees the writes of the earlier steps. So an interrupted
upgrade changes nothing, and is run again.
"""

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from hashrange import kv
from hashrange.decoders import prepare
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import digest
from hashrange.model.partitions import Partition, equal_parts
from hashrange.model.streams import Stream, first_slots
from hashrange.model.tables import Index, Table, partitions_needed

T = TypeVar("T")
Upgrading = Generator[kv.Read, Any, T]
Step = Callable[[], Upgrading[list[kv.Write]]]

CHUNK_ROWS = 1000


def _guarded_rows() -> Upgrading[list[kv.Write]]:
    """Upgrade from version 1, which had numbers in counters although decisions rely on them.

    These are the number of spaces, and the sizes of item collections. The names of the latter
    counters are computed from the partition digests of the table's rows.
    """
    made, version = yield kv.Counters((b"spaces", b"catalog"))
    if not made:
        return []
    writes: list[kv.Write] = [*_cleared({b"spaces": made, b"catalog": version})]
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, system.TABLES, system.AFTER_TABLES)
    for _, value in page.rows:
        table = system.decode(value, dict[str, Any])
        if any(index["local"] for index in table["indexes"]):
            made += 1
            writes += yield from _collections(table, made)
    writes.append(kv.Put(*system.SPACES, system.encode_number(made)))
    return writes


def _collections(table: dict[str, Any], space: int) -> Upgrading[list[kv.Write]]:
    """The writes that give a table a space for the sizes of its item collections."""
    changed = {**table, "collections": space}
    row = system.table_row(table["name"])
    writes: list[kv.Write] = [
        kv.CreateSpace(space),
        kv.Put(kv.SYSTEM_SPACE, row, system.encode(changed)),
    ]
    start = b""
    while True:
        page: kv.Page = yield kv.Range(table["space"], start, None, rows_max=CHUNK_ROWS)
        partitions = sorted({key[: kv.PARTITION_BYTES] for key, _ in page.rows})
        names = [b"c%d:" % table["space"] + partition for partition in partitions]
        sizes: list[int] = yield kv.Counters(tuple(names))
        writes += [
            kv.Put(space, partition, system.encode_number(size))
            for partition, size in zip(partitions, sizes, strict=True)
        ]
        if page.exhausted:
            return writes
        start = page.rows[-1][0] + b"\x00"


def _cleared(counters: dict[bytes, int]) -> Iterator[kv.Write]:
    """The writes that set these counters to 0."""
    for name, number in counters.items():
        yield kv.Add(name, -number)


def _partitions() -> Upgrading[list[kv.Write]]:
    """Upgrade from version 2, which stored no partitions, and only the number of a log's slots.

    Tables and global indexes get as many partitions as their warm throughput needs. All rows stay
    in the counters of the first partition until upkeep has counted the other partitions.
    """
    streams: dict[str, Stream] = {}
    writes: list[kv.Write] = []
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, *system.stream_rows(None))
    for key, value in page.rows:
        stored = system.decode(value, dict[str, Any])
        if not isinstance(stored.get("slots", 0), int):
            raise _version_lost()
        stream = _with_slots(stored)
        streams[stream.arn] = stream
        writes.append(kv.Put(kv.SYSTEM_SPACE, key, system.encode(stream)))
    page = yield kv.Range(kv.SYSTEM_SPACE, system.TABLES, system.AFTER_TABLES)
    for key, value in page.rows:
        stored = system.decode(value, dict[str, Any])
        if "partitions" in stored:
            raise _version_lost()
        if stored["stream"] is not None:
            latest = _with_slots(stored["stream"])
            stored["stream"] = msgspec.to_builtins(streams.get(latest.arn, latest))
        table = _divided(msgspec.convert(stored, prepare(Table)))
        indexes = tuple(index if index.local else _divided(index) for index in table.indexes)
        table = replace(table, indexes=indexes)
        writes.append(kv.Put(kv.SYSTEM_SPACE, key, system.encode(table)))
    [version] = yield kv.Get((system.CATALOG_VERSION,))
    if page.rows:  # the definitions that other processes have cached are outdated
        writes.append(system.new_version(digest(version or b"")[:8]))
    return writes


def _version_lost() -> kv.Damaged:
    """The error for rows of a newer version than the one in `system.FORMAT`."""
    return kv.Damaged(
        "the database is damaged: the row with its version is lost or wrong; restore it from a "
        "backup"
    )


def _with_slots(stored: dict[str, Any]) -> Stream:
    """The stream with the slots of its log: equal ranges of the first byte of the hash."""
    count = stored.get("slots", 4)
    starts = [bytes([-(-256 * number // count)]) for number in range(1, count)]
    slots = first_slots([b"", *starts], stored["enabled_at"])
    return msgspec.convert({**stored, "slots": msgspec.to_builtins(slots)}, prepare(Stream))


Divided = TypeVar("Divided", Table, Index)


def _divided(source: Divided) -> Divided:
    parts = equal_parts(partitions_needed(source.throughput, source.warm))
    others: list[Partition] = [
        Partition(part.number, part.start, 0, part.start) for part in parts[1:]
    ]
    return replace(source, partitions=(parts[0], *others))


STEPS: tuple[Step, ...] = (_guarded_rows, _partitions)
"""The step number n, counted from 1, upgrades the stored rows from version n to n + 1."""

VERSION = len(STEPS) + 1


def stored_version() -> Upgrading[int]:
    """The version of the stored rows."""
    [value] = yield kv.Get((system.FORMAT,))
    return system.decode_number(value) or 1


def finished() -> kv.Put:
    """The write that ends an upgrade."""
    return kv.Put(*system.FORMAT, system.encode_number(VERSION))
