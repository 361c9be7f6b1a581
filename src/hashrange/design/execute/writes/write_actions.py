"""Writes of single items, committed alone or together in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hashrange.design.errors import ConditionFailed, Conflict
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.update_parts import UpdateParts
from hashrange.model.values import Item

Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]


ErrorOf = Callable[[Item | None], ConditionFailed]
"""A function from the stored item to the error for a failed condition."""


@dataclass(slots=True)
class WriteAction:
    """One write. `error_of` makes the error for a failed condition from the stored item.

    If the condition fails, `remedy` is called once. It returns actions to try instead, or None.
    """

    kind: Kind
    parameters: dict[str, Any]
    key: Item
    error_of: ErrorOf = field(
        default=lambda item: Conflict("the item was changed after it was read")
    )
    remedy: "Callable[[], Steps[list[WriteAction] | None]] | None" = None
    parts: UpdateParts | None = None
    marker: bool = False
    holds: Callable[[Item], bool] | None = None
    """Whether a stored item satisfies the condition. Only set for a check that a caller wants."""
    base_condition: str = ""
    """The condition of an update, without the conditions that keep fields within their bounds."""

    def own_condition(self) -> dict[str, Any]:
        """The parameters without the conditions that keep fields within their bounds."""
        if not self.base_condition:
            return self.parameters
        return {**self.parameters, "ConditionExpression": self.base_condition}

    def replace(self, parameters: dict[str, Any]) -> "WriteAction":
        """The same action with other parameters, and without a remedy."""
        return replace(self, parameters=parameters, remedy=None)


def update_action(
    table: str,
    key: Item,
    parts: UpdateParts,
    conditions: Sequence[str],
    expression: Expression,
    error_of: ErrorOf,
) -> WriteAction:
    """An update whose response has the new item.

    `conditions` are texts that use the placeholders of `expression`.
    """
    base = " AND ".join(conditions)
    conditions = [*conditions, *parts.bound_conditions(expression)]
    parameters = {
        "TableName": table,
        "Key": key,
        "UpdateExpression": parts.text(expression),
        "ConditionExpression": " AND ".join(conditions),
        "ReturnValues": "ALL_NEW",
        **expression.parameters(),
    }

    def error(stored: Item | None) -> ConditionFailed:
        return parts.outside(stored) or error_of(stored)

    return WriteAction("Update", parameters, key, error, parts=parts, base_condition=base)
