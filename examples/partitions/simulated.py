"""A database for the examples about partitions, with a clock that the examples move.

Throughput is enforced as on DynamoDB, and hours of the clock pass in milliseconds. The upkeep that
splits partitions runs between the steps of an example instead of in a thread, so an example prints
the same figures each time.
"""

from collections.abc import Mapping
from typing import Any

from hashrange import Database, Settings
from hashrange.model.errors import ApiError
from hashrange.storage import MemoryStore
from hashrange.testing import TestClock

SMALL: dict[str, Any] = {"partition_write_units": 10, "partition_read_units": 30}
"""Settings for partitions that serve a hundredth of the units of DynamoDB's partitions."""


class Simulated(Database):
    """A database in memory. `settings` are fields of `hashrange.Settings`."""

    def __init__(self, **settings: Any) -> None:
        self.clock = TestClock("2026-11-21")
        super().__init__(
            MemoryStore(),
            clock=self.clock,
            settings=Settings(throughput="enforced", **settings),
        )
        self._began = self.clock.now()

    def start_upkeep(self) -> None:
        """Start no thread, because `wait` does the upkeep that is due."""

    @property
    def seconds(self) -> float:
        """The seconds that have passed on the clock."""
        return round(self.clock.now() - self._began, 3)

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.run_upkeep()

    def create(
        self,
        name: str,
        *key: str,
        read: int = 0,
        write: int = 0,
        indexes: Mapping[str, tuple[str, ...]] | None = None,
        index_write: int = 0,
        **members: Any,
    ) -> None:
        """Create a table with string keys; it is on demand unless `write` is given.

        `indexes` has the keys of global indexes by name; `members` are more members of CreateTable.
        """
        indexes = indexes or {}
        attributes = {*key, *(attribute for names in indexes.values() for attribute in names)}
        for index in members.get("LocalSecondaryIndexes", ()):
            attributes |= {each["AttributeName"] for each in index["KeySchema"]}
        request = {
            "TableName": name,
            "AttributeDefinitions": [
                {"AttributeName": each, "AttributeType": "S"} for each in sorted(attributes)
            ],
            "KeySchema": key_schema(*key),
            **(_units(read, write) if write else {"BillingMode": "PAY_PER_REQUEST"}),
            **members,
        }
        if indexes:
            request["GlobalSecondaryIndexes"] = [
                {
                    "IndexName": index,
                    "KeySchema": key_schema(*names),
                    "Projection": {"ProjectionType": "ALL"},
                    **(_units(read, index_write) if write else {}),
                }
                for index, names in indexes.items()
            ]
        self.execute("CreateTable", request)

    def refused(self, operation: str, request: dict[str, Any]) -> dict[str, str] | None:
        """Send a request. If it is throttled, returns the reason and the resource, an ARN."""
        try:
            self.execute(operation, request)
        except ApiError as error:
            body = error.body()
            reasons = body.get("ThrottlingReasons") or body.get("throttlingReasons")
            if not reasons:
                raise
            reason: dict[str, str] = reasons[0]
            return reason
        return None

    def put(self, table: str, **values: str) -> dict[str, str] | None:
        """Put an item of strings. If it is throttled, returns the reason and the resource."""
        item = {name: {"S": value} for name, value in values.items()}
        return self.refused("PutItem", {"TableName": table, "Item": item})

    def partition_of(self, table: str, **key: str) -> int:
        """The number of the partition that has the item with this key."""
        request = {"TableName": table, "Key": {name: {"S": text} for name, text in key.items()}}
        number: int = self.explain("GetItem", request)["consumed"][0]["partition"]
        return number


def key_schema(*names: str) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, kinds, strict=False)]


def _units(read: int, write: int) -> dict[str, Any]:
    return {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}
