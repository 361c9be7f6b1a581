"""Kinesis data streams as destinations of the changes of a table.

No record is sent. If the database accepts what it does not have (`Settings.accept_unsupported`), a
destination is kept as told and described again, so that templates that name one are created;
otherwise it is refused. The messages, the single destination at a time, and the precision that is
absent until it is set, were captured on the service by others.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Moment
from hashrange.model.errors import ValidationException
from hashrange.model.tables import KinesisDestination, Table
from hashrange.operations.unsupported.refusals import Request, not_supported

PRECISION = "ApproximateCreationDateTimePrecision"
_NOT_VALID = "Table is not in a valid state to enable Kinesis Streaming Destination: "
_NOTE = (
    "the Kinesis destination {} of {} is kept as told, since unsupported features are accepted: "
    "no record is sent to it"
)


def describe(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    destinations = [
        {
            "StreamArn": each.stream_arn,
            "DestinationStatus": each.status(moment.now),
            **({PRECISION: each.precision} if each.precision else {}),
        }
        for each in table.kinesis
    ]
    return answer({"TableName": table.name, "KinesisDataStreamDestinations": destinations})


def enable(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    if not moment.settings.accept_unsupported:
        raise not_supported("EnableKinesisStreamingDestination")
    arn = request["StreamArn"]
    if any(each.status(moment.now) != "DISABLED" for each in table.kinesis):
        raise ValidationException(
            f"{_NOT_VALID}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to "
            "perform ENABLE operation."
        )
    member = "EnableKinesisStreamingConfiguration"
    configuration = request.get(member) or {}
    wanted = _destination(arn, configuration.get(PRECISION), "ENABLING", moment)
    return _changed(table, wanted, configuration and {member: configuration}, _NOTE.format)


def disable(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    there = _find(table, request["StreamArn"])
    if there is None or there.status(moment.now) != "ACTIVE":
        raise ValidationException(
            f"{_NOT_VALID}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
        )
    wanted = _destination(there.stream_arn, None, "DISABLING", moment)
    return _changed(table, wanted, {})


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
    wanted = _destination(arn, precision, "UPDATING", moment)
    return _changed(table, wanted, {member: configuration})


def _find(table: Table, arn: str) -> KinesisDestination | None:
    return next((each for each in table.kinesis if each.stream_arn == arn), None)


def _destination(
    arn: str, precision: str | None, status: str, moment: Moment
) -> KinesisDestination:
    return KinesisDestination(arn, precision, status, moment.now + moment.settings.table_delay)


def _changed(
    table: Table,
    wanted: KinesisDestination,
    configuration: dict[str, Any],
    note: Callable[[str, str], str] | None = None,
) -> Decision:
    others = tuple(each for each in table.kinesis if each.stream_arn != wanted.stream_arn)
    response = {
        "TableName": table.name,
        "StreamArn": wanted.stream_arn,
        "DestinationStatus": wanted.changing,
        **configuration,
    }
    changes = [TableChange(table, replace(table, kinesis=(*others, wanted)))]
    said = note and note(wanted.stream_arn, table.name)
    return Decision(changes, response, note=said)
