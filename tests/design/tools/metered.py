"""A database that adds up the capacity that it reports."""

from typing import Any

import hashrange

Units = dict[str, float]


class Metered:
    """A database that adds up the consumed capacity of every request."""

    def __init__(self, database: hashrange.Database) -> None:
        self.database = database
        self.reads: Units = {}
        self.writes: Units = {}
        self.requests = 0

    def execute(self, operation: str, payload: dict[str, Any]) -> Any:
        response = self.database.execute(
            operation, {**payload, "ReturnConsumedCapacity": "INDEXES"}
        )
        capacity = response.get("ConsumedCapacity", {})
        is_read = operation in ("GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems")
        total = self.reads if is_read else self.writes
        for one in capacity if isinstance(capacity, list) else [capacity]:
            self._add(total, "table", one.get("Table", {}))
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
                for name, arm in one.get(kind, {}).items():
                    self._add(total, name, arm)
        self.requests += 1
        return response

    @staticmethod
    def _add(total: Units, name: str, arm: dict[str, float]) -> None:
        if arm.get("CapacityUnits"):
            total[name] = total.get(name, 0) + arm["CapacityUnits"]
