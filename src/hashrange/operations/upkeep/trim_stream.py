"""Deletes some records that are too old, or forgets a stream that was disabled more than a day
ago."""

import msgspec
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import (
    AnyChange,
    Checkpoints,
    Decide,
    Decision,
    LogChange,
    StreamChange,
    TableChange,
    answer,
)
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.log import checkpoints, feeds, records, streams
from hashrange.model.streams import Stream

STREAMS_MAX = 10_000
"""The largest number of streams of a table that are listed. A table has fewer: all but one of them
were disabled within the last day."""


class Request(msgspec.Struct, rename="pascal"):
    stream_arn: str


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    now = int(moment.now * 1000)
    stream = yield from streams.find(request.stream_arn)
    if stream is None:
        return answer({"Done": True})
    if stream.disabled_at is not None and stream.disabled_at < records.oldest_wanted(now):
        forgotten: list[AnyChange] = [StreamChange(stream, None)]
        if rows := (yield from checkpoints.of_stream(stream)):
            forgotten.append(Checkpoints(dict.fromkeys(rows)))
        if not (yield from is_log_shared(stream)):
            forgotten.append(LogChange(stream.log, None))
        return Decision(forgotten, {"Done": True})
    trim = yield from records.trim(stream.log, now)
    if trim is not None:
        return Decision([trim], {"Done": False})
    kept = without_old_slots(stream, records.oldest_wanted(now))
    if kept is stream:
        return answer({"Done": True})
    changes: list[AnyChange] = [StreamChange(stream, kept)]
    table = yield from fetch.find_table(stream.table_name)
    if table is not None and table.stream == stream:
        changes.append(TableChange(table, replace(table, stream=kept)))
    return Decision(changes, {"Done": True})


def without_old_slots(stream: Stream, oldest: int) -> Stream:
    """The stream without the slots that were closed before the time `oldest`, in epoch
    milliseconds. Their records must have been deleted."""
    slots = tuple(s for s in stream.slots if s.closed_at is None or s.closed_at >= oldest)
    return stream if slots == stream.slots else replace(stream, slots=slots)


def is_log_shared(reader: Stream) -> Fetch[bool]:
    """Whether the log is needed without this reader: the table still writes to it, or it has
    another reader."""
    table = yield from fetch.find_table(reader.table_name)
    if table is not None and table.log is not None and table.log.space == reader.space:
        return True
    return (yield from has_other_readers(reader))


def has_other_readers(reader: Stream) -> Fetch[bool]:
    """Whether the log of this reader has another stream or feed, enabled or disabled."""
    others = yield from streams.listed(reader.table_name, None, STREAMS_MAX)
    others += [feed for _, feed in (yield from feeds.listed())]
    return any(other.space == reader.space and other != reader for other in others)
