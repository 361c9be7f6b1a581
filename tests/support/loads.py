"""A database whose throughput is enforced, and its tables."""

from typing import Any

import hashrange
from hashrange import Database, Settings
from hashrange.model.errors import ApiError
from hashrange.testing import TestClock


class Enforced:
    """A database whose throughput is enforced, with a clock."""

    def __init__(self, **settings: Any) -> None:
        self.clock = TestClock(1_800_000_000)
        self.db: Database = hashrange.connect(
            clock=self.clock, settings=Settings(throughput="enforced", **settings)
        )

    def create(self, name: str, read: int = 0, write: int = 0, **members: Any) -> None:
        capacity: dict[str, Any] = {"BillingMode": "PAY_PER_REQUEST"}
        if read or write:
            capacity = {"ProvisionedThroughput": units(read, write)}
        request = {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            **capacity,
            **members,
        }
        self.db.execute("CreateTable", request)

    def put(self, table: str, pk: str, kilobytes: int = 1, **members: Any) -> dict[str, Any] | None:
        item = {"pk": {"S": pk}, "padding": {"S": "x" * (1024 * kilobytes - 100)}, **members}
        return self.refusal("PutItem", {"TableName": table, "Item": item})

    def refusal(self, operation: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """The body of the error, None if there is none."""
        try:
            self.db.execute(operation, request)
        except ApiError as error:
            return error.body()
        return None

    def admitted(self, table: str, writes: int, pk: str = "a") -> int:
        """How many of `writes` writes of one unit are admitted."""
        return sum(self.put(table, pk) is None for _ in range(writes))


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def by_kind(**members: Any) -> dict[str, Any]:
    """The members of CreateTable for a global index of the attribute `kind`."""
    key = [{"AttributeName": "kind", "KeyType": "HASH"}]
    index = {"IndexName": "by-kind", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    return {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "kind")
        ],
        "GlobalSecondaryIndexes": [index | members],
    }
