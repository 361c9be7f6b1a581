"""TransactGetItems: up to 100 items of any tables by key, as of one moment."""

from typing import Any

from msgspec import Raw, Struct

from hashrange.engine import fetch, keys, throughput
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row
from hashrange.expressions import Projection
from hashrange.model import requests
from hashrange.model.limits import TRANSACTION_BYTES_MAX
from hashrange.model.tables import Table
from hashrange.operations.common import inputs, number_sets, outputs
from hashrange.operations.common.parse import decode
from hashrange.operations.transactions import cancellation


class Request(Struct, gc=False):
    body: requests.TransactGetItems
    projections: list[Projection | None]


@inputs.legacy_validation
def parse(body: bytes) -> Request:
    request = decode(body, requests.TransactGetItems)
    projections: list[Projection | None] = []
    for action in request.transact_items:
        placeholders = inputs.expressions(action.get, ("ProjectionExpression",))
        inputs.key(action.get.key)
        projections.append(inputs.projection(action.get, placeholders))
        if placeholders:
            placeholders.finish()
    return Request(request, projections)


def weight(request: Request) -> int:
    return 1  # number sets are put in another order


def decide(request: Request, moment: Moment) -> Decide:
    gets = [action.get for action in request.body.transact_items]
    tables: list[Table] = []
    for get in gets:
        tables.append((yield from fetch.table(get.table_name, moment)))
    targets = [
        cancellation.attempt(_row_key, *each)
        for each in zip(tables, gets, request.projections, strict=True)
    ]
    places = list(zip(tables, cancellation.prepared(targets), strict=True))
    cancellation.check_distinct(places)
    if moment.asks_admission:
        asked = [throughput.of_read(table, key, consistent=True) for table, key in places]
        yield from throughput.admit_transaction(asked)
    rows = yield from fetch.items_of_one_moment(
        places, TRANSACTION_BYTES_MAX, cancellation.check_read
    )
    return (yield from _respond(request, places, rows))


def _row_key(table: Table, get: requests.Get, projection: Projection | None) -> RowKey:
    row_key = keys.of_key(table, get.key)
    if projection and projection.containers:
        keys.check_scalar(table, projection.containers)
    return row_key


def _respond(
    request: Request, places: list[tuple[Table, RowKey]], rows: list[Row | None]
) -> Decide:
    receipt = Receipt(transactional=True)
    responses: list[dict[str, Any]] = []
    for (table, key), row, projection in zip(places, rows, request.projections, strict=True):
        receipt.add_read(table, key, row.size if row else 0, consistent=True)
        shown: Any = None
        if row is not None:
            shown = Raw(row.json)
            if projection:
                shown = yield from outputs.shown(row, projection.project)
        responses.append({"Item": shown} if shown else {})  # unlike GetItem, never an empty item
    response: Response = {"Responses": responses}
    tables = {
        action.get.table_name: table
        for action, (table, _) in zip(request.body.transact_items, places, strict=True)
    }
    outputs.add_consumed_list(response, receipt, request.body.return_consumed_capacity, tables)
    return answer(number_sets.in_hash_order(response), receipt)
