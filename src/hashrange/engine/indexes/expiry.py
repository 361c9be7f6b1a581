"""Time to live: a hidden index of the times of expiry, and the deletion of expired items.

    key      expiry in epoch seconds (8) | digest of the item's raw key (16)
    value    as in every row, with the item's raw key and no item

An item expires if the attribute is a Number of epoch seconds, and has expired if this time is at
most five years past. Source: developer guide, TTL and howitworks-ttl.
"""

from collections.abc import Sequence

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.decision import ItemChange
from hashrange.engine.effects import Counters, Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.indexes.maintainer import Checked
from hashrange.engine.keyspace.keys import RowKey, digest, owner_key
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.model.numbers import to_decimal
from hashrange.model.tables import Table, TimeToLive
from hashrange.model.values import AttributeValue

FIVE_YEARS_SECONDS = 5 * 365 * 24 * 60 * 60
EXPIRED_PER_STEP = 200


def derive(ttl: TimeToLive, change: ItemChange, effects: Effects) -> None:
    """Add, move or delete the row of an item if the time of its expiry changes."""
    before = change.old.item.get(ttl.attribute) if change.old is not None else None
    after = change.new.get(ttl.attribute) if change.new is not None else None
    if before == after:
        return
    old, new = _expires_at(before), _expires_at(after)
    if old is not None and old != new:
        effects.writes.append(kv.Delete(ttl.space, _key(old, change.key.raw)))
    if new is not None and old != new:
        effects.writes.append(_put(ttl, new, change.key.raw))


def build(table: Table, ttl: TimeToLive, items: Sequence[Row], effects: Effects) -> None:
    for row in items:
        seconds = _expires_at(row.item.get(ttl.attribute))
        if seconds is not None:
            effects.writes.append(_put(ttl, seconds, row.raw))


def check(table: Table, ttl: TimeToLive, key: RowKey, item: Row) -> Fetch[Checked]:
    seconds = _expires_at(item.item.get(ttl.attribute))
    if seconds is None:
        return Checked()
    expected = _put(ttl, seconds, key.raw)
    [value] = yield kv.Get(((ttl.space, expected.key),))
    if value == expected.value:
        return Checked(RowKey(expected.key, key.raw))
    what = "is missing" if value is None else "differs from its item"
    return Checked(RowKey(expected.key, key.raw), 0, f"row {expected.key.hex()} {what}")


def owner(table: Table, row: Row) -> RowKey:
    return owner_key(table, row.raw)


def count(
    table: Table, ttl: TimeToLive, key: RowKey, rows: int, size: int, counters: Counters
) -> None:
    """Do nothing: this index is not visible to users, and has no counters."""


def _expires_at(value: AttributeValue | None) -> int | None:
    """The time of expiry, in epoch seconds; None if the item never expires."""
    number = None if value is None else value.get("N")
    if number is None:
        return None
    seconds = int(to_decimal(number))
    return seconds if 0 < seconds < 1 << 63 else None


def _key(seconds: int, raw: bytes) -> bytes:
    return seconds.to_bytes(8, "big") + digest(raw)


def _put(ttl: TimeToLive, seconds: int, raw: bytes) -> kv.Put:
    return kv.Put(ttl.space, _key(seconds, raw), encode_row(raw, b"", 0))


def expired(table: Table, now: float, items_max: int) -> Fetch[list[ItemChange]]:
    """Deletions of at most `items_max` expired items, based on the items as they are now."""
    ttl = table.ttl
    if ttl is None:
        return []
    oldest = max(int(now) - FIVE_YEARS_SECONDS, 0)
    page: kv.Page = yield kv.Range(
        ttl.space,
        oldest.to_bytes(8, "big"),
        int(now).to_bytes(8, "big"),
        rows_max=min(items_max, EXPIRED_PER_STEP),
    )
    keys = [owner(table, Row(value)) for _, value in page.rows]
    rows = yield from fetch.items_and_collections([(table, key) for key in keys])
    return [
        ItemChange(table, key, row, None, 0, collection_size=size, expired=True)
        for key, (row, size) in zip(keys, rows, strict=True)
        if row
    ]
