"""The changes of attributes in an update, and how two updates of an item become one."""

import operator
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from hashrange.design.declare.types import number_text
from hashrange.design.errors import BadValue, ConditionFailed
from hashrange.design.execute.writes.expression import Expression
from hashrange.model.values import AttributeValue, Item

Path = tuple[str | int, ...]
"""A document path: an attribute, then names of map members and positions in lists."""


class Bounds(NamedTuple):
    """The declared bounds of a field. Each limit is a comparison and a number, e.g. (">=", 0)."""

    field: str
    limits: tuple[tuple[str, Decimal], ...]


NO_BOUNDS = Bounds("", ())
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class UpdateParts(NamedTuple):
    """The change of each attribute in an update.

    `adds` are amounts added to numbers or members added to sets. `discards` are members removed
    from sets, `appends` elements appended to lists, and `assigns` values of nested members.
    """

    sets: Mapping[str, AttributeValue] = _NOTHING
    removes: frozenset[str] = frozenset()
    adds: Mapping[str, AttributeValue] = _NOTHING
    discards: Mapping[str, AttributeValue] = _NOTHING
    appends: Mapping[str, AttributeValue] = _NOTHING
    assigns: Mapping[Path, AttributeValue] = _NOTHING
    bounds: Mapping[str, Bounds] = _NOTHING

    # ---- as text ----

    def text(self, expression: Expression) -> str:
        """The UpdateExpression."""
        clauses = []
        if self.sets or self.appends or self.assigns:
            clauses.append(f"SET {', '.join(self._settings(expression))}")
        if self.removes:
            names = [expression.name(name) for name in sorted(self.removes)]
            clauses.append(f"REMOVE {', '.join(names)}")
        if self.adds:
            clauses.append(f"ADD {_pairs(expression, self.adds)}")
        if self.discards:
            clauses.append(f"DELETE {_pairs(expression, self.discards)}")
        return " ".join(clauses)

    def _settings(self, expression: Expression) -> Iterator[str]:
        for name, value in self.sets.items():
            yield f"{expression.name(name)} = {expression.value(value)}"
        for name, value in self.appends.items():
            place, empty = expression.name(name), expression.value({"L": []})
            yield (
                f"{place} = list_append(if_not_exists({place}, {empty}), {expression.value(value)})"
            )
        for path, value in self.assigns.items():
            parts = [f"[{p}]" if isinstance(p, int) else f".{expression.name(p)}" for p in path]
            yield f"{''.join(parts)[1:]} = {expression.value(value)}"

    # ---- bounds ----

    def bound_conditions(self, expression: Expression) -> list[str]:
        """Conditions that an addition leaves each attribute within its bounds.

        An absent attribute counts as 0, as in DynamoDB's ADD.
        """
        conditions = []
        for name, amount in self._bounded():
            by = Decimal(amount["N"])
            for sign, bound in self.bounds[name].limits:
                if by == 0 or (by < 0) != (sign in (">=", ">")):
                    continue
                limit = expression.value({"N": number_text(bound - by)})
                condition = f"{expression.name(name)} {sign} {limit}"
                if COMPARE[sign](by, bound):
                    condition = f"(attribute_not_exists({expression.name(name)}) OR {condition})"
                conditions.append(condition)
        return conditions

    def outside(self, stored: Item | None) -> ConditionFailed | None:
        """The error if the update takes a field of `stored` beyond its bounds; else None."""
        for name, amount in self._bounded() if stored is not None else ():
            after = _sum((stored or {}).get(name), amount)["N"]
            for sign, bound in self.bounds[name].limits:
                if not COMPARE[sign](Decimal(after), bound):
                    where = f"{self.bounds[name].field}={after}"
                    return ConditionFailed(f"{where}: it must be {sign} {bound}", stored)
        return None

    def _bounded(self) -> Iterator[tuple[str, AttributeValue]]:
        return ((n, v) for n, v in self.adds.items() if self.bounds.get(n, NO_BOUNDS).limits)

    # ---- with another write of the same item ----

    def applied_to(self, image: Item) -> Item:
        """A stored item after the update. Raises BadValue if it assigns a nested value."""
        if self.assigns:
            raise BadValue(
                "a transaction that puts an item cannot also assign a value inside one of its maps "
                "or lists: put the item with that value"
            )
        changed = {n: v for n, v in {**image, **self.sets}.items() if n not in self.removes}
        for name, amount in self.adds.items():
            changed[name] = _sum(changed.get(name), amount)
        for name, elements in self.appends.items():
            changed[name] = _joined(changed.get(name), elements)
        for name, members in self.discards.items():
            changed |= _without(changed, name, members)
        return {name: value for name, value in changed.items() if value not in _EMPTY_SETS}

    def followed_by(self, other: "UpdateParts") -> "UpdateParts":
        """Merge two updates. Raises BadValue if they update an attribute in different ways."""
        for name in self._attributes() & other._attributes():
            if self._way(name) != other._way(name):
                raise BadValue(f"a transaction cannot update {name} in two ways")
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
        return UpdateParts(
            sets,
            removes,
            adds,
            {
                **self.discards,
                **{n: _sum(self.discards.get(n), v) for n, v in other.discards.items()},
            },
            {
                **self.appends,
                **{n: _joined(self.appends.get(n), v) for n, v in other.appends.items()},
            },
            {**self.assigns, **other.assigns},
            {**self.bounds, **other.bounds},
        )

    def _attributes(self) -> set[str]:
        nested = {str(path[0]) for path in self.assigns}
        whole = {*self.sets, *self.removes, *self.adds}
        return whole | {*self.discards, *self.appends} | nested

    def _way(self, name: str) -> str:
        if name in self.discards:
            return "discard"
        if name in self.appends:
            return "append"
        return "assign" if any(path[0] == name for path in self.assigns) else "set"


_EMPTY_SETS: tuple[AttributeValue, ...] = ({"SS": []}, {"NS": []}, {"BS": []})


def _pairs(expression: Expression, values: Mapping[str, AttributeValue]) -> str:
    return ", ".join([f"{expression.name(n)} {expression.value(v)}" for n, v in values.items()])


def _sum(known: AttributeValue | None, more: AttributeValue) -> AttributeValue:
    """The sum of numbers, or the union of sets."""
    if known is None:
        return more
    [(tag, content)] = more.items()
    if tag == "N":
        return {"N": number_text(Decimal(known["N"]) + Decimal(content))}
    return {tag: sorted({*known[tag], *content})}


def _joined(known: AttributeValue | None, more: AttributeValue) -> AttributeValue:
    return more if known is None else {"L": [*known["L"], *more["L"]]}


def _without(image: Item, name: str, members: AttributeValue) -> Item:
    [(tag, content)] = members.items()
    if name not in image:
        return {}
    return {name: {tag: [member for member in image[name][tag] if member not in content]}}
