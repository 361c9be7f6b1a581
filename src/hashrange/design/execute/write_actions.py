"""Writes of single items, committed alone or together in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hashrange.design.errors import BadValue, ConditionFailed, Conflict
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps
from hashrange.model.values import AttributeValue, Item

ACTIONS_MAX = 100
Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]
_OPERATIONS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem"}


class Expression:
    """The placeholders for the names and values of a condition or an update."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: Item = {}

    def name(self, attribute: str) -> str:
        for placeholder, known in self.names.items():
            if known == attribute:
                return placeholder
        placeholder = f"#{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: AttributeValue) -> str:
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def as_read(self, attribute: str, value: AttributeValue | None) -> str:
        """A condition that the attribute has this value; None: that it is absent."""
        if value is None:
            return f"attribute_not_exists({self.name(attribute)})"
        return f"{self.name(attribute)} = {self.value(value)}"

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.names:
            found["ExpressionAttributeNames"] = self.names
        if self.values:
            found["ExpressionAttributeValues"] = self.values
        return found


@dataclass(slots=True)
class WriteAction:
    """One write. `error_of` makes the error of a failed condition from the stored item.

    `remedy` is asked once if the condition fails. It returns actions to try instead, or None.
    """

    kind: Kind
    parameters: dict[str, Any]
    key: Item
    error_of: Callable[[Item | None], ConditionFailed] = field(
        default=lambda item: Conflict("the item was changed after it was read")
    )
    remedy: "Callable[[], Steps[list[WriteAction] | None]] | None" = None


def commit(
    actions: Sequence[WriteAction], *, token: str | None = None, transaction: bool = False
) -> Steps[dict[str, Any]]:
    """Send one action as its own operation, several as one transaction; returns the response.

    Raises the `error_of` the first action whose condition failed.
    """
    while True:
        if len(actions) == 1 and not transaction:
            return (yield from _alone(actions[0]))
        response = yield from _together(actions, token)
        if not isinstance(response, _Failed):
            return response
        action = response.action
        instead = (yield from action.remedy()) if action.remedy is not None else None
        if instead is None:
            raise action.error_of(response.stored) from response.cause
        actions = [a for one in actions for a in (instead if one is action else [one])]


class _Failed(NamedTuple):
    """The first action of a transaction whose condition failed."""

    action: WriteAction
    stored: Item | None
    cause: BaseException


def _together(actions: Sequence[WriteAction], token: str | None) -> Steps[dict[str, Any] | _Failed]:
    _expect_possible(actions)
    items = [{a.kind: _without_return_values(a.parameters)} for a in actions]
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


def _without_return_values(parameters: dict[str, Any]) -> dict[str, Any]:
    """A transaction returns no items."""
    return {name: value for name, value in parameters.items() if name != "ReturnValues"}


def _alone(action: WriteAction) -> Steps[dict[str, Any]]:
    request = dict(action.parameters)
    if "ConditionExpression" in request:
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    request["ReturnConsumedCapacity"] = "TOTAL"
    try:
        return (yield ApiCall(_OPERATIONS[action.kind], request))
    except ApiFailure as failure:
        if failure.code == "ConditionalCheckFailedException":
            raise action.error_of(failure.item) from failure.original
        if failure.code == "TransactionConflictException":
            raise Conflict("a transaction is writing the item") from failure.original
        raise


def _expect_possible(actions: Sequence[WriteAction]) -> None:
    if len(actions) > ACTIONS_MAX:
        raise BadValue(f"{len(actions)} writes: a transaction has at most {ACTIONS_MAX}")
    keys = [repr(sorted(action.key.items())) for action in actions]
    twice = next((key for n, key in enumerate(keys) if key in keys[:n]), None)
    if twice is not None:
        raise BadValue(f"a transaction cannot touch an item twice: {twice}")
