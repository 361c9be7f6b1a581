"""BatchGetItem: up to 100 items of any tables by key. Keys beyond 16 MB are unprocessed."""

from collections.abc import Iterator
from typing import Any

from msgspec import Raw, Struct, to_builtins

from hashrange.engine import fetch, keys, throughput
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Fetch, Moment, Row, RowKey
from hashrange.expressions import Projection
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX
from hashrange.model.tables import Table
from hashrange.operations.common import inputs, outputs
from hashrange.operations.common.parse import decode


class Request(Struct, gc=False):
    given: requests.BatchGetItem
    projections: dict[str, Projection | None]


def parse(body: bytes) -> Request:
    given = decode(body, requests.BatchGetItem)
    tables = given.request_items
    inputs.check_one_kind(tables.values(), ("ProjectionExpression",), ("AttributesToGet",))
    for wanted in tables.values():
        for key in wanted.keys:
            inputs.key(key)
    projections: dict[str, Projection | None] = {}
    for name, wanted in tables.items():
        placeholders = inputs.expressions(wanted, ("ProjectionExpression",), ("AttributesToGet",))
        projections[name] = inputs.projection(wanted, placeholders)
        if placeholders:
            placeholders.finish()
    if sum(len(wanted.keys) for wanted in tables.values()) > BATCH_GET_KEYS_MAX:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    for wanted in tables.values():
        inputs.check_distinct(wanted.keys)
    return Request(given, projections)


def decide(request: Request, moment: Moment) -> Decide:
    tables: dict[str, Table] = {}
    for name in request.given.request_items:
        tables[name] = yield from fetch.table(name, moment)
    row_keys = {
        name: [keys.of_key(tables[name], key) for key in wanted.keys]
        for name, wanted in request.given.request_items.items()
    }
    for name, projection in request.projections.items():
        if projection and projection.containers:
            keys.check_scalar(tables[name], projection.containers)
    refused: set[tuple[str, bytes]] = set()
    if moment.settings.throughput == "enforced":
        refused = yield from _refused(request, tables, row_keys)
    rows = yield from fetch.items(
        [(tables[name], key) for name, each in row_keys.items() for key in each]
    )
    receipt = (
        Receipt()
        if request.given.return_consumed_capacity or moment.settings.throughput != "off"
        else None
    )
    response = _respond(request, tables, row_keys, refused, iter(rows), receipt)
    return answer(response, receipt)


def _refused(
    request: Request, tables: dict[str, Table], row_keys: dict[str, list[RowKey]]
) -> Fetch[set[tuple[str, bytes]]]:
    """The keys whose reads are not admitted, each with the name of its table."""
    places = [(name, key) for name, each in row_keys.items() for key in each]
    wanted = request.given.request_items
    asked = [
        throughput.of_read(tables[name], key, bool(wanted[name].consistent_read))
        for name, key in places
    ]
    refusals = yield from throughput.admit_some(asked)
    return {
        (name, key.key)
        for (name, key), refusal in zip(places, refusals, strict=True)
        if refusal is not None
    }


def _respond(
    request: Request,
    tables: dict[str, Table],
    row_keys: dict[str, list[RowKey]],
    refused: set[tuple[str, bytes]],
    rows: Iterator[Row | None],
    receipt: Receipt | None,
) -> Response:
    """Rows are in the request's order. From the row that exceeds 16 MB on, keys are unprocessed.

    So are those that throughput has `refused`.
    """
    given = request.given
    responses: dict[str, list[Any]] = {}
    unprocessed: dict[str, Any] = {}
    size = 0
    for name, wanted in given.request_items.items():
        responses[name] = found = []
        left = []
        projection = request.projections[name]
        for key, row_key in zip(wanted.keys, row_keys[name], strict=True):
            row = next(rows)
            if (name, row_key.key) in refused:
                left.append(key)
                continue
            if size > BATCH_GET_BYTES_MAX or (
                size and row and size + row.size > BATCH_GET_BYTES_MAX
            ):
                size = BATCH_GET_BYTES_MAX + 1
                left.append(key)
                continue
            if receipt is not None:
                row_size = row.size if row else 0
                receipt.add_read(tables[name], row_key, row_size, bool(wanted.consistent_read))
            if row:
                size += row.size
                found.append(projection.project(row.item) if projection else Raw(row.json))
        if left:
            unprocessed[name] = {**to_builtins(wanted), "Keys": left}
    response: Response = {"Responses": responses, "UnprocessedKeys": unprocessed}
    if receipt is not None:
        outputs.add_consumed_list(response, receipt, given.return_consumed_capacity, tables)
    return response
