"""A function for AWS Lambda that handles the records of a table's stream."""

from collections.abc import Callable, Mapping
from typing import Any

from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import Steps, run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.streams.dispatch import Dispatcher
from hashrange.design.streams.progress import advance, is_behind, last, receipt_key
from hashrange.design.table import Table

Event = Mapping[str, Any]


def lambda_handler(
    table: Table, connection: Any, *, reader: str = "lambda"
) -> Callable[[Event, Any], dict[str, Any]]:
    """A Lambda function for an event source mapping with ReportBatchItemFailures.

    It updates copies and calls the handlers of `st.on`, in order. If a handler raises an error, the
    error is written to standard output as JSON, and Lambda repeats the batch from that record on. A
    change is not handled again after it was handled completely: the table has an item with the last
    handled sequence number of each changed item.
    """
    core = StoreSteps(table.model, [], None, None)
    dispatcher = Dispatcher(core)
    client = connect(connection)

    def handler(event: Event, context: Any) -> dict[str, Any]:
        for record in event["Records"]:
            try:
                run(_handle(dispatcher, record, reader), client)
            except Exception as error:  # a handler can raise any error
                sequence = record["dynamodb"]["SequenceNumber"]
                _report(table, sequence, error)
                return {"batchItemFailures": [{"itemIdentifier": sequence}]}
        return {"batchItemFailures": []}

    return handler


def _handle(dispatcher: Dispatcher, record: Event, reader: str) -> Steps[None]:
    change = dispatcher.change(record)
    if change is None:
        return
    model = dispatcher.model
    key = receipt_key(model, reader, record["dynamodb"]["Keys"])
    handled = yield from last(model, key)
    if is_behind(handled, change.sequence):
        yield from dispatcher.handle(change)
        yield from advance(model, key, change.sequence)


def _report(table: Table, sequence: str, error: Exception) -> None:
    import json  # only for an error

    message = f"{type(error).__name__}: {error}"
    print(json.dumps({"table": table.name, "sequence": sequence, "error": message}))
