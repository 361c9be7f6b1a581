"""The database of a step of the tour. It is in memory and enforces throughput, and the page
advances its clock."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from hashrange.database.connecting import connect
from hashrange.model.errors import ApiError
from hashrange.model.settings import Settings
from hashrange.testing import TestClock
from hashrange.tools.console.tour import strings

INDEX_READ_UNITS = 100


class Simulation:
    """A database with a simulated clock. `reasons` counts refusals by their reason."""

    def __init__(self, **settings: Any) -> None:
        self.clock = TestClock("2026-11-21")
        made = Settings(throughput="enforced", **settings)
        self._database = connect(clock=self.clock, settings=made)
        self.execute = self._database.execute
        self.explain = self._database.explain
        self.reasons: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def inspect(self, table: str) -> dict[str, Any]:
        [state] = self._database.inspect(table)
        return state

    def wait(self, seconds: float) -> None:
        """Advance the clock, and do the upkeep that is due."""
        self.clock.advance(seconds)
        self._database.run_upkeep()

    def create(
        self,
        name: str,
        key: Sequence[str],
        *,
        units: tuple[int, int] | None = None,
        index: Mapping[str, tuple[str, int]] | None = None,
        local: Mapping[str, str] | None = None,
    ) -> None:
        """Create a table whose keys are strings. It is on demand unless it has read and write
        `units`.

        `index` has the partition key and the write units of each global index, by its name. `local`
        has the sort key of each local index, by its name.
        """
        index, local = index or {}, local or {}
        names = {*key, *(each for each, _ in index.values()), *local.values()}
        request: dict[str, Any] = {
            "TableName": name,
            "AttributeDefinitions": [
                {"AttributeName": each, "AttributeType": "S"} for each in sorted(names)
            ],
            "KeySchema": _schema(*key),
            **_billing(units),
        }
        if index:
            request["GlobalSecondaryIndexes"] = [
                {
                    "IndexName": each,
                    "KeySchema": _schema(hash_),
                    "Projection": {"ProjectionType": "ALL"},
                    **({} if units is None else _billing((INDEX_READ_UNITS, write))),
                }
                for each, (hash_, write) in index.items()
            ]
        if local:
            request["LocalSecondaryIndexes"] = [
                {
                    "IndexName": each,
                    "KeySchema": _schema(key[0], range_),
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
                for each, range_ in local.items()
            ]
        self.execute("CreateTable", request)

    def put(self, table: str, **values: str) -> bool:
        """Put an item of strings. Returns whether it was admitted."""
        try:
            self.execute("PutItem", {"TableName": table, "Item": strings(**values)})
        except ApiError as error:
            body = error.body()
            reasons = body.get("ThrottlingReasons") or body.get("throttlingReasons") or ()
            if not reasons:
                raise
            reason = str(reasons[0]["reason"])
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
            return False
        return True


def _schema(*names: str) -> list[dict[str, str]]:
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, kinds, strict=False)]


def _billing(units: tuple[int, int] | None) -> dict[str, Any]:
    if units is None:
        return {"BillingMode": "PAY_PER_REQUEST"}
    read, write = units
    return {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}
