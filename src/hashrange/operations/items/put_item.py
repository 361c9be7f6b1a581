"""PutItem: write a whole item, which replaces an item with the same key."""

from msgspec import Struct

from hashrange.engine import writes
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment
from hashrange.expressions import Condition
from hashrange.model import requests
from hashrange.model.tables import Table
from hashrange.model.values import normalize_item
from hashrange.operations.common import inputs
from hashrange.operations.common.parse import decode
from hashrange.operations.items import replace


class Request(Struct, gc=False):
    given: requests.PutItem
    size: int
    condition: Condition | None
    returned: str


def parse(body: bytes) -> Request:
    given = decode(body, requests.PutItem)
    expressed, size, returned = _check_values(given)
    inputs.check_size(size)
    return Request(given, size, _condition(given, expressed), returned)


@inputs.enveloped
def _check_values(given: requests.PutItem) -> tuple[bool, int, str]:
    expressed = inputs.uses_expressions(given, ("ConditionExpression",), inputs.OLD_CONDITION)
    size = normalize_item(given.item)
    return expressed, size, inputs.returned(given, *replace.RETURN_VALUES)


@inputs.enveloped
def _condition(given: requests.PutItem, expressed: bool) -> Condition | None:
    return inputs.condition(given, inputs.placeholders(given) if expressed else None)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    given = request.given
    return_old = given.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.put(table, given.item, request.size, request.condition, return_old)
    old = yield from writes.read_one(write)
    change = writes.decide(write, old, moment)
    return Decision([change], replace.responder(given, request.returned, write, old))
