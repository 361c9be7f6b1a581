"""Splits of partitions, and the counting of their rows afterwards.

After a split, writes use the new partition at once. But all rows remain in the counters of the old
partition until upkeep has counted them, in steps. The progress of the count is in the table's
definition, so every writer knows which counters include a row.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.decision import (
    AnyChange,
    FeedChange,
    Recount,
    StreamChange,
    TableChange,
)
from hashrange.engine.fetch import Fetch
from hashrange.engine.log.shards import last_shard_id
from hashrange.model.partitions import HASH_BYTES, Partition
from hashrange.model.streams import PARTITION_BYTES, SLOTS_MAX, Slot, Stream
from hashrange.model.tables import Index, Table, partitions_needed

COUNTED_ROWS = 1000
CHUNK_BYTES = 1024 * 1024


class Found(NamedTuple):
    table: Table
    owner: Table | Index
    partition: Partition


def source(table: Table, index_name: str | None) -> Table | Index | None:
    """The table if the name is None; else its global index with this name, if there is one."""
    if index_name is None:
        return table
    index = table.index(index_name)
    return None if index is None or index.local else index


def find(table_name: str, index_name: str | None, number: int) -> Fetch[Found | None]:
    """The partition with this number, of a table or of one of its global indexes."""
    table = yield from fetch.find_table(table_name)
    owner = source(table, index_name) if table else None
    if table is None or owner is None:
        return None
    for partition in owner.partitions:
        if partition.number == number:
            return Found(table, owner, partition)
    return None


def sources(table: Table) -> list[Table | Index]:
    """The table and its global indexes."""
    return [table, *table.global_indexes]


def with_partitions(table: Table, owner: Table | Index, partitions: Sequence[Partition]) -> Table:
    """The table with these partitions of `owner`, which is the table or one of its indexes."""
    return table.with_changed(replace(owner, partitions=tuple(partitions)))


def end_of(owner: Table | Index, partition: Partition) -> bytes | None:
    """The key at which a partition ends; None for the last partition."""
    return next((start for start in owner.partition_starts if start > partition.start), None)


# ---- splits ----


def split(place: Found, at: bytes, milliseconds: int) -> list[AnyChange]:
    """Split a partition at the key `at`. The time is in `milliseconds`.

    Returns no changes if the partition does not contain the key, or starts with it, or is still
    being counted after an earlier split. A split of a table's partition between item collections
    also splits the slot of its change log.
    """
    table, owner, old = place
    if owner.partition_at(at) != old or old.start == at or old.counted_in is not None:
        return []
    new = Partition(max(other.number for other in owner.partitions) + 1, at, old.number, at)
    partitions = sorted([*owner.partitions, new], key=attrgetter("start"))
    changed = with_partitions(table, owner, partitions)
    log, readers = table.log, table.log_readers
    if not isinstance(owner, Table) or log is None:
        return [TableChange(table, changed)]
    changes: list[AnyChange] = []
    latest = max(milliseconds, log.since)
    for reader in readers:
        divided = _with_slot_split(reader, readers, at, latest)
        if reader is table.stream:
            changes.append(StreamChange(reader, divided))
            changed = replace(changed, stream=divided)
        else:
            [destination] = [each for each in changed.kinesis if each.feed is reader]
            fed = replace(destination, feed=divided)
            changes.append(FeedChange(destination, fed))
            others = (fed if each is destination else each for each in changed.kinesis)
            changed = replace(changed, kinesis=tuple(others))
    return [TableChange(table, changed), *changes]


def _with_slot_split(reader: Stream, readers: Sequence[Stream], at: bytes, latest: int) -> Stream:
    """A reader of the log, with the slot that has the key `at` replaced by two open slots.

    A slot is split only between item collections, because readers rely on the order of an item's
    records, and only if numbers for two more slots are free. All `readers` of the log get the same
    slots. No record of the log has a time after `latest`.
    """
    taken = {slot.number for each in readers for slot in each.slots}
    free = [number for number in range(SLOTS_MAX) if number not in taken]
    [slot] = [slot for slot in reader.slots if slot.number == reader.log.slot_of(at)]
    if len(at) > PARTITION_BYTES or slot.start == at or len(free) < 2:
        return reader
    opened_at = latest + 1  # no record of the old slot has this time
    parent = last_shard_id(reader, slot, latest)
    children = (
        Slot(free[0], slot.start, opened_at, parent=parent),
        Slot(free[1], at, opened_at, parent=parent),
    )
    closed = replace(slot, closed_at=opened_at)
    return replace(reader, slots=(*(closed if s is slot else s for s in reader.slots), *children))


def split_for_throughput(owner: Table | Index) -> tuple[int, bytes] | None:
    """The next split that the owner's throughput needs: the number of a partition, and a key.

    The key halves the widest partition. None if there are enough partitions, or if one of them is
    still being counted.
    """
    partitions = owner.partitions
    if len(partitions) >= partitions_needed(owner.throughput, owner.warm):
        return None
    if any(partition.counted_in is not None for partition in partitions):
        return None
    places = [(*_width(owner, partition), partition.number) for partition in partitions]
    _, start, number = max(places)
    width = max(places)[0]
    return number, (start + width // 2).to_bytes(HASH_BYTES, "big")


def _width(owner: Table | Index, partition: Partition) -> tuple[int, int]:
    """The number of hash values in a partition, and the first of these values."""
    start, end = _hash_at(partition.start), end_of(owner, partition)
    return (1 << 8 * HASH_BYTES if end is None else _hash_at(end)) - start, start


def _hash_at(key: bytes) -> int:
    return int.from_bytes(key[:HASH_BYTES].ljust(HASH_BYTES, b"\0"), "big")


def middle(place: Found, size: int) -> Fetch[bytes | None]:
    """The key that halves a partition of `size` bytes; None if there is no such key.

    The key is the start of an item collection, unless the first collection has half of the bytes.
    Then the key divides this collection. It must not be divided in a table with local indexes, or
    in a provisioned table with a change log: there, the result is None.
    """
    table, owner, partition = place
    start, end, before = partition.start, end_of(owner, partition), 0
    while True:
        page: kv.Page = yield kv.Range(owner.space, start, end, weight_max=CHUNK_BYTES)
        for key, value in page.rows:
            [weight] = kv.unpack_weight(value)
            before += weight
            if 2 * before >= size:
                return _boundary(table, partition, key)
        if page.exhausted:
            return None
        start = page.rows[-1][0] + b"\x00"


def _boundary(table: Table, partition: Partition, key: bytes) -> bytes | None:
    collection = key[:PARTITION_BYTES]
    if collection > partition.start:
        return collection
    whole = table.has_local_indexes or (table.log is not None and not table.on_demand)
    return None if whole or key <= partition.start else key


# ---- counting ----


def count_step(place: Found) -> Fetch[list[AnyChange]]:
    """Count the next rows of a partition that resulted from a split."""
    table, owner, partition = place
    assert partition.counted_in is not None
    end = end_of(owner, partition)
    page: kv.Page = yield kv.Range(owner.space, partition.counted_to, end, rows_max=COUNTED_ROWS)
    size = sum(kv.unpack_weight(value)[0] for _, value in page.rows)
    rows = len(page.rows)
    moved = Recount(owner.space, partition.counted_in, partition.number, rows, size)
    if page.exhausted:
        counted = Partition(partition.number, partition.start)
    else:
        counted = replace(partition, counted_to=page.rows[-1][0] + b"\x00")
    partitions = [counted if other is partition else other for other in owner.partitions]
    return [moved, TableChange(table, with_partitions(table, owner, partitions))]
