"""Kinesis data streams as destinations of the changes of a table: no table has one."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model.errors import ValidationException
from hashrange.operations.unsupported.refusals import Request, not_supported

_NOT_VALID = "Table is not in a valid state to enable Kinesis Streaming Destination: "


def describe(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    return answer({"TableName": table.name, "KinesisDataStreamDestinations": []})


def enable(request: Request, moment: Moment) -> Decide:
    yield from fetch.described_table(request["TableName"])
    raise not_supported("EnableKinesisStreamingDestination")


def disable(request: Request, moment: Moment) -> Decide:
    yield from fetch.described_table(request["TableName"])
    raise ValidationException(
        f"{_NOT_VALID}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
    )


def update(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.described_table(request["TableName"])
    raise ValidationException(
        f"{_NOT_VALID}No streaming destination with streamArn: {request['StreamArn']} found for "
        f"table with tableName: {table.name}"
    )
