"""Which keys are reported as throttled, by Contributor Insights and `inspect`."""

from typing import Any

from loads import Enforced, by_kind, units

QUERY: dict[str, Any] = {
    "TableName": "table",
    "IndexName": "by-kind",
    "KeyConditionExpression": "kind = :k",
    "ExpressionAttributeValues": {":k": {"S": "x"}},
}


def throttled_keys(found: dict[str, Any]) -> dict[str, float]:
    """How often each partition key of a table or index was refused, by its value."""
    return {
        value["S"]: each["count"]
        for each in found["load"]["throttled_keys"]["partition_keys"]
        for value in each["key"].values()
    }


def test_keys_are_counted_where_they_were_refused() -> None:
    enforced = Enforced()
    enforced.create("table", 1, 10, **by_kind(ProvisionedThroughput=units(1, 10)))
    refused = sum(enforced.put("table", "a", 1, kind={"S": "x"}) is not None for _ in range(20))
    assert refused > 0
    assert enforced.put("table", "b") is not None
    assert [enforced.refusal("Query", QUERY) is None for _ in range(5)].count(False) == 3
    [found] = enforced.db.inspect()
    assert throttled_keys(found) == {"a": refused, "b": 1}
    assert throttled_keys(found["indexes"][0]) == {"x": 3}


def test_no_key_is_to_blame_if_an_index_has_fallen_behind() -> None:
    """The key of the write is not one of the index, and the table has units to spare."""
    enforced = Enforced(index_backlog_units=20)
    enforced.create("table", 100, 1000, **by_kind(ProvisionedThroughput=units(1, 1)))
    kind = {"kind": {"S": "x"}}
    assert enforced.put("table", "a", 1, **kind) is None
    refusals = [enforced.put("table", str(n), 1, **kind) for n in range(59)]
    assert refusals.count(None) == 21
    [found] = enforced.db.inspect()
    [index] = found["indexes"]
    assert index["load"]["throttled"] == {"IndexWriteProvisionedThroughputExceeded": 38}
    assert throttled_keys(found) == throttled_keys(index) == {}
