"""GetItem: one item by its key."""

from msgspec import Raw, Struct

from hashrange.engine import fetch, keys, throughput
from hashrange.engine.capacity import Charge
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.expressions import Projection
from hashrange.model import requests
from hashrange.model.tables import Table
from hashrange.operations.common import inputs, outputs
from hashrange.operations.common.parse import decode


class Request(Struct, gc=False):
    body: requests.GetItem
    projection: Projection | None


def parse(body: bytes) -> Request:
    request = decode(body, requests.GetItem)
    expressed = inputs.uses_expressions(request, ("ProjectionExpression",), ("AttributesToGet",))
    inputs.key(request.key)
    placeholders = inputs.placeholders(request) if expressed else None
    projection = inputs.projection(request, placeholders)
    if placeholders:
        placeholders.finish()
    return Request(request, projection)


def weight(request: Request) -> int:
    return int(request.projection is not None)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    body = request.body
    key = keys.of_key(table, body.key)
    if request.projection and request.projection.containers:
        keys.check_scalar(table, request.projection.containers)
    if moment.asks_admission:
        limits = yield throughput.of_read(table, key, bool(body.consistent_read))
        if limits:
            raise throughput.error(limits)
    row = yield from fetch.item(table, key)
    response: Response = {}
    if row and request.projection:
        response["Item"] = request.projection.project(row.item)
    elif row:
        response["Item"] = Raw(row.json)
    mode = body.return_consumed_capacity
    if not mode and moment.settings.throughput == "off":
        return answer(response)
    size = row.size if row else 0
    receipt = Charge.of_read(table, key, size, bool(body.consistent_read))
    if mode:
        outputs.add_consumed(response, receipt, mode, body.table_name)
    return answer(response, receipt)
