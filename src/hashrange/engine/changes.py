"""Turns an old and a new image of an item into rows, counters and capacity.

Every operation writes items through this module, so no operation can forget an index.
"""

from collections.abc import Sequence

from hashrange import kv
from hashrange.engine import history
from hashrange.engine.decision import ItemChange
from hashrange.engine.effects import Effects, count_collection, count_rows
from hashrange.engine.indexes import MAINTAINERS, propagation
from hashrange.engine.indexes.maintainer import is_built
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import collection_key, parse_raw
from hashrange.engine.keyspace.rows import encode_row
from hashrange.engine.log import records
from hashrange.engine.vectors import sizes


def derive(changes: Sequence[ItemChange], effects: Effects) -> None:
    """Add the effects of changes of items, all of one decision, to `effects`."""
    for change in changes:
        old_size, new_size = _stored_sizes(change)
        effects.charge(change, None, change.key, max(old_size, new_size))
        if change.check:
            continue
        _put_or_delete(change, old_size, new_size, effects)
        table = change.table
        if table.index_log is not None:
            propagation.derive(table.index_log, change, effects)
        else:
            for index in table.maintained:
                if not index.building or is_built(index, change.key):
                    MAINTAINERS[type(index)].derive(index, change, effects)
        if table.history is not None:
            history.append(table.history, change, effects)
        if table.log is not None:
            records.append(table.log, change, effects)
    for change in changes:
        if change.collection_size is not None:
            _weigh_collection(change, effects)


def _stored_sizes(change: ItemChange) -> tuple[int, int]:
    """The sizes of the old and the new image as the table stores them; 0 if there is no image.

    A check writes nothing: both are the size of the old image.
    """
    table, old = change.table, change.old
    old_size, new_size = 0 if old is None else old.size, change.new_size
    if table.counts_vectors:
        if old is not None:
            old_size = sizes.stored_size(table, old.item, change.key.key)
        if change.new is not None:
            new_size = sizes.stored_size(table, change.new, change.key.key)
        elif change.check:
            new_size = old_size
    return old_size, new_size


def _put_or_delete(change: ItemChange, old_size: int, new_size: int, effects: Effects) -> None:
    """Put or delete the item's row in the table, and change the table's counters."""
    table, key = change.table, change.key
    if change.new is not None:
        value = encode_row(key.raw, change.json(), change.new_size)
        effects.writes.append(kv.Put(table.space, key.key, value))
    elif change.old is not None:
        effects.writes.append(kv.Delete(table.space, key.key))
    rows = (change.new is not None) - (change.old is not None)
    growth = new_size - old_size
    count_rows(effects.counters, table, key.key, rows, growth)
    if table.has_local_indexes:
        count_collection(effects.counters, table, key, growth)


def _weigh_collection(change: ItemChange, effects: Effects) -> None:
    """Store the size of the item's collection after all changes, and add it to the receipt."""
    assert change.collection_size is not None
    space, partition = place = collection_key(change.table, change.key)
    receipt = effects.receipt
    if receipt.collections is None:
        receipt.collections = {}
    noted = receipt.collections.setdefault(change.table.name, {})
    if partition in noted:
        return
    growth = effects.counters.pop(place, 0)
    size = change.collection_size + growth
    if growth and size:
        effects.writes.append(kv.Put(space, partition, system.encode_number(size)))
    elif growth:
        effects.writes.append(kv.Delete(space, partition))
    noted[partition] = ({change.table.hash[0]: parse_raw(change.key.raw)[0]}, size)
