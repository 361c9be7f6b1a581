"""The requests that a step of a migration would send, without sending the writes."""

from collections.abc import Callable
from typing import Any

from hashrange.design.execute.steps import ApiCall, Connection, Pause, Steps, T, run, through

READS = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", "DescribeTable"})
Show = Callable[[str, dict[str, Any]], object]


def dry_run(steps: Steps[T], connection: Connection, show: Show) -> T:
    """Run the steps without their writes, which are shown and answered as if they had succeeded.

    Reads are sent. Pauses are left out. An index that would be created is described as existing.
    """
    return run(through(steps, _Pretended(show).answered), connection)


class _Pretended:
    def __init__(self, show: Show) -> None:
        self.show = show
        self.created: set[str] = set()
        self.deleted: set[str] = set()

    def answered(self, request: ApiCall | Pause) -> Steps[dict[str, Any]]:
        if isinstance(request, Pause):
            return {}
        operation, payload = request.operation, request.payload
        if operation not in READS:
            self.show(operation, payload)
            for change in payload.get("GlobalSecondaryIndexUpdates", []):
                [(kind, index)] = change.items()
                names = self.created if kind == "Create" else self.deleted
                names.add(index["IndexName"])
            return {}
        if operation == "Query":
            return {"Items": [{}]}  # pretend that the index exists and has a canary
        response = yield request
        if operation == "DescribeTable":
            self._add_indexes(response["Table"])
        return response

    def _add_indexes(self, table: dict[str, Any]) -> None:
        there = table.setdefault("GlobalSecondaryIndexes", [])
        kept = [index for index in there if index["IndexName"] not in self.deleted]
        known = {index["IndexName"] for index in kept}
        added = [
            {"IndexName": name, "IndexStatus": "ACTIVE"} for name in sorted(self.created - known)
        ]
        table["GlobalSecondaryIndexes"] = kept + added
