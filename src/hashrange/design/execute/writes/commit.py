"""Commits actions: a single one as its own operation, several in one transaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

from hashrange.design.errors import BadValue, Conflict
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps
from hashrange.design.execute.writes.merged_actions import merged
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.model.values import Item

ACTIONS_MAX = 100
_OPERATIONS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}


def commit(
    actions: Sequence[WriteAction], *, token: str | None = None, transaction: bool = False
) -> Steps[dict[str, Any]]:
    """Send one action as its own operation, several as one transaction; returns the response.

    With `transaction`, a single action is sent as a transaction too. If the condition of an action
    fails and the action has no remedy, raises the error that its `error_of` makes.
    """
    while True:
        actions = merged(actions) if len(actions) > 1 else actions
        if len(actions) == 1 and not transaction and actions[0].kind in _OPERATIONS:
            response = yield from _alone(actions[0])
        else:
            response = yield from _together(actions, token)
        if not isinstance(response, _Failed):
            return response
        action = response.action
        instead = (yield from action.remedy()) if action.remedy is not None else None
        if instead is None:
            raise action.error_of(response.stored) from response.cause
        actions = [a for one in actions for a in (instead if one is action else [one])]
        token = token_after(token)


def token_after(token: str | None) -> str | None:
    """The token of the next attempt. A cancelled transaction's token cannot be used again."""
    return None if token is None else str(uuid5(NAMESPACE_OID, token))


class _Failed(NamedTuple):
    """The first action whose condition failed, with the stored item and the client's error."""

    action: WriteAction
    stored: Item | None
    cause: BaseException


def _together(actions: Sequence[WriteAction], token: str | None) -> Steps[dict[str, Any] | _Failed]:
    if len(actions) > ACTIONS_MAX:
        raise BadValue(f"{len(actions)} writes: a transaction has at most {ACTIONS_MAX}")
    items = [{a.kind: _in_transaction(a.parameters)} for a in actions]
    request: dict[str, Any] = {"TransactItems": items}
    if token is not None:
        request["ClientRequestToken"] = token
    try:
        return (yield ApiCall("TransactWriteItems", request))
    except ApiFailure as failure:
        if failure.code != "TransactionCanceledException":
            raise
        for action, reason in zip(actions, failure.reasons, strict=False):
            if reason.get("Code") == "ConditionalCheckFailed":
                return _Failed(action, reason.get("Item"), failure.original)
        if any(reason.get("Code") == "TransactionConflict" for reason in failure.reasons):
            raise Conflict("another transaction is writing the item") from failure.original
        raise


def _in_transaction(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an action as DynamoDB takes them in a transaction.

    If the condition fails, the stored item is returned.
    """
    kept = {name: value for name, value in parameters.items() if name != "ReturnValues"}
    if "ConditionExpression" in kept:
        kept["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return kept


def _alone(action: WriteAction) -> Steps[dict[str, Any] | _Failed]:
    request = dict(action.parameters)
    if "ConditionExpression" in request:
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    try:
        return (yield ApiCall(_OPERATIONS[action.kind], request))
    except ApiFailure as failure:
        if failure.code == "ConditionalCheckFailedException":
            return _Failed(action, failure.item, failure.original)
        if failure.code == "TransactionConflictException":
            raise Conflict("a transaction is writing the item") from failure.original
        raise
