"""The one place that turns an old and a new image into rows, counters and capacity.

A table is its own first index. An operation cannot forget an index because it cannot name one.
"""

from collections import defaultdict
from collections.abc import Sequence

from hashrange import kv
from hashrange.engine.capacity import Charge, Receipt, write_units
from hashrange.engine.indexes import expiry
from hashrange.engine.indexes.secondary import entry, put_entry
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import RowKey, parse_raw
from hashrange.engine.keyspace.rows import encode_item, encode_row
from hashrange.engine.log import streams
from hashrange.engine.writes import Change
from hashrange.model.tables import Index, Table


def derive(changes: Sequence[Change], receipt: Receipt, now: int) -> list[kv.Write]:
    """The writes of all changes, made at `now` in milliseconds; the receipt gets what they cost."""
    writes: list[kv.Write] = []
    totals: defaultdict[bytes, int] = defaultdict(int)
    for change in changes:
        charges = [] if change.expired else receipt.charges  # what is expired costs nothing
        old_size = change.old.size if change.old else 0
        units = write_units(max(old_size, change.new_size))
        if receipt.transactional:
            units *= 2
        place = change.key.key[: kv.PARTITION_BYTES]
        charges.append(Charge(change.table, None, place, units, written=True))
        if change.check:
            continue
        _table_row(change, old_size, writes, totals)
        for index in change.table.indexes:
            _index_row(change, index, charges, writes, totals)
        if change.table.ttl:
            writes.extend(expiry.index_writes(change))
        stream = change.table.stream
        if stream and stream.disabled_at is None:
            writes.extend(streams.appended(stream, change, now))
    for change in changes:
        if change.collection_size is not None:
            _collection(change, receipt, totals)
    writes.extend([kv.Add(name, delta) for name, delta in totals.items() if delta])
    return writes


def _table_row(
    change: Change, old_size: int, writes: list[kv.Write], totals: defaultdict[bytes, int]
) -> None:
    table, key = change.table, change.key
    if change.new is not None:
        value = encode_row(key.raw, encode_item(change.new), change.new_size)
        writes.append(kv.Put(table.space, key.key, value))
    elif change.old is not None:
        writes.append(kv.Delete(table.space, key.key))
    count = (change.new is not None) - (change.old is not None)
    _count(table, table.space, key, count, change.new_size - old_size, totals)


def _index_row(
    change: Change,
    index: Index,
    charges: list[Charge],
    writes: list[kv.Write],
    totals: defaultdict[bytes, int],
) -> None:
    """Entries that go are deleted, entries that come are put; equal views cost nothing."""
    table = change.table
    if index.building and change.key.key >= index.built_to:
        return  # the build has yet to come to this item
    old = entry(table, index, change.key, change.old.item) if change.old else None
    new = entry(table, index, change.key, change.new) if change.new is not None else None
    if old and new and old.key.key == new.key.key:
        if old.view == new.view:
            return
        charges.append(_charge(table, index, new.key, max(old.size, new.size)))
    else:
        if old:
            charges.append(_charge(table, index, old.key, old.size))
            writes.append(kv.Delete(index.space, old.key.key))
        if new:
            charges.append(_charge(table, index, new.key, new.size))
    if new:
        writes.append(put_entry(index, new))
    count = (new is not None) - (old is not None)
    size = (new.size if new else 0) - (old.size if old else 0)
    _count(table, index.space, change.key, count, size, totals, local=index.local)


def _charge(table: Table, index: Index, key: RowKey, size: int) -> Charge:
    place = key.key[: kv.PARTITION_BYTES]
    return Charge(table, index, place, write_units(size), written=True)


def _count(
    table: Table,
    space: int,
    key: RowKey,
    count: int,
    size: int,
    totals: defaultdict[bytes, int],
    local: bool = True,
) -> None:
    if count:
        totals[system.item_count(space)] += count
    if size:
        totals[system.size_bytes(space)] += size
    if local and table.has_local_indexes:
        partition = key.key[: kv.PARTITION_BYTES]
        totals[system.collection_bytes(table.space, partition)] += size


def _collection(change: Change, receipt: Receipt, totals: defaultdict[bytes, int]) -> None:
    assert change.collection_size is not None
    partition = change.key.key[: kv.PARTITION_BYTES]
    name = system.collection_bytes(change.table.space, partition)
    size = change.collection_size + totals[name]
    key = {change.table.hash[0]: parse_raw(change.key.raw)[0]}
    receipt.collections.setdefault(change.table.name, {})[partition] = (key, size)
