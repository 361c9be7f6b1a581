"""ExecuteStatement: one PartiQL statement that reads a page (SELECT) or writes one item."""

from typing import NamedTuple

from msgspec import Raw

from hashrange.engine import fetch, writes
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Decision, Response
from hashrange.engine.fetch import Moment
from hashrange.expressions import partiql
from hashrange.expressions.partiql import Exists, Select, Statement
from hashrange.model import requests
from hashrange.model.errors import ConditionalCheckFailedException, ValidationException
from hashrange.operations.common import number_sets, outputs
from hashrange.operations.common.parse import decode
from hashrange.operations.partiql import select, statements
from hashrange.operations.partiql.select import Numerals, Position


class Request(NamedTuple):
    """A checked request. `start` is where the page of a SELECT begins. `writes` says whether the
    request may change items."""

    body: requests.ExecuteStatement
    statement: Statement
    numerals: Numerals
    start: Position
    writes: bool


def parse(body: bytes) -> Request:
    request = decode(body, requests.ExecuteStatement)
    numerals = select.numerals(request.parameters)
    statement = statements.bind(request.statement, request.parameters)
    if isinstance(statement, Exists):
        raise ValidationException(partiql.EXISTS_MISPLACED)
    start = select.parse_token(request, numerals)
    return Request(request, statement, numerals, start, not isinstance(statement, Select))


def weight(request: Request) -> int:
    return statements.weight(request.statement)


def decide(request: Request, moment: Moment) -> Decide:
    body, statement = request.body, request.statement
    if isinstance(statement, Select):
        numerals, start = request.numerals, request.start
        return (yield from select.decide(body, statement, numerals, start, moment))
    table = yield from fetch.table(statements.table_name(statement), moment)
    return_old = body.return_values_on_condition_check_failure == "ALL_OLD"
    write = statements.item_write(statement, table, return_old)
    old = yield from writes.read_one(write, moment)
    try:
        change = writes.decide(write, old, moment)
    except ConditionalCheckFailedException as refusal:
        raise _shown(refusal) from None
    item = statements.returned(statement, change)

    def respond(receipt: Receipt) -> Raw:
        response: Response = {"Items": [] if item is None else [item]}
        mode = body.return_consumed_capacity
        name = statements.table_name(statement)
        outputs.add_consumed(response, receipt, mode, name)
        return number_sets.in_hash_order(response)

    return Decision([change], respond)


def _shown(refusal: ConditionalCheckFailedException) -> ConditionalCheckFailedException:
    """The error in the form in which ExecuteStatement returns it. If the error has an item, its
    message is in a member `Message`, not `message`."""
    if "Item" in refusal.members:
        refusal.members["Item"] = number_sets.item_in_hash_order(refusal.members["Item"])
        refusal.message_member = "Message"
    return refusal
