"""Bugs that are planted into the code of migrations, to see that histories find them."""

from collections.abc import Generator
from typing import Any

from planting import Bug, bug_in

from hashrange.design.migrate import migrator
from hashrange.design.migrate.backfill import Backfill
from hashrange.design.migrate.comparison import Comparison
from hashrange.design.migrate.ledger import Ledger
from hashrange.design.migrate.migrator import Migrator
from hashrange.design.migrate.requests import Requests
from hashrange.design.migrate.sides import Side


def _nothing(*_: Any, **__: Any) -> Generator[Any, Any, int]:
    yield from ()
    return 0


def _unconditional(kept: Any) -> Any:
    def own(self: Requests, key: Any, old: Any, new: Any, owned: Any) -> Any:
        action = kept(self, key, old, new, owned)
        [(kind, parameters)] = action.items()
        if kind == "Update":
            parameters["ConditionExpression"] = f"attribute_exists({self.names[0]})"
            used = parameters["UpdateExpression"].replace(",", " ").split()
            for member in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
                found = {n: v for n, v in parameters[member].items() if n in used}
                parameters[member] = found
        return action

    return own


class _Anyhow(Backfill):
    """A backfill that writes what it has read, whatever is stored by then."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.requests = type("Unconditional", (Requests,), {"own": _unconditional(Requests.own)})(
            self.side.model, self.state.epoch
        )


def _settled_at_once(self: Migrator, state: Any) -> Any:
    return (yield from self.ledger.change(state, state.changed(settled=True)))


def _check_nothing(self: Ledger, state: Any) -> dict[str, Any]:
    action = _CHECK(self, state)
    condition = action["ConditionCheck"]
    condition["ConditionExpression"] = "attribute_exists(#0)"
    del condition["ExpressionAttributeValues"]
    return action


def _put_blindly(self: Ledger, before: Any, after: Any) -> dict[str, Any]:
    action = _PUT(self, before, after)
    for name in ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"):
        del action["Put"][name]
    return action


def _one_owner(self: Side, marker: Any, mirrored: Any) -> Any:
    return marker


def _no_difference(*_: Any) -> Generator[Any, Any, list[Any]]:
    yield from ()
    return []


_CHECK, _PUT = Ledger.check, Ledger._put
UNVERIFIED = bug_in(Migrator, "_verified", _nothing)
"""The comparison would find these bugs too, and mend what they did."""
FLAWS: dict[str, list[Bug]] = {
    "the backfill is unconditional": [
        bug_in(migrator, "Backfill", _Anyhow),
        UNVERIFIED,
    ],
    "a marker has one owner": [
        bug_in(Side, "with_both_owners", _one_owner),
        bug_in(Backfill, "_markers", lambda *_: iter(())),
        bug_in(Comparison, "_marked", _no_difference),
    ],
    "mirrors that stand alone are left": [
        bug_in(Backfill, "lone", _nothing),
        UNVERIFIED,
    ],
    "nothing is swept": [bug_in(Migrator, "_sweep", _nothing), UNVERIFIED],
    "the sweep does not wait": [
        bug_in(Migrator, "_settled", _settled_at_once),
        UNVERIFIED,
    ],
    "the term is not checked": [
        bug_in(Ledger, "check", _check_nothing),
        bug_in(Ledger, "_put", _put_blindly),
        UNVERIFIED,
    ],
}
