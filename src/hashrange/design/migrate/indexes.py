"""The global indexes of the new model: added one at a time, tested with an item, and dropped."""

from typing import Any

from hashrange.design.declare.schema import Source
from hashrange.design.declare.table_model import TableModel
from hashrange.design.execute.steps import ApiCall, ApiFailure, Pause, Steps
from hashrange.design.migrate.phases import CANARY, MigrationError, own_item
from hashrange.design.tools import create
from hashrange.design.tools.stored_items import describe
from hashrange.model.values import Item

POLL_SECONDS = 0.2
LONGEST_POLL_SECONDS = 10.0
POLLS_MAX = 9000
"""The largest number of polls of one index, which take about a day altogether. DynamoDB needs hours
to fill an index of a large table."""
_CANARY_VALUES = {"N": "-1E+125", "B": "fmNhbmFyeQ=="}


class Indexes:
    """The global indexes that a migration from the model `old` to `new` adds and drops."""

    def __init__(self, old: TableModel, new: TableModel) -> None:
        self.name = new.name
        self.model = old
        kept = {source.name for source in old.indexes}
        wanted = {source.name for source in new.indexes}
        self.added = [source for source in new.indexes if source.name not in kept]
        self.dropped = [source for source in old.indexes if source.name not in wanted]

    def add(self) -> Steps[None]:
        """Add the missing indexes. Raises MigrationError if one fails to build."""
        for source in self.added:
            if (yield from self._status(source)) is None:
                yield ApiCall("UpdateTable", self.creation(source))
            yield from self._wait(source, "ACTIVE")

    def drop(self) -> Steps[None]:
        for source in self.dropped:
            if (yield from self._status(source)) is not None:
                yield ApiCall("UpdateTable", self.deletion(source))
            yield from self._wait(source, None)

    def creation(self, source: Source) -> dict[str, Any]:
        return {
            "TableName": self.name,
            "AttributeDefinitions": [
                {"AttributeName": c.attribute, "AttributeType": c.tag} for c in source.columns
            ],
            "GlobalSecondaryIndexUpdates": [{"Create": create.index_request(source)}],
        }

    def deletion(self, source: Source) -> dict[str, Any]:
        gone = {"Delete": {"IndexName": source.name}}
        return {"TableName": self.name, "GlobalSecondaryIndexUpdates": [gone]}

    def _status(self, source: Source) -> Steps[str | None]:
        there = yield from describe(self.name)
        for index in there.get("GlobalSecondaryIndexes", []):
            if index["IndexName"] == source.name:
                status: str = index["IndexStatus"]
                return "CREATING" if index.get("Backfilling") else status
        return None

    def _wait(self, source: Source, wanted: str | None) -> Steps[None]:
        pause, seen = POLL_SECONDS, False
        for _ in range(POLLS_MAX):
            status = yield from self._status(source)
            if status == wanted:
                return
            if status is None and seen:
                break
            seen = seen or status is not None
            yield Pause(pause)
            pause = min(2 * pause, LONGEST_POLL_SECONDS)
        raise MigrationError(
            f"the index {source.name} did not become {wanted or 'deleted'}: look at the table for "
            "the reason, e.g. a key attribute of another type, and go on with `resume`"
        )

    # ---- canaries ----

    def try_all(self, term: int) -> Steps[None]:
        """Test each new index: write an item, wait until the index has it, and delete it.

        The item's key contains `term`, the number of the migrator. So a migrator that was replaced
        does not delete an item of its successor.
        """
        for source in self.added:
            item = self._canary(source, f"{source.name}#{term}")
            yield ApiCall("PutItem", {"TableName": self.name, "Item": item})
            yield from self._arrived(source, item)
            key = {c.attribute: item[c.attribute] for c in self.model.table.columns}
            yield ApiCall("DeleteItem", {"TableName": self.name, "Key": key})

    def _canary(self, source: Source, name: str) -> Item:
        keys = {c.attribute: {c.tag: _CANARY_VALUES.get(c.tag, name)} for c in source.columns}
        own = own_item(self.model, CANARY, name)
        if self.model.type_attribute in keys:
            return own
        return {**keys, **own}

    def _arrived(self, source: Source, item: Item) -> Steps[None]:
        names = {f"#{n}": c.attribute for n, c in enumerate(source.hash)}
        request = {
            "TableName": self.name,
            "IndexName": source.name,
            "KeyConditionExpression": " AND ".join(f"{n} = :{n[1:]}" for n in names),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": {f":{n[1:]}": item[a] for n, a in names.items()},
        }
        pause = POLL_SECONDS
        for _ in range(POLLS_MAX):
            try:
                response = yield ApiCall("Query", request)
            except ApiFailure as failure:
                raise MigrationError(f"{source.name} cannot be read: {failure}") from failure
            if response["Items"]:
                return
            yield Pause(pause)
            pause = min(2 * pause, LONGEST_POLL_SECONDS)
        raise MigrationError(
            f"an item that was written to test the index {source.name} did not appear in it: look "
            "at the table for the reason, and go on with `resume`"
        )
