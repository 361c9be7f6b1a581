"""What a request consumes: as its response tells, and as its explanation does."""

from collections import defaultdict
from typing import Any

from hashrange.runtime.inspection.explain import Explanation

MEASURED = {"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "ExecuteStatement"}
MEASURED |= {f"Batch{what}" for what in ("GetItem", "WriteItem", "ExecuteStatement")}
MEASURED |= {"TransactGetItems", "TransactWriteItems", "ExecuteTransaction"}

Units = dict[tuple[str, str | None], float]
"""By table, and by index (None: the table itself)."""


def consumed(shown: Any) -> Units:
    found: Units = {}
    for table in shown if isinstance(shown, list) else [shown]:
        found[table["TableName"], None] = table["Table"]["CapacityUnits"]
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
            for name, index in table.get(kind, {}).items():
                found[table["TableName"], name] = index["CapacityUnits"]
    return {place: number for place, number in found.items() if number}


def explained(explanation: Explanation) -> Units:
    found: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    for line in explanation.consumed:
        found[line.table, line.index] += line.read_units + line.write_units
    return dict(found)
