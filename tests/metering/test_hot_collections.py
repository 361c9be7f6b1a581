"""A hot item collection is divided by its sort key where DynamoDB does that."""

from random import Random
from typing import Any

import pytest
from loads import Enforced
from test_batches import KEYS

LOCAL: Any = {
    "IndexName": "local",
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}


@pytest.mark.parametrize(
    ("indexes", "divided"), [({}, True), ({"LocalSecondaryIndexes": [LOCAL]}, False)]
)
def test_a_table_with_a_local_index_keeps_collections_whole(
    indexes: dict[str, Any], divided: bool
) -> None:
    enforced = Enforced(partition_write_units=10, heat_seconds=60)
    enforced.create("table", **KEYS, **indexes)
    random = Random(5)
    for _ in range(4):
        for _ in range(60):
            enforced.clock.advance(1)
            for _ in range(20):
                item = {"pk": {"S": "one"}, "sk": {"S": str(random.random())}}
                enforced.refusal("PutItem", {"TableName": "table", "Item": item})
        while enforced.db._upkeep.run_once():
            pass
    [table] = enforced.db.inspect("table")
    assert (len(table["partitions"]) > 4) == divided
    assert list(enforced.db.check()) == []
