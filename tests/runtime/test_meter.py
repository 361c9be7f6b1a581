"""What the meter keeps: the most used keys in bounded memory, and nothing of dropped tables."""

from collections import Counter
from random import Random
from typing import Any

import pytest

import hashrange
from hashrange import Settings
from hashrange.metering.hot_keys import KEYS_MAX, HotKeys

KEY: Any = {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}
KEY["KeySchema"] = [{"AttributeName": "pk", "KeyType": "HASH"}]
INDEX: Any = {"IndexName": "index", "KeySchema": KEY["KeySchema"]}
INDEX["Projection"] = {"ProjectionType": "ALL"}


@pytest.mark.parametrize("seed", range(5))
def test_the_most_used_keys_are_kept_in_bounded_memory(seed: int) -> None:
    random = Random(seed)
    hot, exact = HotKeys(), Counter[bytes]()
    for _ in range(20_000):
        key = str(min(int(random.paretovariate(0.9)), 5000)).encode()
        amount = random.choice([1, 2, 3])
        hot.add(key, amount)
        exact[key] += amount
    found = dict(hot.most(10 * KEYS_MAX))
    assert len(found) == KEYS_MAX < len(exact)
    assert sum(found.values()) == exact.total()
    least = min(found.values())
    for key, count in found.items():
        assert exact[key] <= count <= exact[key] + least
    assert {key for key, count in exact.items() if count > least} <= found.keys()
    assert [key for key, _ in hot.most(5)] == [key for key, _ in exact.most_common(5)]


@pytest.mark.parametrize("throughput", ["measured", "enforced"])
def test_nothing_is_kept_of_dropped_tables_and_indexes(throughput: Any) -> None:
    with hashrange.connect(settings=Settings(throughput=throughput)) as db:
        for number in range(20):
            name = f"table-{number}"
            table = {"TableName": name, **KEY, "BillingMode": "PAY_PER_REQUEST"}
            db.execute("CreateTable", {**table, "GlobalSecondaryIndexes": [INDEX]})
            db.execute("PutItem", {"TableName": name, "Item": {"pk": {"S": "a"}}})
            db.execute("Scan", {"TableName": name, "IndexName": "index"})
            assert {(each.table, each.index) for each in db.runtime.usage()} == {
                (name, None),
                (name, "index"),
            }
            if number % 2:
                delete = [{"Delete": {"IndexName": "index"}}]
                request = {"TableName": name, "GlobalSecondaryIndexUpdates": delete}
                db.execute("UpdateTable", request)
                assert [each.index for each in db.runtime.usage()] == [None]
            db.execute("DeleteTable", {"TableName": name})
            assert db.runtime.usage() == []
