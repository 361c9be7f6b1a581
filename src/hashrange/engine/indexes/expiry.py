"""Time to live: a hidden index by expiry, and the deletion of what is past its time.

    key      expiry in epoch seconds (8) | digest of the item's raw key (16)
    value    as of every row, with the item's raw key and no item

An attribute counts if it is a Number of epoch seconds that is not more than five years past.
Source: developer guide, TTL and howitworks-ttl.
"""

from collections.abc import Iterator

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace.keys import RowKey, digest, parse_raw, table_key
from hashrange.engine.keyspace.rows import Row, encode_row
from hashrange.engine.writes import Change
from hashrange.model.numbers import to_decimal
from hashrange.model.tables import Table, TimeToLive
from hashrange.model.values import Item

FIVE_YEARS_SECONDS = 5 * 365 * 24 * 60 * 60
EXPIRED_PER_STEP = 200


def expires_at(ttl: TimeToLive, item: Item) -> int | None:
    """When an item expires, in epoch seconds; None if it never does."""
    number = item.get(ttl.attribute, {}).get("N")
    if number is None:
        return None
    seconds = int(to_decimal(number))
    return seconds if 0 < seconds < 1 << 63 else None


def index_writes(change: Change) -> Iterator[kv.Write]:
    """What a change of an item does to the hidden index."""
    ttl = change.table.ttl
    if ttl is None:
        return
    old = row(ttl, change.key.raw, change.old.item) if change.old else None
    new = row(ttl, change.key.raw, change.new) if change.new is not None else None
    if old and (new is None or new.key != old.key):
        yield kv.Delete(ttl.space, old.key)
    if new and (old is None or new.key != old.key):
        yield new


def row(ttl: TimeToLive, raw: bytes, item: Item) -> kv.Put | None:
    """The hidden index's row of an item that expires."""
    seconds = expires_at(ttl, item)
    if seconds is None:
        return None
    return kv.Put(ttl.space, seconds.to_bytes(8, "big") + digest(raw), encode_row(raw, b"", 0))


def expired(table: Table, now: float, items_max: int) -> Fetch[list[Change]]:
    """Deletions of some items whose time is over, decided on the items as they are."""
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
    keys = [_owner(table, Row(value).raw) for _, value in page.rows]
    rows = yield from fetch.items([(table, key) for key in keys])
    return [
        Change(table, key, found, None, 0, expired=True)
        for key, found in zip(keys, rows, strict=True)
        if found
    ]


def _owner(table: Table, raw: bytes) -> RowKey:
    return table_key(table, dict(zip(table.key, parse_raw(raw), strict=True)))
