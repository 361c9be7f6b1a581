"""UpdateItem: changes attributes of one item, or creates the item if it does not exist."""

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
    body: requests.UpdateItem
    update: Update | None
    condition: Condition | None
    returned: str


def parse(body: bytes) -> Request:
    request = decode(body, requests.UpdateItem)
    try:
        expressed = inputs.uses_expressions(request, _NEW, _OLD)
        normalize_item(request.key)
        returned = inputs.returned(request, *RETURNED)
        update, condition = _expressed(request) if expressed else _in_legacy_form(request)
    except ValidationException as refusal:
        raise inputs.in_envelope(request, refusal) from None
    inputs.check_key_not_empty(request.key)
    if update and len(body) > _SHORT and update.statement_bytes > ITEM_BYTES_MAX:
        raise ValidationException(TOO_LARGE)
    return Request(request, update, condition, returned)


def _expressed(request: requests.UpdateItem) -> tuple[Update | None, Condition | None]:
    """The update and the condition of a request that has expressions.

    Faults of the condition are reported first. Under legacy validation, faults of the update come
    first.
    """
    placeholders = inputs.placeholders(request)
    update: Update | None = None
    condition: Condition | None = None
    if request.condition_expression is not None and not request.legacy:
        condition = placeholders.condition(request.condition_expression)
    if request.update_expression is not None:
        update = placeholders.update(request.update_expression)
    if request.condition_expression is not None and request.legacy:
        condition = placeholders.condition(request.condition_expression)
    placeholders.finish()
    return update, condition


def _in_legacy_form(request: requests.UpdateItem) -> tuple[Update | None, Condition | None]:
    updates = request.attribute_updates
    update = None if updates is None else legacy.updates(updates)
    return update, inputs.condition(request, None)


def weight(request: Request) -> int:
    parts = (request.update, request.condition)
    return 1 + sum(part.operators for part in parts if part)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    body = request.body
    return_old = body.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.update(table, body.key, request.update, request.condition, return_old)
    old = yield from writes.read_one(write, moment)
    change = writes.decide(write, old, moment)
    return Decision([change], outputs.of_write(_attributes(request, change), table, body))


def _attributes(request: Request, change: ItemChange) -> Response:
    """A response with the attributes that ReturnValues asks for. If there are none, Attributes is
    absent."""
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
