"""Requests on Kinesis feeds: list feeds, read records to send, store positions, end a failed
feed."""

from typing import Any

import msgspec
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine.decision import (
    AnyChange,
    Decide,
    Decision,
    FeedChange,
    FeedPosition,
    LogChange,
    answer,
)
from hashrange.engine.fetch import Moment
from hashrange.engine.log import feeds
from hashrange.operations.tables.kinesis import with_destination
from hashrange.operations.upkeep import trim_stream


class Request(msgspec.Struct, rename="pascal"):
    """A request about the feed `label` of a table. `positions` are the feed's positions after a
    sent batch. `reason` says why the feed failed, if it did."""

    table_name: str
    label: str
    positions: dict[int, bytes] = {}
    reason: str = ""


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def parse_listed(body: bytes) -> None:
    return None


def decide_listed(request: None, moment: Moment) -> Decide:
    """The feeds of the database. A disabled feed is included until its last record has been
    sent."""
    listed = yield from feeds.listed()
    return answer(
        {
            "Feeds": [
                {
                    "TableName": feed.table_name,
                    "Label": feed.label,
                    "StreamArn": destination.stream_arn,
                }
                for destination, feed in listed
                if destination.status(moment.now) != "ENABLING"
            ]
        }
    )


def decide_batch(request: Request, moment: Moment) -> Decide:
    """The next records of a feed, and its positions after them; no positions if they would not
    change.

    `Fresh` says that no position is stored yet, `More` that the log has more records.
    """
    destination = yield from feeds.find(request.table_name, request.label)
    if destination is None or destination.feed is None:
        return answer({"Records": [], "Positions": {}, "Fresh": False, "More": False})
    batch = yield from feeds.next_batch(destination, destination.feed, moment)
    before = yield from feeds.positions(destination.feed)
    changed = batch.positions if batch.positions != before else {}
    response: dict[str, Any] = {"Records": batch.records, "Positions": changed}
    return answer({**response, "Fresh": not before, "More": batch.more})


def decide_sent(request: Request, moment: Moment) -> Decide:
    """Stores the positions of a feed. A stored position never moves backwards."""
    destination = yield from feeds.find(request.table_name, request.label)
    if destination is None or destination.feed is None:
        return answer({})
    before = yield from feeds.positions(destination.feed)
    after = feeds.later(before, request.positions)
    return Decision([FeedPosition(destination.feed, after)] if after != before else [], {})


def decide_failed(request: Request, moment: Moment) -> Decide:
    """Ends a feed that cannot send anything. The status of its destination becomes
    ENABLE_FAILED."""
    destination = yield from feeds.find(request.table_name, request.label)
    if destination is None or destination.feed is None:
        return answer({})
    failed = replace(destination, failure=request.reason, feed=None)
    changes: list[AnyChange] = [FeedChange(destination, None)]
    changes += yield from with_destination(destination, failed)
    if not (yield from trim_stream.has_other_readers(destination.feed)):
        changes.append(LogChange(destination.feed.log, None))
    return Decision(changes, {})
