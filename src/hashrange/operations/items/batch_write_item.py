"""BatchWriteItem: up to 25 puts and deletes of any tables, without conditions."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from msgspec import Struct, json, to_builtins
from msgspec.structs import replace

from hashrange.engine import fetch, keys, throughput, writes
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Decision, Response
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.writes import ItemWrite
from hashrange.model import requests
from hashrange.model.errors import (
    ApiError,
    InternalServerError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
    ValidationException,
)
from hashrange.model.limits import BATCH_WRITE_REQUESTS_MAX, ITEM_BYTES_MAX
from hashrange.model.tables import Table
from hashrange.model.values import Item
from hashrange.operations.common import inputs, outputs
from hashrange.operations.common.parse import decode
from hashrange.operations.operation import Division, Outcomes, Part

UNPROCESSED = (
    InternalServerError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
)
"""If some writes fail with one of these errors, and others succeed, the failed writes are
unprocessed: the client can repeat them."""


class BatchWrite(Struct, gc=False):
    """A put of `item`, which has `size` bytes, or a delete of `key`."""

    item: Item | None
    key: Item | None
    size: int


class Request(Struct, gc=False):
    body: requests.BatchWriteItem
    writes: dict[str, list[BatchWrite]]


@inputs.legacy_validation
def parse(body: bytes) -> Request:
    request = decode(body, requests.BatchWriteItem)
    checked = {
        name: [_write(write) for write in wanted] for name, wanted in request.request_items.items()
    }
    if sum(map(len, checked.values())) > BATCH_WRITE_REQUESTS_MAX:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    return Request(request, checked)


def _write(request: requests.WriteRequest) -> BatchWrite:
    put, delete = request.put_request, request.delete_request
    if put is not None and delete is None:
        return BatchWrite(put.item, None, inputs.item(put.item))
    if delete is not None and put is None:
        inputs.key(delete.key)
        return BatchWrite(None, delete.key, 0)
    raise ValidationException(
        "Supplied AttributeValue has more than one datatypes set, "
        "must contain exactly one of the supported datatypes"
    )


def weight(request: Request) -> int:
    return 1


def decide(request: Request, moment: Moment) -> Decide:
    tables: dict[str, Table] = {}
    for name in request.writes:
        tables[name] = yield from fetch.table(name, moment)
    wanted = [
        _item_write(tables[name], write)
        for name, group in request.writes.items()
        for write in group
    ]
    if len({(write.table.space, write.key.key) for write in wanted}) < len(wanted):
        raise ValidationException(inputs.DUPLICATES)
    unprocessed: dict[str, list[Any]] = {}
    if moment.asks_admission:
        wanted, unprocessed = yield from _admitted(request, wanted)
    before = yield from writes.read(wanted)
    changes = [writes.decide(write, old, moment) for write, old in zip(wanted, before, strict=True)]

    def respond(receipt: Receipt) -> Response:
        response: Response = {"UnprocessedItems": unprocessed}
        body = request.body
        outputs.add_consumed_list(response, receipt, body.return_consumed_capacity, tables)
        outputs.add_collections(response, receipt, tables, body.return_item_collection_metrics)
        return response

    return Decision(changes, respond)


def _admitted(
    request: Request, wanted: list[ItemWrite]
) -> Fetch[tuple[list[ItemWrite], dict[str, list[Any]]]]:
    """The writes that throttling admits, and the refused writes by table, as they are in the
    request."""
    refused = yield from throughput.admit_some([writes.admission(write) for write in wanted])
    named_writes = [
        (name, each) for name, group in request.body.request_items.items() for each in group
    ]
    unprocessed: dict[str, list[Any]] = {}
    for (name, each), refusal in zip(named_writes, refused, strict=True):
        if refusal is not None:
            unprocessed.setdefault(name, []).append(to_builtins(each))
    admitted = [write for write, refusal in zip(wanted, refused, strict=True) if refusal is None]
    return admitted, unprocessed


def _item_write(table: Table, write: BatchWrite) -> ItemWrite:
    if write.item is not None:
        keys.check_present(table, write.item)
        return writes.put(table, write.item, write.size, None, return_old=False)
    assert write.key is not None
    return writes.delete(table, write.key, None, return_old=False)


# ---- a part for each place ----


def divide(
    request: Request, tables: Mapping[str, Table], place_of: Callable[[bytes], Hashable]
) -> list[Part]:
    """Implements `Division.divide`. All writes have already been checked against the tables.

    If an item may be too large together with its entries in local indexes, the request is not
    divided. Whether it is too large is known only after a read, and by then another part of the
    invalid request could have been written.
    """
    if any(
        write.size * (1 + len(table.indexes)) > ITEM_BYTES_MAX
        for name, group in request.writes.items()
        if (table := tables[fetch.plain_name(name)]).has_local_indexes
        for write in group
    ):
        return []
    groups: dict[Hashable, dict[str, list[int]]] = {}
    for name, group in request.writes.items():
        table = tables[fetch.plain_name(name)]
        for at, write in enumerate(group):
            place = place_of(_item_write(table, write).key.key)
            groups.setdefault(place, {}).setdefault(name, []).append(at)
    return [_part(request, group) for group in groups.values()] if len(groups) > 1 else []


def _part(request: Request, numbers: Mapping[str, Sequence[int]]) -> Part:
    """A part with some writes of a request. `numbers` has their positions for each table."""
    named = request.body.request_items
    wanted = {name: [named[name][at] for at in group] for name, group in numbers.items()}
    writes = {name: [request.writes[name][at] for at in group] for name, group in numbers.items()}
    body = replace(request.body, request_items=wanted)
    return Part(Request(body, writes), json.encode(body))


def join(request: Request, parts: Sequence[Part], outcomes: Outcomes) -> bytes:
    """Implements `Division.join`."""
    failures = [outcome for outcome in outcomes if isinstance(outcome, ApiError)]
    for failure in failures:
        if len(failures) == len(outcomes) or not isinstance(failure, UNPROCESSED):
            raise failure
    response: Response = {"UnprocessedItems": {}}
    for part, outcome in zip(parts, outcomes, strict=True):
        if isinstance(outcome, ApiError):
            answered = {"UnprocessedItems": to_builtins(part.request.body.request_items)}
        else:
            answered = json.decode(outcome)
            consumed = answered.pop("ConsumedCapacity", ())
            answered["ConsumedCapacity"] = {each["TableName"]: each for each in consumed}
        response = _sum(response, answered)
    consumed = response.pop("ConsumedCapacity")
    if consumed:
        names = request.body.request_items
        response["ConsumedCapacity"] = [consumed[name] for name in names if name in consumed]
    return json.encode(response)


def _sum(one: Any, other: Any) -> Any:
    """Two parts of a response combined: numbers are added, lists joined, and objects combined by
    member."""
    if isinstance(one, dict):
        return one | {
            name: _sum(one[name], it) if name in one else it for name, it in other.items()
        }
    return one if isinstance(one, str) else one + other


DIVISION = Division(divide, join)
