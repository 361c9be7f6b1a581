"""Kinesis data streams as destinations of the changes of a table.

If the server sends records (`Settings.kinesis`), a destination has a feed, which reads the table's
change log. Otherwise, with `Settings.accept_unsupported`, a destination is stored without effect,
so that templates with destinations can be deployed. Without either setting, a destination is
refused. A table has one active destination at a time. A destination has no precision until a
request sets it. These two rules and the messages are from others' captures of the service.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import (
    AnyChange,
    Decide,
    Decision,
    FeedChange,
    LogChange,
    TableChange,
    answer,
)
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.log import feeds
from hashrange.model.errors import ValidationException
from hashrange.model.streams import Stream
from hashrange.model.tables import KinesisDestination, Table
from hashrange.model.validation import validate
from hashrange.operations import resources
from hashrange.operations.operation import Operation
from hashrange.operations.tables import stream_settings

Request = dict[str, Any]
"""The members of a request, as JSON."""

PRECISION = "ApproximateCreationDateTimePrecision"
_NOT_VALID = "Table is not in a valid state to enable Kinesis Streaming Destination: "
NOT_SENT = (
    "EnableKinesisStreamingDestination is not supported by this server: it was started without "
    "--kinesis"
)
_NOTE = (
    "the Kinesis destination {} of the table {} is stored, but no record is sent to it; to send "
    "records, start the server with --kinesis"
)


def describe(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    destinations = [
        {
            "StreamArn": each.stream_arn,
            "DestinationStatus": each.status(moment.now),
            **({PRECISION: each.precision} if each.precision else {}),
            **({"DestinationStatusDescription": each.failure} if each.failure else {}),
        }
        for each in table.kinesis
    ]
    return answer({"TableName": table.name, "KinesisDataStreamDestinations": destinations})


def enable(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    sends = moment.settings.kinesis is not None
    if not (sends or moment.settings.accept_unsupported):
        raise ValidationException(NOT_SENT)
    arn = request["StreamArn"]
    ended = ("DISABLED", "ENABLE_FAILED")
    if any(each.status(moment.now) not in ended for each in table.kinesis):
        raise ValidationException(
            f"{_NOT_VALID}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to "
            "perform ENABLE operation."
        )
    member = "EnableKinesisStreamingConfiguration"
    configuration = request.get(member) or {}
    wanted = _destination(arn, configuration.get(PRECISION), "ENABLING", moment)
    opened: list[LogChange] = []
    if sends:
        feed, opened = yield from _new_feed(table, moment)
        wanted = replace(wanted, feed=feed)
    note = None if sends else _NOTE.format(arn, table.name)
    return _changed(table, None, wanted, configuration and {member: configuration}, opened, note)


def _new_feed(table: Table, moment: Moment) -> Fetch[tuple[Stream, list[LogChange]]]:
    """A feed that begins now, and the change that opens the table's log if it is not open yet."""
    former = [each.feed for each in table.kinesis if each.feed is not None]
    previous = max(former, key=lambda feed: feed.enabled_at, default=None)
    spaces = iter((yield from fetch.new_spaces(1)))
    feed, opened = yield from stream_settings.new_reader(
        table, "NEW_AND_OLD_IMAGES", feeds.SHARD_MILLISECONDS, previous, spaces, moment
    )
    while (yield from feeds.find(table.name, feed.label)) is not None:
        # No two feeds have the same label, even if they are enabled within a millisecond.
        feed = replace(feed, enabled_at=feed.enabled_at + 1)
    return feed, opened


def disable(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    there = _find(table, request["StreamArn"])
    if there is None or there.status(moment.now) != "ACTIVE":
        raise ValidationException(
            f"{_NOT_VALID}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
        )
    feed = there.feed and stream_settings.disabled_reader(table, there.feed, moment)
    wanted = replace(_destination(there.stream_arn, None, "DISABLING", moment), feed=feed)
    return _changed(table, there, wanted, {})


def of_deleted_table(table: Table, moment: Moment) -> list[FeedChange]:
    """The changes that end a deleted table's feeds. Records that are already in the table's log are
    still sent."""
    return [
        FeedChange(
            each, replace(each, feed=stream_settings.disabled_reader(table, each.feed, moment))
        )
        for each in table.kinesis
        if each.feed is not None and each.feed.disabled_at is None
    ]


def update(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    arn = request["StreamArn"]
    there = _find(table, arn)
    if there is None or there.status(moment.now) != "ACTIVE":
        raise ValidationException(
            f"{_NOT_VALID}No streaming destination with streamArn: {arn} found for "
            f"table with tableName: {table.name}"
        )
    member = "UpdateKinesisStreamingConfiguration"
    configuration = request.get(member) or {}
    now = there.precision or "MILLISECOND"
    precision = configuration.get(PRECISION) or now
    if precision == now:
        raise ValidationException(
            "Invalid Request: Precision is already set to the desired value of "
            f"{precision} for tableId: {table.id}, kdsArn: {arn}"
        )
    wanted = replace(_destination(arn, precision, "UPDATING", moment), feed=there.feed)
    return _changed(table, there, wanted, {member: configuration})


def _find(table: Table, arn: str) -> KinesisDestination | None:
    return next((each for each in table.kinesis if each.stream_arn == arn), None)


def _destination(
    arn: str, precision: str | None, status: str, moment: Moment
) -> KinesisDestination:
    return KinesisDestination(arn, precision, status, moment.now + moment.settings.table_delay)


def _changed(
    table: Table,
    there: KinesisDestination | None,
    wanted: KinesisDestination,
    configuration: dict[str, Any],
    opened: Sequence[LogChange] = (),
    note: str | None = None,
) -> Decision:
    """The decision that sets the destination `wanted` of a table.

    `there` is the destination that `wanted` replaces; None if `wanted` is a new one.
    `configuration` is added to the response, and `opened` to the changes.
    """
    others = tuple(each for each in table.kinesis if each.stream_arn != wanted.stream_arn)
    response = {
        "TableName": table.name,
        "StreamArn": wanted.stream_arn,
        "DestinationStatus": wanted.changing,
        **configuration,
    }
    changes: list[AnyChange] = [TableChange(table, replace(table, kinesis=(*others, wanted)))]
    if wanted.feed is not None:
        changes += [FeedChange(there, wanted), *opened]
    return Decision(changes, response, note=note)


def with_destination(
    before: KinesisDestination, after: KinesisDestination
) -> Fetch[list[TableChange]]:
    """The change that replaces the destination `before` of a table. Empty if the table no longer
    has it."""
    assert before.feed is not None, "the destination must have a feed"
    table = yield from fetch.find_table(before.feed.table_name)
    if table is None or before not in table.kinesis:
        return []
    destinations = tuple(after if each == before else each for each in table.kinesis)
    return [TableChange(table, replace(table, kinesis=destinations))]


def _operation(name: str, decide: Callable[[Request, Moment], Decide], writes: bool) -> Operation:
    return Operation(
        name,
        partial(validate, name),
        decide,
        writes=writes,
        resources=resources.of_members(name, "TableName"),
    )


OPERATIONS = {
    operation.name: operation
    for operation in (
        _operation("DescribeKinesisStreamingDestination", describe, writes=False),
        _operation("DisableKinesisStreamingDestination", disable, writes=True),
        _operation("EnableKinesisStreamingDestination", enable, writes=True),
        _operation("UpdateKinesisStreamingDestination", update, writes=True),
    )
}
