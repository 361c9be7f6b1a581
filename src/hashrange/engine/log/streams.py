"""Lookup of streams, and the pages of records that GetRecords reads."""

from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system
from hashrange.engine.log import records
from hashrange.engine.log.shards import Shard
from hashrange.engine.log.views import StreamView
from hashrange.model.streams import Stream

RECORDS_MAX = 1000
VIEW_BYTES_MAX = 1024 * 1024
"""A page ends when the size of the rendered records reaches this."""
RAW_BYTES_MAX = 8 * 1024 * 1024
"""A page also ends when the size of the stored records reaches this."""


class StreamPage(NamedTuple):
    """A page of GetRecords. The next page starts at the key `position` of the log.

    If it is `exhausted`, there were no more records when the page was read.
    """

    records: list[dict[str, Any]]
    position: bytes
    exhausted: bool


def latest_commit() -> Fetch[int]:
    """The time of the latest commit in milliseconds, as of this snapshot."""
    [milliseconds] = yield from fetch.counters([system.CLOCK])
    return milliseconds


def settled(latest: int, moment: Moment) -> int:
    """The time, in milliseconds, before which no more records will appear."""
    return latest - int(moment.commit_seconds * 1000)


def find(arn: str) -> Fetch[Stream | None]:
    """The stream with this ARN, if it is enabled or was disabled less than a day ago; else None."""
    table_arn, _, label = arn.partition("/stream/")
    key = system.stream_row(table_arn.rpartition("/")[2], label)
    stream = yield from fetch.system_row(key, Stream)
    return stream if stream and stream.arn == arn else None


def listed(table_name: str | None, after: str | None, limit: int) -> Fetch[list[Stream]]:
    """At most `limit` streams of one table, or of all tables if the name is None.

    The list begins after the stream with the ARN `after`. The streams of a table are together, the
    latest first, as the service lists them.
    """
    start, end = system.stream_rows(table_name)
    streams: list[Stream] = []
    if after is not None:
        table_arn, _, label = after.partition("/stream/")
        name = table_arn.rpartition("/")[2]
        first, last = system.stream_rows(name)
        older = max(start, first), min(end, system.stream_row(name, label))
        streams = yield from _latest(*older, limit)
        start = max(start, last)
    if len(streams) == limit or start >= end:
        return streams
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, start, end, rows_max=limit - len(streams))
    following = [system.decode(value, Stream) for _, value in page.rows]
    groups = [list(group) for _, group in groupby(following, attrgetter("table_name"))]
    if groups and not page.exhausted:  # the last table may have later streams
        rows = system.stream_rows(groups[-1][0].table_name)
        groups[-1] = (yield from _latest(*rows, len(groups[-1])))[::-1]
    for group in groups:
        streams += reversed(group)
    return streams


def _latest(start: bytes, end: bytes, limit: int) -> Fetch[list[Stream]]:
    """At most `limit` streams between two rows, the latest first."""
    if start >= end:
        return []
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, start, end, reverse=True, rows_max=limit)
    return [system.decode(value, Stream) for _, value in page.rows]


def latest_position(stream: Stream, shard: Shard) -> Fetch[bytes]:
    """The key after the last record that the shard has now."""
    last = yield from records.latest(stream.log, shard.first_key, shard.end_key)
    return shard.first_key if last is None else last.key + b"\x00"


def read(
    stream: Stream, shard: Shard, start: bytes, now: int, limit: int, view: StreamView
) -> Fetch[StreamPage]:
    """At most `limit` records of a shard, starting at the key `start` of the log."""
    shown_records: list[dict[str, Any]] = []
    shown_bytes = raw_bytes = 0
    start = max(start, shard.key_at(records.oldest_wanted(now)))
    while True:
        most = limit - len(shown_records)
        chunk, exhausted = yield from records.read(stream.log, start, shard.end_key, most)
        for record in chunk:
            shown, size = view.render(record)
            shown_records.append(shown)
            start = record.place.key + b"\x00"
            shown_bytes += size
            raw_bytes += record.row.size
            if shown_bytes >= VIEW_BYTES_MAX or raw_bytes >= RAW_BYTES_MAX:
                return StreamPage(shown_records, start, False)
        if exhausted or len(shown_records) == limit:
            return StreamPage(shown_records, start, exhausted)
