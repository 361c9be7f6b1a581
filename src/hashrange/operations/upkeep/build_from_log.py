"""The steps of building an index from the index log (see `engine.indexes.propagation`).

The first step reads only the keys of the table's next items, so that no writer of these items has
to wait. Then, for each PostgreSQL slot of these keys, one step appends a record for each item in
the slot. So each step writes in one slot only. Then the first step is repeated.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import Backfill, Decide, Decision, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.indexes import backfill, propagation
from hashrange.model.tables import Index, Table

NOTED_SECONDS = 60.0
"""The interval, in seconds, at which the progress of the build is noted in the table's
definition."""
LAG_SECONDS_MAX = 2.0
"""The largest age of a record in the index log with which the build goes on. If a record is older,
the build waits, because otherwise writers would be throttled."""
PATIENCE_SECONDS = 10.0
"""The longest time, in seconds, that a step of the build waits for the log."""


class Progress(msgspec.Struct, rename="pascal"):
    """How far the build of the index with this space has come.

    `start` is the key at which the build continues; None if there are no more items. `noted_at` is
    the time at which the progress was last stored in the table's definition. `waits_since` is the
    time at which the build began to wait for the log. Times are in epoch seconds.
    """

    space: int
    start: bytes | None
    noted_at: float | None = None
    waits_since: float | None = None


class FindRequest(Progress, rename="pascal", kw_only=True):
    table_name: str
    index_name: str


class AppendRequest(msgspec.Struct, rename="pascal"):
    """`keys` are the keys of the items, in order, for which records are to be appended to the log.
    `resume` is the progress of the build after these records."""

    table_name: str
    index_name: str
    keys: Sequence[bytes]
    resume: Progress


def parse_find(body: bytes) -> FindRequest:
    return decoder(FindRequest).decode(body)


def decide_find(request: FindRequest, moment: Moment) -> Decide:
    table, index = yield from _find(request, request.space)
    if table is None or index is None:
        return answer({"Done": True})
    if request.noted_at is None:
        request.noted_at = moment.now
    if (yield from _waits(request, table, index, moment)):
        since = moment.now if request.waits_since is None else request.waits_since
        progress = Progress(index.space, request.start, request.noted_at, since)
        return answer({"Done": False, "Resume": progress})
    is_due = moment.now > request.noted_at + NOTED_SECONDS
    if request.start is None or index.scanned or is_due:
        built_to = None if index.scanned else request.start
        reached = {"Space": index.space, "BuiltTo": built_to, "Scanned": index.scanned}
        return _next("upkeep.BuildIndex", request, reached)
    keys, rest = yield from backfill.next_keys(table, request.start)
    return _append(request, keys, Progress(index.space, rest, request.noted_at))


def _waits(request: FindRequest, table: Table, index: Index, moment: Moment) -> Fetch[bool]:
    """Whether the build must wait until records of the log have been applied to the index."""
    if index.scanned:
        return (yield from propagation.is_any_early(table))
    if request.waits_since is not None and moment.now > request.waits_since + PATIENCE_SECONDS:
        return False
    oldest = yield from propagation.oldest(table)
    return oldest is not None and moment.now > oldest + LAG_SECONDS_MAX


def parse_append(body: bytes) -> AppendRequest:
    return decoder(AppendRequest).decode(body)


def decide_append(request: AppendRequest, moment: Moment) -> Decide:
    table, index = yield from _find(request, request.resume.space)
    if table is None or index is None:
        return answer({"Done": True})
    items, left = yield from backfill.items_of_one_slot(table, request.keys)
    following = _append(request, left, request.resume)
    return Decision([Backfill(table, index, items)], following.respond)


def _find(
    request: FindRequest | AppendRequest, space: int
) -> Fetch[tuple[Table | None, Index | None]]:
    """The table, and its index with this space. The index is None unless it is being built from the
    log."""
    table = yield from fetch.find_table(request.table_name)
    found = table.built_from_log if table is not None else ()
    return table, next((index for index in found if index.space == space), None)


def _append(
    request: FindRequest | AppendRequest, keys: Sequence[bytes], progress: Progress
) -> Decision:
    if not keys:
        return answer({"Done": False, "Resume": progress})
    return _next("upkeep.AppendBuild", request, {"Keys": keys, "Resume": progress})


def _next(
    operation: str, request: FindRequest | AppendRequest, members: dict[str, Any]
) -> Decision:
    body = {"TableName": request.table_name, "IndexName": request.index_name, **members}
    return answer({"Done": False, "Next": {"Operation": operation, "Body": body}})
