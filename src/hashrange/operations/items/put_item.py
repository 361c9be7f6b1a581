"""PutItem: writes a whole item and replaces any item with the same key."""

from msgspec import Struct

from hashrange.engine import writes
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment
from hashrange.engine.writes import PUT_TOO_LARGE
from hashrange.expressions import Condition
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import ITEM_BYTES_MAX
from hashrange.model.tables import Table
from hashrange.model.values import normalize_item
from hashrange.operations.common import inputs
from hashrange.operations.common.parse import decode
from hashrange.operations.items import old_item


class Request(Struct, gc=False):
    body: requests.PutItem
    size: int
    condition: Condition | None
    returned: str


def parse(body: bytes) -> Request:
    request = decode(body, requests.PutItem)
    try:
        expressed = inputs.uses_expressions(request, ("ConditionExpression",), inputs.OLD_CONDITION)
        size = normalize_item(request.item)
        returned = inputs.returned(request, *old_item.RETURN_VALUES)
        if size <= ITEM_BYTES_MAX:  # checked before the condition, but reported without `ENVELOPE`
            placeholders = inputs.placeholders(request) if expressed else None
            return Request(request, size, inputs.condition(request, placeholders), returned)
    except ValidationException as refusal:
        raise inputs.in_envelope(request, refusal) from None
    raise ValidationException(PUT_TOO_LARGE)


def weight(request: Request) -> int:
    return 1 + (request.condition.operators if request.condition else 0)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    body = request.body
    return_old = body.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.put(table, body.item, request.size, request.condition, return_old)
    old = yield from writes.read_one(write, moment)
    change = writes.decide(write, old, moment)
    return Decision([change], old_item.response(body, request.returned, table, old))
