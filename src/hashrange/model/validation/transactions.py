"""The order in which the service reports the faults of a transaction's members.

If the number of actions is wrong, only that is reported. Otherwise the order is:

1. members inside the actions, except the names of tables
2. the other members of the request
3. actions that do nothing
4. the names of tables

Captured in October 2026 in six of seven regions; eu-west-2 reports each fault by itself.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from hashrange.model.validation.constraints import NOT_NULL, Violation

OPERATIONS = frozenset(("ExecuteTransaction", "TransactGetItems", "TransactWriteItems"))
NO_ACTION = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
_LISTS = ("transactItems", "transactStatements")


def in_order(violations: Iterable[Violation]) -> Sequence[Violation]:
    """The violations that are reported together, in the order of the service."""
    every = list(violations)
    names = [each for each in every if is_of_name(each)]
    others = [each for each in every if not is_of_name(each)]
    for violation in others:
        if violation.path in _LISTS and violation.constraint != NOT_NULL:
            return [violation]
    others.sort(key=lambda each: each.path.partition(".")[0] not in _LISTS or each.path in _LISTS)
    places = {each.path: place for place, each in reversed(list(enumerate(names)))}
    names.sort(key=lambda each: (places[each.path], "pattern" in each.constraint))
    return others or names


def is_of_name(violation: Violation) -> bool:
    """Whether the violation concerns the name of a table that is present but invalid."""
    return violation.path.endswith(".tableName") and violation.constraint != NOT_NULL


def lacks_action(request: dict[str, Any]) -> bool:
    """Whether one of the actions of a TransactWriteItems does nothing."""
    return any(not action for action in request.get("TransactItems", ()))
