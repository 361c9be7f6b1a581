"""Feeds: readers of a table's change log whose records are sent to a Kinesis data stream.

A feed is a `Stream` that clients do not see, with one shard for each slot of the log. Its position
is stored in a row after records have been sent, so each record is sent at least once. The records
of an item are sent in order: they are in one slot and, after a split, in the slot that succeeds it.
This slot is read only when its predecessor has been read to its end.

A record has the members of the service's records. Binary values are encoded as base64 twice, and
times are in milliseconds or microseconds. Source: a report about the Kinesis Client Library.
"""

from base64 import b64encode
from hashlib import md5
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

from msgspec import Raw
from msgspec.json import Decoder, Encoder

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system
from hashrange.engine.log import streams
from hashrange.engine.log.records import Record
from hashrange.engine.log.shards import is_closed, shards
from hashrange.engine.log.views import StreamView
from hashrange.model.streams import Stream
from hashrange.model.tables import KinesisDestination
from hashrange.model.values import Item

SHARD_MILLISECONDS = 1 << 52
"""The duration of a feed's shards. It is so long that no shard ends because of its age."""
RECORDS_MAX = 500
"""The largest number of records in a batch: the limit of PutRecords."""
FEEDS_MAX = 10_000

_decode_item = Decoder(Item).decode
_encode = Encoder().encode


class Batch(NamedTuple):
    """The next records of a feed, each with its partition key.

    `positions` is the feed's position after these records. If `ended`, the feed was disabled, and
    no records follow. If `more`, the log may already have further records.
    """

    records: list[dict[str, Any]]
    positions: dict[int, bytes]
    ended: bool
    more: bool


def find(table_name: str, label: str) -> Fetch[KinesisDestination | None]:
    """The destination whose feed has this label.

    A destination is stored until the last record of its feed has been sent.
    """
    return (yield from fetch.system_row(system.feed_row(table_name, label), KinesisDestination))


def listed() -> Fetch[list[tuple[KinesisDestination, Stream]]]:
    """All destinations that have a feed, each with its feed."""
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, *system.FEED_ROWS, rows_max=FEEDS_MAX)
    destinations = [system.decode(value, KinesisDestination) for _, value in page.rows]
    return [(each, each.feed) for each in destinations if each.feed is not None]


def positions(feed: Stream) -> Fetch[dict[int, bytes]]:
    """For each slot that has been read, the key of the log at which to read on."""
    row = system.feed_position_row(feed.table_name, feed.label)
    return (yield from fetch.system_row(row, dict[int, bytes])) or {}


def later(some: dict[int, bytes], others: dict[int, bytes]) -> dict[int, bytes]:
    """For each slot, the later of two positions, so that a slow process never moves a feed back."""
    slots = some.keys() | others.keys()
    return {slot: max(some.get(slot, b""), others.get(slot, b"")) for slot in sorted(slots)}


def next_batch(destination: KinesisDestination, feed: Stream, moment: Moment) -> Fetch[Batch]:
    """The records after the stored position of a feed, in an order in which they may be sent."""
    now = int(moment.now * 1000)
    latest = yield from streams.latest_commit()
    settled = streams.settled(latest, moment)
    reached = yield from positions(feed)
    view = KinesisView(feed, destination.precision)
    records: list[dict[str, Any]] = []
    all_ended, more = True, False
    slots = {slot.number: slot for slot in feed.slots}
    unread: list[int] = []  # when slots with unread records were closed
    for shard in sorted(shards(feed, latest, now), key=lambda it: slots[it.slot].opened_at):
        slot = slots[shard.slot]
        if any(closed_at <= slot.opened_at for closed_at in unread):
            all_ended, more = False, True
            continue
        start = reached.get(shard.slot, shard.first_key)
        ended = start >= shard.end_key
        more |= len(records) == RECORDS_MAX
        if not ended and len(records) < RECORDS_MAX:
            limit = RECORDS_MAX - len(records)
            page = yield from streams.read(feed, shard, start, now, limit, view)
            records += page.records
            more |= not page.exhausted
            ended = page.exhausted and is_closed(feed, shard, settled)
            if page.records or ended:
                reached[shard.slot] = shard.end_key if ended else page.position
        all_ended = all_ended and ended
        if not ended and slot.closed_at is not None:
            unread.append(slot.closed_at)
    return Batch(records, reached, all_ended and feed.disabled_at is not None, more)


class KinesisView(StreamView):
    """Renders records of the log as DynamoDB sends them to Kinesis."""

    __slots__ = ("_per_millisecond", "_precision", "_table_name")

    service: ClassVar = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}

    def __init__(self, feed: Stream, precision: str | None) -> None:
        super().__init__(feed)
        self._table_name = feed.table_name
        self._precision = precision or "MILLISECOND"
        self._per_millisecond = 1000 if precision == "MICROSECOND" else 1

    def render(self, record: Record) -> tuple[dict[str, Any], int]:
        """The record with its partition key in Kinesis, and the size of the record in bytes.

        The partition key is a hash, which is equal for all records of an item.
        """
        shown, size = super().render(record)
        key = md5(record.row.raw, usedforsecurity=False).hexdigest().upper()
        return {"Key": key, "Data": shown}, size

    def _shown(
        self, record: Record, members: dict[str, Any], content: dict[str, Any]
    ) -> dict[str, Any]:
        changed_at = record.place.milliseconds * self._per_millisecond
        images = {
            name: _with_binary_twice(content[name])
            for name in ("Keys", "NewImage", "OldImage")
            if name in content
        }
        return {
            "awsRegion": self._region,
            "eventID": str(UUID(record.place.event_id(self._space))),
            **members,
            "userIdentity": None,
            "recordFormat": "application/json",
            "tableName": self._table_name,
            "dynamodb": {
                "ApproximateCreationDateTime": changed_at,
                **images,
                "SizeBytes": content["SizeBytes"],
                "ApproximateCreationDateTimePrecision": self._precision,
            },
            "eventSource": "aws:dynamodb",
        }


def _with_binary_twice(image: Any) -> Any:
    """The item with its binary values encoded as base64 once more."""
    if not isinstance(image, Raw):
        return {name: _value(value) for name, value in image.items()}
    if b'"B' not in bytes(image):
        return image
    return Raw(_encode({name: _value(value) for name, value in _decode_item(image).items()}))


def _value(value: dict[str, Any]) -> dict[str, Any]:
    [(type_, content)] = value.items()
    match type_:
        case "B":
            return {"B": _again(content)}
        case "BS":
            return {"BS": [_again(each) for each in content]}
        case "L":
            return {"L": [_value(each) for each in content]}
        case "M":
            return {"M": {name: _value(each) for name, each in content.items()}}
    return value


def _again(encoded: str | bytes) -> str:
    return b64encode(encoded.encode() if isinstance(encoded, str) else encoded).decode()
