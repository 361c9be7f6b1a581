"""The item that holds a migration's state.

All programs read the item. Only the latest migrator writes it: each migrator takes a term, a number
that increases, and the highest term is the latest.

Each change is one transaction, conditional on the term, phase and epoch that were read. If the
answer to a change is lost, the state is read again to find out whether the change was made.
"""

from typing import Any

from hashrange.design.declare.table_model import TableModel
from hashrange.design.execute.steps import ApiCall, ApiFailure, Steps
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.migrate.phases import (
    GUARD,
    STATE,
    MigrationError,
    State,
    loaded,
    own_item,
    own_key,
    stored,
)

TAKEN_OVER = (
    "another migrator has taken over, or the migration was paused or went back: see "
    "`hashrange design migrate status`, and go on with `resume`"
)
GUARDS_MAX = 99


class Ledger:
    """Reads and writes the state of one table's migration."""

    def __init__(self, model: TableModel) -> None:
        self.model = model

    def read(self) -> Steps[State]:
        request = {
            "TableName": self.model.name,
            "Key": own_key(self.model, STATE),
            "ConsistentRead": True,
        }
        response = yield ApiCall("GetItem", request)
        return loaded(response.get("Item"))

    def change(self, before: State, after: State) -> Steps[State]:
        """Change the state to `after`. Raises MigrationError if the state is no longer `before`."""
        actions = [self._put(before, after), *self._guards(before, after)]
        try:
            yield ApiCall("TransactWriteItems", {"TransactItems": actions})
        except ApiFailure:
            now = yield from self.read()
            if now == after:
                return after  # the change was made, but its answer was lost
            if now == before:
                raise
            raise MigrationError(TAKEN_OVER) from None
        return after

    def check(self, state: State) -> dict[str, Any]:
        """An action that fails if another migrator has taken over."""
        expression = Expression()
        condition = expression.as_read("term", {"N": str(state.term)})
        parameters = {"Key": own_key(self.model, STATE), "ConditionExpression": condition}
        return {
            "ConditionCheck": {
                "TableName": self.model.name,
                **parameters,
                **expression.parameters(),
            }
        }

    def _put(self, before: State, after: State) -> dict[str, Any]:
        expression = Expression()
        was = stored(self.model, before)
        names = ("term", "phase", "epoch", "paused")
        condition = " AND ".join(expression.as_read(name, was[name]) for name in names)
        if before == State():
            hash_name = self.model.table.hash[0].attribute
            condition = f"{expression.as_read(hash_name, None)} OR ({condition})"
        parameters = {"Item": stored(self.model, after), "ConditionExpression": condition}
        return {"Put": {"TableName": self.model.name, **parameters, **expression.parameters()}}

    def _guards(self, before: State, after: State) -> list[dict[str, Any]]:
        """Actions that put all guard items, if the epoch or the number of guards changes."""
        if (before.epoch, before.guards) == (after.epoch, after.guards):
            return []
        epoch = {"epoch": {"N": str(after.epoch)}}
        return [
            {
                "Put": {
                    "TableName": self.model.name,
                    "Item": {**own_item(self.model, GUARD, str(number)), **epoch},
                }
            }
            for number in range(after.guards)
        ]
