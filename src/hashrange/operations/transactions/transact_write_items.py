"""TransactWriteItems: up to 100 writes and condition checks in any tables, all or none.

Each action becomes the same `ItemWrite` as the corresponding operation on a single item.
"""

from functools import partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hashrange.engine import fetch, keys, writes
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Response
from hashrange.engine.fetch import Moment
from hashrange.engine.writes import ItemWrite
from hashrange.expressions import Condition, Update
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table
from hashrange.model.validation.transactions import NO_ACTION
from hashrange.operations.common import inputs, outputs
from hashrange.operations.common.parse import decode
from hashrange.operations.transactions import cancellation, transaction

AnyAction = requests.Put | requests.Update | requests.Delete | requests.ConditionCheck


class TransactAction(NamedTuple):
    """One action, checked as far as possible without its table."""

    body: AnyAction
    size: int
    condition: Condition | None
    update: Update | None

    @property
    def weight(self) -> int:
        return 1 + sum(part.operators for part in (self.update, self.condition) if part)

    def write(self, table: Table) -> ItemWrite:
        action = self.body
        return_old = action.return_values_on_condition_check_failure == "ALL_OLD"
        if isinstance(action, requests.Put):
            return writes.put(table, action.item, self.size, self.condition, return_old)
        if isinstance(action, requests.Update):
            return writes.update(table, action.key, self.update, self.condition, return_old)
        if isinstance(action, requests.Delete):
            return writes.delete(table, action.key, self.condition, return_old)
        assert self.condition
        return writes.condition_check(table, action.key, self.condition, return_old)


_OF_UPDATE = ("UpdateExpression", "ConditionExpression")
_OF_OTHERS = ("ConditionExpression",)
_ACTIONS = ("condition_check", "put", "delete", "update")


class Request(Struct, gc=False):
    body: requests.TransactWriteItems
    actions: list[TransactAction]
    fingerprint: bytes


@inputs.legacy_validation
def parse(body: bytes) -> Request:
    request = decode(body, requests.TransactWriteItems)
    actions = [_action(item) for item in request.transact_items]
    cancellation.check_size(sum(action.size for action in actions))
    return Request(request, actions, _fingerprint(request))


def _fingerprint(request: requests.TransactWriteItems) -> bytes:
    """The fingerprint of a request that has a token; empty for other requests."""
    if request.client_request_token is None:
        return b""
    return transaction.fingerprint(
        [_with_meaning(item) for item in request.transact_items],
        request.return_consumed_capacity,
        request.return_item_collection_metrics,
    )


def _with_meaning(item: requests.TransactWriteItem) -> requests.TransactWriteItem:
    """The item without ReturnValuesOnConditionCheckFailure if it is NONE, the default."""
    for name in _ACTIONS:
        action = getattr(item, name)
        if action is not None and action.return_values_on_condition_check_failure == "NONE":
            plain = replace(action, return_values_on_condition_check_failure=None)
            return replace(item, **{name: plain})
    return item


def _action(item: requests.TransactWriteItem) -> TransactAction:
    present = [
        action
        for action in (item.condition_check, item.put, item.delete, item.update)
        if action is not None
    ]
    if len(present) != 1:
        raise ValidationException(
            "TransactItems can only contain one of Check, Put, Update or Delete"
            if present
            else NO_ACTION
        )
    action: AnyAction = present[0]
    update_too = isinstance(action, requests.Update)
    placeholders = inputs.expressions(action, _OF_UPDATE if update_too else _OF_OTHERS)
    update: Update | None = None
    if isinstance(action, requests.Update):
        assert placeholders
        update = placeholders.update(action.update_expression)
    condition: Condition | None = None
    if placeholders:
        if action.condition_expression is not None:
            condition = placeholders.condition(action.condition_expression)
        placeholders.finish()
    size = inputs.item(action.item) if isinstance(action, requests.Put) else inputs.key(action.key)
    return TransactAction(action, size, condition, update)


def weight(request: Request) -> int:
    return max(action.weight for action in request.actions)


def decide(request: Request, moment: Moment) -> Decide:
    token = transaction.ClientToken(request.body.client_request_token, request.fingerprint)
    item_writes, respond = partial(_item_writes, request, moment), partial(_respond, request)
    return (yield from transaction.decide(token, item_writes, respond, moment))


def _item_writes(
    request: Request, moment: Moment
) -> fetch.Fetch[tuple[dict[str, Table], list[ItemWrite]]]:
    """The tables by their name or ARN in the request, and the write of each action."""
    tables: dict[str, Table] = {}
    for action in request.actions:
        name = action.body.table_name
        if name not in tables:
            tables[name] = yield from fetch.table(name, moment)
    for action in request.actions:
        table = tables[action.body.table_name]
        if isinstance(action.body, requests.Put):
            keys.check_none_empty(table, action.body.item)
        elif action.update:
            keys.check_none_emptied(table, action.update.literals())
    wanted = cancellation.prepared(
        [
            cancellation.attempt(action.write, tables[action.body.table_name])
            for action in request.actions
        ]
    )
    cancellation.check_distinct([(write.table, write.key) for write in wanted])
    return tables, wanted


def _respond(request: Request, receipt: Receipt, tables: dict[str, Table]) -> Response:
    body, response = request.body, Response()
    outputs.add_consumed_list(response, receipt, body.return_consumed_capacity, tables)
    outputs.add_collections(response, receipt, tables, body.return_item_collection_metrics)
    return response
