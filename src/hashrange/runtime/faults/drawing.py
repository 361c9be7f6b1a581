"""Chooses the fault of each request, either by the number of the call or at random by a rate."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from threading import Lock
from typing import Any

from hashrange.model.faults import Faults
from hashrange.runtime.mistaken_calls import API

Body = dict[str, Any]

TRANSACTIONS = {"TransactWriteItems": "TransactItems", "TransactGetItems": "TransactItems"}
TRANSACTIONS["ExecuteTransaction"] = "TransactStatements"
BATCHES = ("BatchGetItem", "BatchWriteItem")
DATA_OPERATIONS = {
    *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"),
    *("ExecuteStatement", "BatchExecuteStatement", *BATCHES, *TRANSACTIONS),
}
"""The operations that read and write items."""
_CAN_HAVE = {
    "unprocessed": set(BATCHES),
    "conflict": {"PutItem", "UpdateItem", "DeleteItem", *TRANSACTIONS},
    "in-progress": {"TransactWriteItems", "ExecuteTransaction"},
    "throttle": DATA_OPERATIONS,
    "account-limit": DATA_OPERATIONS,
}


class Drawing:
    """Draws faults at random: the same seed and order of requests give the same faults."""

    def __init__(self, faults: Faults) -> None:
        """Check the faults. Raises ValueError for an unknown operation, and for a fault that its
        operation cannot have."""
        for name in (*faults.operations, *faults.on):
            if name not in API:
                raise ValueError(f"faults are set for {name!r}, which is not an operation")
        for name, calls in faults.on.items():
            for fault in calls.values():
                if name not in _CAN_HAVE.get(fault, {name}):
                    able = ", ".join(sorted(_CAN_HAVE[fault]))
                    raise ValueError(
                        f"{name} cannot have the fault {fault}; operations that can: {able}"
                    )
        self._faults = faults
        self._random = Random(faults.seed)
        self._calls: Counter[str] = Counter()
        self._lock = Lock()

    def draw(self, name: str, body: Body) -> str | None:
        """Count a request of the operation `name`. Returns its fault, or None if it has none."""
        faults = self._faults
        with self._lock:
            self._calls[name] += 1
            exact = faults.on.get(name, {}).get(self._calls[name])
            drawn = self._by_rate()  # even if a fault is exact, so that later draws stay equal
        if exact is not None:
            return exact if _can_have(exact, name, body) else None
        if drawn is None or not self._is_meant(name, body):
            return None
        return drawn if _can_have(drawn, name, body) else None

    def some(self, members: Sequence[Any]) -> list[Any]:
        """Random members of a batch: at least one but not all or, if the batch has only one, that
        one."""
        with self._lock:
            count = self._random.randint(1, max(1, len(members) - 1))
            return self._random.sample(members, count)

    def _by_rate(self) -> str | None:
        drawn = self._random.random()
        for fault, rate in self._faults.rates.items():
            drawn -= rate
            if drawn < 0:
                return fault
        return None

    def _is_meant(self, name: str, body: Body) -> bool:
        operations, tables = self._faults.operations, self._faults.tables
        if operations and name not in operations:
            return False
        return not tables or not tables_of(body).isdisjoint(tables)


def tables_of(body: Body) -> set[str]:
    """The names of the tables in the JSON of a request; none for PartiQL."""
    names = {body["TableName"]} if isinstance(body.get("TableName"), str) else set()
    if isinstance(body.get("RequestItems"), dict):
        names |= body["RequestItems"].keys()
    for item in body.get("TransactItems") or ():
        names |= {action["TableName"] for action in item.values() if "TableName" in action}
    return {name.rpartition("/")[2] for name in names}


def _can_have(fault: str, name: str, body: Body) -> bool:
    if fault == "in-progress" and not body.get("ClientRequestToken"):
        return False
    return name in _CAN_HAVE.get(fault, {name})
