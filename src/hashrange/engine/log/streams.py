"""Records of streams: made of changes, and read back in order.

    key      slot (1) | milliseconds (8) | the store's number (8)
    value    as of every row; the weight is SizeBytes, the item is the record's `dynamodb` member

Times never fall from one commit to the next, and the store numbers rise: so keys order as the
changes were committed, and a shard is one range.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Raw
from msgspec.json import decode, encode

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.decision import ItemChange
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import parse_raw
from hashrange.engine.keyspace.rows import encode_row, item_json
from hashrange.model.streams import RETENTION_SECONDS, Shard, Stream, slot_of
from hashrange.model.values import equal, item_size

RECORDS_MAX = 1000
RECORDS_BYTES_MAX = 1024 * 1024
TRIM_ROWS = 500


class Record(NamedTuple):
    """A record as stored: when it was committed, its number, its members as JSON."""

    milliseconds: int
    number: int
    members: dict[str, Raw]


def appended(stream: Stream, change: ItemChange, milliseconds: int) -> Iterator[kv.Append]:
    """The record of a change, unless it changes nothing."""
    old, new = change.old, change.new
    if old is None and new is None:
        return
    if old is not None and new is not None and equal({"M": old.item}, {"M": new}):
        return
    milliseconds = max(milliseconds, stream.enabled_at)
    keys = dict(zip(change.table.key, parse_raw(change.key.raw), strict=True))
    size = item_size(keys)
    content: dict[str, Any] = {"ApproximateCreationDateTime": milliseconds // 1000, "Keys": keys}
    if new is not None and stream.view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES"):
        content["NewImage"] = new
        size += change.new_size
    if old is not None and stream.view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES"):
        content["OldImage"] = Raw(old.json)
        size += old.size
    content |= {"SizeBytes": size, "StreamViewType": stream.view}
    record: dict[str, Any] = {"eventName": _event(change), "dynamodb": content}
    if change.expired:
        record["userIdentity"] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    slot = slot_of(change.key.key, stream.slots)
    prefix = bytes([slot]) + milliseconds.to_bytes(8, "big")
    yield kv.Append(stream.space, slot, prefix, encode_row(b"", encode(record), size))


def _event(change: ItemChange) -> str:
    if change.old is None:
        return "INSERT"
    return "REMOVE" if change.new is None else "MODIFY"


# ---- reading ----


def latest_commit() -> Fetch[int]:
    """The time of the latest commit in milliseconds, as of this snapshot."""
    [milliseconds] = yield from fetch.counters([system.CLOCK])
    return milliseconds


def find(arn: str) -> Fetch[Stream | None]:
    """The stream of this ARN: enabled, or disabled for less than a day."""
    table_arn, _, label = arn.partition("/stream/")
    key = system.stream_row(table_arn.rpartition("/")[2], label)
    stream = yield from fetch.system_row(key, Stream)
    return stream if stream and stream.arn == arn else None


def listed(table_name: str | None, after: str | None, limit: int) -> Fetch[list[Stream]]:
    """At most `limit` streams in order of their tables' names, behind the one of this ARN."""
    start, end = system.stream_rows(table_name)
    if after is not None:
        table_arn, _, label = after.partition("/stream/")
        start = max(start, system.stream_row(table_arn.rpartition("/")[2], label) + b"\x00")
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, start, end, rows_max=limit)
    return [system.decode(value, Stream) for _, value in page.rows]


def position(shard: Shard, milliseconds: int, number: int = 0) -> bytes:
    """Where in a shard's rows the first record is that is not before this one."""
    at = min(max(milliseconds, shard.start), shard.end)
    if at != milliseconds:
        number = 0
    return bytes([shard.slot]) + at.to_bytes(8, "big") + number.to_bytes(8, "big")


def latest_position(stream: Stream, shard: Shard) -> Fetch[bytes]:
    """Behind the last record that the shard has now."""
    start, end = position(shard, shard.start), position(shard, shard.end)
    page: kv.Page = yield kv.Range(stream.space, start, end, reverse=True, rows_max=1)
    return page.rows[0][0] + b"\x00" if page.rows else start


def records(
    stream: Stream, shard: Shard, start: bytes, now: int, limit: int
) -> Fetch[tuple[list[Record], bytes, bool]]:
    """Records from `start`, where to go on, and whether there are no more as of now."""
    horizon = position(shard, now - RETENTION_SECONDS * 1000)
    page: kv.Page = yield kv.Range(
        stream.space,
        max(start, horizon),
        position(shard, shard.end),
        rows_max=min(limit, RECORDS_MAX),
        weight_max=RECORDS_BYTES_MAX,
    )
    found = [_record(key, value) for key, value in page.rows]
    return found, page.rows[-1][0] + b"\x00" if page.rows else start, page.exhausted


def _record(key: bytes, value: bytes) -> Record:
    members = decode(item_json(value), type=dict[str, Raw])
    return Record(int.from_bytes(key[1:9], "big"), int.from_bytes(key[9:], "big"), members)


def trimmable(stream: Stream, slot: int, now: int) -> Fetch[list[bytes]]:
    """Keys of some records of a slot that are older than a day."""
    end = bytes([slot]) + max(now - RETENTION_SECONDS * 1000, 0).to_bytes(8, "big")
    page: kv.Page = yield kv.Range(stream.space, bytes([slot]), end, rows_max=TRIM_ROWS)
    return [key for key, _ in page.rows]
