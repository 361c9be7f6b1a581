"""Deletes some records of a log that a feed has sent, or forgets a feed that has ended.

If the log has another reader, records stay for a day, like those of a stream. Records that could
not be sent within a day are lost, as on the service.
"""

import msgspec
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine.decision import AnyChange, Decide, Decision, FeedChange, LogChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.log import feeds, records
from hashrange.model.streams import Stream
from hashrange.model.tables import KinesisDestination
from hashrange.operations.tables.kinesis import with_destination
from hashrange.operations.upkeep import trim_stream


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    label: str


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    now = int(moment.now * 1000)
    destination = yield from feeds.find(request.table_name, request.label)
    if destination is None or destination.feed is None:
        return answer({"Done": True})
    feed = destination.feed
    if feed.disabled_at is not None and (yield from _has_ended(destination, feed, moment)):
        forgotten: list[AnyChange] = [FeedChange(destination, None)]
        if not (yield from trim_stream.is_log_shared(feed)):
            forgotten.append(LogChange(feed.log, None))
        return Decision(forgotten, {"Done": True})
    alone = not (yield from trim_stream.has_other_readers(feed))
    sent = (yield from feeds.positions(feed)) if alone else {}
    trim = yield from records.trim(feed.log, now, sent)
    if trim is not None:
        return Decision([trim], {"Done": False})
    kept = trim_stream.without_old_slots(feed, records.oldest_wanted(now))
    if kept is feed:
        return answer({"Done": True})
    changed = replace(destination, feed=kept)
    changes: list[AnyChange] = [FeedChange(destination, changed)]
    changes += yield from with_destination(destination, changed)
    return Decision(changes, {"Done": True})


def _has_ended(destination: KinesisDestination, feed: Stream, moment: Moment) -> Fetch[bool]:
    """Whether a disabled feed has ended: all its records have been sent or are too old."""
    assert feed.disabled_at is not None, "a feed that has ended must be disabled"
    if feed.disabled_at < records.oldest_wanted(int(moment.now * 1000)):
        return True
    batch = yield from feeds.next_batch(destination, feed, moment)
    return batch.ended and not batch.records
