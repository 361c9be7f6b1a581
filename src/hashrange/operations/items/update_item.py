"""UpdateItem: change attributes of one item, which is created if it does not exist."""

from msgspec import Raw, Struct

from hashrange.engine import writes
from hashrange.engine.decision import Decide, Decision, ItemChange, Response
from hashrange.engine.fetch import Moment
from hashrange.expressions import Condition, Update, legacy
from hashrange.expressions.updates import TOO_LARGE
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import ITEM_BYTES_MAX
from hashrange.model.tables import Table
from hashrange.model.values import Item, normalize_item
from hashrange.operations.common import inputs, outputs
from hashrange.operations.common.parse import decode

RETURNED = ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
_NEW = ("UpdateExpression", "ConditionExpression")
_OLD = ("AttributeUpdates", *inputs.OLD_CONDITION)

_SHORT = 500
"""A body of at most this many bytes cannot exceed the limit on an update's size."""


class Request(Struct, gc=False):
    given: requests.UpdateItem
    update: Update | None
    condition: Condition | None
    returned: str


def parse(body: bytes) -> Request:
    given = decode(body, requests.UpdateItem)
    update: Update | None = None
    try:
        expressed = inputs.uses_expressions(given, _NEW, _OLD)
        normalize_item(given.key)
        returned = inputs.returned(given, *RETURNED)
        placeholders = inputs.placeholders(given) if expressed else None
        if placeholders and given.condition_expression == "":
            placeholders.condition("")  # the service reports its faults before those of the update
        if given.attribute_updates is not None:
            update = legacy.updates(given.attribute_updates)
        elif given.update_expression is not None and placeholders:
            update = placeholders.update(given.update_expression)
        condition = inputs.condition(given, placeholders)
    except ValidationException as refusal:
        raise inputs.in_envelope(given, refusal) from None
    inputs.check_key_not_empty(given.key)
    if update and len(body) > _SHORT and update.statement_bytes > ITEM_BYTES_MAX:
        raise ValidationException(TOO_LARGE)
    return Request(given, update, condition, returned)


def weight(request: Request) -> int:
    parts = (request.update, request.condition)
    return 1 + sum(part.operators for part in parts if part)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    given = request.given
    return_old = given.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.update(table, given.key, request.update, request.condition, return_old)
    old = yield from writes.read_one(write, moment)
    change = writes.decide(write, old, moment)
    return Decision([change], outputs.of_write(_attributes(request, change), table, given))


def _attributes(request: Request, change: ItemChange) -> Response:
    """A response with the image that ReturnValues asks for, or without it if it is empty."""
    update, old, new = request.update, change.old, change.new
    if new is None or request.returned == "NONE":
        return {}
    image: Item = {}
    match request.returned:
        case "ALL_OLD":
            return {"Attributes": Raw(old.json)} if old else {}
        case "ALL_NEW":
            image = new
        case "UPDATED_OLD" if update and old:
            image = update.old_values(old.item)
        case "UPDATED_NEW" if update:
            image = update.new_values(new)
    return {"Attributes": image} if image else {}
