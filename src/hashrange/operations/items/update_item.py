"""UpdateItem: change attributes of one item, which is created if it does not exist."""

from msgspec import Raw, Struct

from hashrange.engine import writes
from hashrange.engine.capacity import Receipt
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
    request = _check(decode(body, requests.UpdateItem))
    inputs.check_key_not_empty(request.given.key)
    if request.update and len(body) > _SHORT and request.update.statement_bytes > ITEM_BYTES_MAX:
        raise ValidationException(TOO_LARGE)
    return request


@inputs.enveloped
def _check(given: requests.UpdateItem) -> Request:
    expressed = inputs.uses_expressions(given, _NEW, _OLD)
    normalize_item(given.key)
    returned = inputs.returned(given, *RETURNED)
    placeholders = inputs.placeholders(given) if expressed else None
    if placeholders and given.condition_expression == "":
        placeholders.condition("")  # the service reports its faults before those of the update
    update: Update | None = None
    if given.attribute_updates is not None:
        update = legacy.updates(given.attribute_updates)
    elif given.update_expression is not None and placeholders:
        update = placeholders.update(given.update_expression)
    return Request(given, update, inputs.condition(given, placeholders), returned)


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    given = request.given
    return_old = given.return_values_on_condition_check_failure == "ALL_OLD"
    write = writes.update(table, given.key, request.update, request.condition, return_old)
    old = yield from writes.read_one(write)
    change = writes.decide(write, old, moment)

    def respond(receipt: Receipt) -> Response:
        response = _attributes(request, change)
        outputs.add_write(response, receipt, table, given)
        return response

    return Decision([change], respond)


def _attributes(request: Request, change: ItemChange) -> Response:
    """The image that ReturnValues asks for. If it is empty, the member is absent."""
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
