"""A global index that has fallen behind shows its entries one after the other, as they are paid."""

from typing import Any

import pytest
from loads import Enforced, by_kind, units

from hashrange import Eventual

QUERY: dict[str, Any] = {
    "TableName": "table",
    "IndexName": "by-kind",
    "Select": "COUNT",
    "KeyConditionExpression": "kind = :k",
}


def behind(entries: int, kind: str = "x", **settings: Any) -> Enforced:
    """A table whose index, of one write unit, gets `entries` entries at once."""
    enforced = Enforced(**settings)
    enforced.create("table", 10, 4000, **by_kind(ProvisionedThroughput=units(10, 1)))
    for number in range(entries):
        assert enforced.put("table", str(number), kind={"S": kind}) is None
    return enforced


def shown(enforced: Enforced, kind: str = "x") -> int:
    """How many entries of a kind the index shows."""
    request = QUERY | {"ExpressionAttributeValues": {":k": {"S": kind}}}
    count: int = enforced.db.execute("Query", request)["Count"]
    return count


def lag(enforced: Enforced) -> float:
    [table] = enforced.db.inspect("table")
    seconds: float = table["indexes"][0]["lag_seconds"]
    return seconds


@pytest.mark.parametrize("consistency", [None, Eventual()])
def test_an_index_of_one_unit_shows_one_entry_a_second(consistency: Eventual | None) -> None:
    enforced = behind(800, consistency=consistency)
    enforced.clock.advance(0.5)
    found = {0: shown(enforced)}
    for second in (100, 400, 600, 800):
        enforced.clock.advance(second - max(found))
        found[second] = shown(enforced)
    assert found == pytest.approx({0: 0, 100: 100, 400: 400, 600: 600, 800: 800}, abs=2)
    assert enforced.db.execute("Scan", {"TableName": "table", "Select": "COUNT"})["Count"] == 800


def test_the_lag_is_the_age_of_the_oldest_entry_that_is_not_there() -> None:
    enforced = behind(10)
    lags = []
    for _ in range(6):
        enforced.clock.advance(2)
        lags.append(lag(enforced))
    assert lags == [2, 4, 6, 8, 0, 0], "all entries are of the first second"
    assert behind(1).db.inspect("table")[0]["indexes"][0]["lag_seconds"] == 0


def test_entries_that_change_are_shown_as_they_were() -> None:
    enforced = behind(1)
    enforced.clock.advance(300)
    for number in range(290):
        assert enforced.put("table", str(number), kind={"S": "y"}) is None
    assert (shown(enforced), shown(enforced, "y")) == (0, 290), "the index had saved units"
    for number in range(20):
        assert enforced.put("table", f"new {number}", kind={"S": "x"}) is None
    delete = {"TableName": "table", "Key": {"pk": {"S": "0"}}}
    assert enforced.refusal("DeleteItem", delete) is None
    assert (shown(enforced), shown(enforced, "y")) == (9, 290), "291 units were for y"
    enforced.clock.advance(20)
    assert (shown(enforced), shown(enforced, "y")) == (20, 289)


def test_more_units_shorten_the_queue() -> None:
    enforced = behind(100)
    enforced.clock.advance(10)
    more = {"IndexName": "by-kind", "ProvisionedThroughput": units(10, 50)}
    request = {"TableName": "table", "GlobalSecondaryIndexUpdates": [{"Update": more}]}
    enforced.db.execute("UpdateTable", request)
    assert shown(enforced) < 15
    enforced.clock.advance(2)
    assert shown(enforced) == 100


def test_a_hot_key_of_an_index_on_demand_is_shown_late_and_others_are_not() -> None:
    enforced = Enforced(partition_write_units=10)
    enforced.create("table", **by_kind())
    for number in range(60):
        assert enforced.put("table", str(number), 2, kind={"S": "x"}) is None
        assert enforced.put("table", f"other {number}", kind={"S": f"k{number}"}) is None
        enforced.clock.advance(0.1)
    scan = {"TableName": "table", "IndexName": "by-kind"}
    kinds = [item["kind"]["S"] for item in enforced.db.execute("Scan", scan)["Items"]]
    assert 20 <= kinds.count("x") <= 40
    assert len(kinds) - kinds.count("x") >= 50
