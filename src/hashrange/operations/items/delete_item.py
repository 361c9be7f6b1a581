"""DeleteItem: removes one item by its key. It also succeeds if the item does not exist."""

from msgspec import Struct

from hashrange.engine import writes
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment
from hashrange.expressions import Condition
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table
from hashrange.model.values import normalize_item
from hashrange.operations.common import inputs
from hashrange.operations.common.parse import decode
from hashrange.operations.items import old_item


class Request(Struct, gc=False):
    body: requests.DeleteItem
    condition: Condition | None
    returned: str


def parse(body: bytes) -> Request:
    request = decode(body, requests.DeleteItem)
    try:
        returned = inputs.returned(request, *old_item.RETURN_VALUES)
        expressed = inputs.uses_expressions(request, ("ConditionExpression",), inputs.OLD_CONDITION)
        normalize_item(request.key)
        placeholders = inputs.placeholders(request) if expressed else None
        condition = inputs.condition(request, placeholders)
    except ValidationException as refusal:
        raise inputs.in_envelope(request, refusal) from None
    inputs.check_key_not_empty(request.key)
    return Request(request, condition, returned)


def weight(request: Request) -> int:
    return 1 + (request.condition.operators if request.condition else 0)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    body = request.body
    return_old = body.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.delete(table, body.key, request.condition, return_old)
    old = yield from writes.read_one(write, moment)
    change = writes.decide(write, old, moment)
    return Decision([change], old_item.response(body, request.returned, table, old))
