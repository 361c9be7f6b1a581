"""PutItem: write a whole item, in place of one with the same key."""

from typing import NamedTuple

from hashrange.engine import fetch, writes
from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.expressions import Condition
from hashrange.model import requests
from hashrange.operations import inputs, replace
from hashrange.operations.parse import decode


class Request(NamedTuple):
    given: requests.PutItem
    size: int
    condition: Condition | None
    returned: str


def parse(body: bytes) -> Request:
    given = decode(body, requests.PutItem)
    placeholders = inputs.expressions(given, ("ConditionExpression",), inputs.OLD_CONDITION)
    size = inputs.item(given.item)
    returned = inputs.returned(given, *replace.RETURN_VALUES)
    condition = inputs.condition(given, placeholders)
    return Request(given, size, condition, returned)


def decide(request: Request, moment: Moment) -> Decide:
    given = request.given
    table = yield from fetch.table(given.table_name, moment)
    return_old = given.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.put(table, given.item, request.size, request.condition, return_old)
    return (yield from replace.decide(given, request.returned, write, moment))
