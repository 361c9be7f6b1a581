"""Writes of single items, committed alone or together in one transaction."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from hashrange.design.declare.types import number_text
from hashrange.design.errors import ConditionFailed, Conflict
from hashrange.design.execute.steps import Steps
from hashrange.model.values import AttributeValue, Item

Kind = Literal["Put", "Update", "Delete", "ConditionCheck"]


ErrorOf = Callable[[Item | None], ConditionFailed]
"""Makes the error of a failed condition from the stored item."""
_PLACEHOLDER = re.compile(r"[#:]\w+")


class Expression:
    """The placeholders for the names and values of a condition or an update."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: Item = {}

    def adopt(self, parameters: dict[str, Any]) -> str:
        """The condition of other parameters, with placeholders of this expression."""
        names = parameters.get("ExpressionAttributeNames", {})
        values = parameters.get("ExpressionAttributeValues", {})
        taken: dict[str, str] = {}

        def placeholder(match: re.Match[str]) -> str:
            text = match[0]
            if text not in taken:
                is_name = text[0] == "#"
                taken[text] = self.name(names[text]) if is_name else self.value(values[text])
            return taken[text]

        return _PLACEHOLDER.sub(placeholder, parameters["ConditionExpression"])

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
    error_of: ErrorOf = field(
        default=lambda item: Conflict("the item was changed after it was read")
    )
    remedy: "Callable[[], Steps[list[WriteAction] | None]] | None" = None
    parts: "UpdateParts | None" = None
    marker: bool = False
    holds: Callable[[Item], bool] | None = None
    """Whether a stored item satisfies the condition, for a check that a caller asked for."""
    base_condition: str = ""
    """An update's condition without those that keep its bounds."""

    def own_condition(self) -> dict[str, Any]:
        """The parameters, without conditions that follow from the update itself."""
        if not self.base_condition:
            return self.parameters
        return {**self.parameters, "ConditionExpression": self.base_condition}

    def replace(self, parameters: dict[str, Any]) -> "WriteAction":
        """The same action with other parameters."""
        return replace(self, parameters=parameters, remedy=None)


class Bounds(NamedTuple):
    """The declared bounds of a field: `field` is its name, each limit a sign and a number."""

    field: str
    limits: tuple[tuple[str, Decimal], ...]


NO_BOUNDS = Bounds("", ())
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


@dataclass(frozen=True)
class UpdateParts:
    """What an update does with each attribute."""

    sets: Mapping[str, AttributeValue] = field(default_factory=dict)
    removes: frozenset[str] = frozenset()
    adds: Mapping[str, AttributeValue] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    def bound_conditions(self, expression: Expression) -> list[str]:
        """Conditions that what is added leaves each attribute within its bounds.

        An absent attribute counts as 0, as it does for ADD.
        """
        found = []
        for name, amount in self.adds.items():
            by = Decimal(amount["N"])
            for sign, bound in self.bounds.get(name, NO_BOUNDS).limits:
                if by == 0 or (by < 0) != (sign in (">=", ">")):
                    continue
                limit = expression.value({"N": number_text(bound - by)})
                condition = f"{expression.name(name)} {sign} {limit}"
                if COMPARE[sign](by, bound):
                    condition = f"(attribute_not_exists({expression.name(name)}) OR {condition})"
                found.append(condition)
        return found

    def outside(self, stored: Item | None) -> ConditionFailed | None:
        """The error if the update would leave the declared bounds of a field."""
        for name in self.adds if stored is not None else ():
            after = self.applied_to(stored or {})[name]["N"]
            bounds = self.bounds.get(name, NO_BOUNDS)
            for sign, bound in bounds.limits:
                if not COMPARE[sign](Decimal(after), bound):
                    where = f"{bounds.field}={after}"
                    return ConditionFailed(f"{where}: it must be {sign} {bound}", stored)
        return None

    def text(self, expression: Expression) -> str:
        """The UpdateExpression."""
        clauses = []
        if self.sets:
            pairs = [f"{expression.name(n)} = {expression.value(v)}" for n, v in self.sets.items()]
            clauses.append(f"SET {', '.join(pairs)}")
        if self.removes:
            removed = [expression.name(name) for name in sorted(self.removes)]
            clauses.append(f"REMOVE {', '.join(removed)}")
        if self.adds:
            pairs = [f"{expression.name(n)} {expression.value(v)}" for n, v in self.adds.items()]
            clauses.append(f"ADD {', '.join(pairs)}")
        return " ".join(clauses)

    def applied_to(self, image: Item) -> Item:
        """A stored item after the update."""
        changed = {n: v for n, v in {**image, **self.sets}.items() if n not in self.removes}
        for name, amount in self.adds.items():
            changed[name] = _sum(changed.get(name), amount)
        return changed

    def followed_by(self, other: "UpdateParts") -> "UpdateParts":
        """Both updates as one."""
        sets = {n: v for n, v in self.sets.items() if n not in other.removes} | dict(other.sets)
        removes = (self.removes - set(other.sets)) | other.removes
        adds = {n: v for n, v in self.adds.items() if n not in {*other.sets, *other.removes}}
        for name, amount in other.adds.items():
            if name in sets:
                sets[name] = _sum(sets[name], amount)
            elif name in removes:
                sets[name], removes = amount, removes - {name}
            else:
                adds[name] = _sum(adds.get(name), amount)
        return UpdateParts(sets, removes, adds, {**self.bounds, **other.bounds})


def _sum(known: AttributeValue | None, amount: AttributeValue) -> AttributeValue:
    if known is None:
        return amount
    return {"N": number_text(Decimal(known["N"]) + Decimal(amount["N"]))}


def update_action(
    table: str,
    key: Item,
    parts: UpdateParts,
    conditions: Sequence[str],
    expression: Expression,
    error_of: ErrorOf,
) -> WriteAction:
    """An update under conditions in the placeholders of `expression`. It returns the new item."""
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
