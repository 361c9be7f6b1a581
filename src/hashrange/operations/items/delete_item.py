"""DeleteItem: removes one item by its key. It also succeeds if there is no such item."""

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
    given: requests.DeleteItem
    condition: Condition | None
    returned: str


def parse(body: bytes) -> Request:
    given = decode(body, requests.DeleteItem)
    try:
        returned = inputs.returned(given, *old_item.RETURN_VALUES)
        expressed = inputs.uses_expressions(given, ("ConditionExpression",), inputs.OLD_CONDITION)
        normalize_item(given.key)
        placeholders = inputs.placeholders(given) if expressed else None
        condition = inputs.condition(given, placeholders)
    except ValidationException as refusal:
        raise inputs.in_envelope(given, refusal) from None
    inputs.check_key_not_empty(given.key)
    return Request(given, condition, returned)


def weight(request: Request) -> int:
    return 1 + (request.condition.operators if request.condition else 0)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    given = request.given
    return_old = given.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.delete(table, given.key, request.condition, return_old)
    old = yield from writes.read_one(write, moment)
    change = writes.decide(write, old, moment)
    return Decision([change], old_item.response(given, request.returned, table, old))
