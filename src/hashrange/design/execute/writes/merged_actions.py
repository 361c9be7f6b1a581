"""Merges the actions on one item into one, because a transaction can write an item only once."""

from collections.abc import Callable, Sequence

from hashrange.design.errors import BadValue, ConditionFailed
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.write_actions import WriteAction, update_action
from hashrange.model.values import Item


def merged(actions: Sequence[WriteAction]) -> list[WriteAction]:
    """One action for each item, in the order in which the items first occur.

    All conditions apply to the item as it was stored before. Raises BadValue for actions that
    cannot be merged.
    """
    by_item: dict[str, WriteAction] = {}
    for action in actions:
        name = f"{action.parameters['TableName']} {sorted(action.key.items())!r}"
        by_item[name] = _merge(by_item[name], action) if name in by_item else action
    return list(by_item.values())


def _merge(first: WriteAction, second: WriteAction) -> WriteAction:
    if first.marker and second.marker:
        return _merge_markers(first, second)
    kinds = (first.kind, second.kind)
    if any(action.kind == "Update" and action.parts is None for action in (first, second)):
        raise BadValue(
            f"add_or_create must be the only action on an item in a transaction: {first.key}"
        )
    if second.kind == "ConditionCheck":
        return _with_conditions(first, first, second)
    if first.kind == "ConditionCheck":
        return _with_conditions(second, first, second)
    if kinds == ("Put", "Update") and second.parts is not None:
        outside = second.parts.outside(first.parameters["Item"])
        if outside is not None:
            raise outside
        item = second.parts.applied_to(first.parameters["Item"])
        return first.replace({**first.parameters, "Item": item})
    if kinds == ("Update", "Update"):
        return _merge_updates(first, second)
    if kinds in (("Update", "Put"), ("Put", "Delete"), ("Update", "Delete")):
        return _with_conditions(second, first, second)
    if kinds == ("Delete", "Put"):
        return _with_conditions(second, first)
    if kinds == ("Delete", "Delete"):
        return first
    raise BadValue(f"a transaction cannot write an item twice: {first.key}")


def _merge_markers(first: WriteAction, second: WriteAction) -> WriteAction:
    """Merge two items' actions on one marker: one may delete it, and the other put it."""
    if first.kind == second.kind == "Put":
        raise second.error_of(None)
    put = first if first.kind == "Put" else second
    given_up = second if put is first else first
    return _with_conditions(put, given_up) if put.kind == "Put" else first


def _merge_updates(first: WriteAction, second: WriteAction) -> WriteAction:
    assert first.parts is not None
    assert second.parts is not None
    expression = Expression()
    parts = first.parts.followed_by(second.parts)
    conditions = [expression.adopt(action.own_condition()) for action in (first, second)]
    return update_action(
        first.parameters["TableName"],
        first.key,
        parts,
        [f"({condition})" for condition in conditions],
        expression,
        first.error_of,
    )


def _with_conditions(action: WriteAction, *sources: WriteAction) -> WriteAction:
    """The action with the conditions of `sources` instead of its own."""
    expression = Expression()
    conditions = [
        f"({expression.adopt(source.own_condition())})"
        for source in sources
        if "ConditionExpression" in source.parameters
    ]
    if action.parts is not None:
        table = action.parameters["TableName"]
        merged = update_action(
            table, action.key, action.parts, conditions, expression, action.error_of
        )
    else:
        kept = {n: v for n, v in action.parameters.items() if n in ("TableName", "Key", "Item")}
        if conditions:
            kept["ConditionExpression"] = " AND ".join(conditions)
        merged = action.replace({**kept, **expression.parameters()})
    checks = [source for source in sources if source.kind == "ConditionCheck"]
    if checks:
        merged.error_of = _error_of(action, checks)
    if action.kind == "ConditionCheck":
        merged.holds = _all_hold(checks)
    return merged


def _error_of(
    action: WriteAction, checks: Sequence[WriteAction]
) -> Callable[[Item | None], ConditionFailed]:
    """Make the error of the first failed check or, if none of the checks failed, of the action."""

    def error_of(stored: Item | None) -> ConditionFailed:
        if stored is None and action.kind == "Update":
            return action.error_of(None)
        for check in checks:
            if stored is None or check.holds is None or not check.holds(stored):
                return check.error_of(stored)
        return action.error_of(stored)

    return error_of


def _all_hold(checks: Sequence[WriteAction]) -> Callable[[Item], bool] | None:
    known = [check.holds for check in checks if check.holds is not None]
    if len(known) < len(checks):
        return None
    return lambda stored: all(holds(stored) for holds in known)
