"""BatchGetItem: up to 100 items of any tables by key. Keys of items beyond 16 MB are unprocessed.

The JSON of the items has a second limit, `RESPONSE_BYTES_MAX`. Only items with very many tiny
values reach it: the JSON `{"NULL":true}` is fourteen times as long as the size that DynamoDB counts
for it.
"""

from typing import Any

from msgspec import Raw, Struct, to_builtins

from hashrange.engine import fetch, keys, throughput
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace.keys import RowKey
from hashrange.expressions import Projection
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX
from hashrange.model.tables import Table
from hashrange.operations.common import inputs, outputs
from hashrange.operations.common.parse import decode

RESPONSE_BYTES_MAX = 2 * BATCH_GET_BYTES_MAX


class Request(Struct, gc=False):
    body: requests.BatchGetItem
    projections: dict[str, Projection | None]


def parse(body: bytes) -> Request:
    request = decode(body, requests.BatchGetItem)
    tables = request.request_items
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
    return Request(request, projections)


def weight(request: Request) -> int:
    return int(any(request.projections.values()))


def decide(request: Request, moment: Moment) -> Decide:
    tables: dict[str, Table] = {}
    for name in request.body.request_items:
        tables[name] = yield from fetch.table(name, moment)
    row_keys = {
        name: [keys.of_key(tables[name], key) for key in wanted.keys]
        for name, wanted in request.body.request_items.items()
    }
    for name, projection in request.projections.items():
        if projection and projection.containers:
            keys.check_scalar(tables[name], projection.containers)
    refused: set[tuple[str, bytes]] = set()
    if moment.asks_admission:
        refused = yield from _refused(request, tables, row_keys)
    receipt = (
        Receipt()
        if request.body.return_consumed_capacity or moment.settings.throughput != "off"
        else None
    )
    response = yield from _read(request, tables, row_keys, refused, receipt)
    if receipt is not None:
        outputs.add_consumed_list(response, receipt, request.body.return_consumed_capacity, tables)
    return answer(response, receipt)


def _refused(
    request: Request, tables: dict[str, Table], row_keys: dict[str, list[RowKey]]
) -> Fetch[set[tuple[str, bytes]]]:
    """The keys that throttling refuses, each with the name of its table."""
    places = [(name, key) for name, each in row_keys.items() for key in each]
    wanted = request.body.request_items
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


def _read(
    request: Request,
    tables: dict[str, Table],
    row_keys: dict[str, list[RowKey]],
    refused: set[tuple[str, bytes]],
    receipt: Receipt | None,
) -> Fetch[Response]:
    """Read rows in the order of the request, in steps.

    The first key whose row exceeds a limit and all keys after it are unprocessed, as are the
    `refused` keys.
    """
    responses: dict[str, list[Any]] = {name: [] for name in row_keys}
    places = [(name, at) for name, each in row_keys.items() for at in range(len(each))]
    wanted = places
    if refused:
        wanted = [
            (name, at) for name, at in places if (name, row_keys[name][at].key) not in refused
        ]
    done = size = stored_bytes = 0
    full = False
    while done < len(wanted) and not full:
        step = wanted[done : done + fetch.keys_per_step(done, stored_bytes)]
        keys_of_step = [(tables[name], row_keys[name][at]) for name, at in step]
        rows = yield from fetch.some_items(keys_of_step)
        for (name, at), row in zip(step, rows, strict=True):
            row_size = row.size if row else 0
            row_bytes = row.stored_bytes if row else 0
            too_large = size + row_size > BATCH_GET_BYTES_MAX
            if size and (too_large or stored_bytes + row_bytes > RESPONSE_BYTES_MAX):
                full = True
                break
            done += 1
            size += row_size
            if receipt is not None:
                consistent = bool(request.body.request_items[name].consistent_read)
                receipt.add_read(tables[name], row_keys[name][at], row_size, consistent)
            if row:
                stored_bytes += row_bytes
                projection = request.projections[name]
                shown: Any = Raw(row.json)
                if projection:
                    shown = yield from outputs.shown(row, projection.project)
                responses[name].append(shown)
    left = wanted[done:]
    if refused:
        processed = set(wanted[:done])
        left = [place for place in places if place not in processed]
    return {"Responses": responses, "UnprocessedKeys": _unprocessed(request, left)}


def _unprocessed(request: Request, left: list[tuple[str, int]]) -> dict[str, Any]:
    unprocessed: dict[str, Any] = {}
    for name, at in left:
        wanted = request.body.request_items[name]
        if name not in unprocessed:
            unprocessed[name] = {**to_builtins(wanted), "Keys": []}
        unprocessed[name]["Keys"].append(wanted.keys[at])
    return unprocessed
