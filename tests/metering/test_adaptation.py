"""Partitions follow the load: splits by heat, and growth of tables on demand."""

from random import Random
from typing import Any

import pytest
from loads import Enforced, by_kind, units
from test_batches import KEYS

HOT: Any = {"heat_seconds": 60, "growth_seconds": 600}


def load(enforced: Enforced, seconds: int, keys: Any, writes: int = 20) -> int:
    """Write at a steady rate for `seconds` seconds; return how many writes were refused."""
    refused = 0
    for _ in range(seconds):
        enforced.clock.advance(1)
        for _ in range(writes):
            item = {"pk": {"S": next(keys)}}
            request = {"TableName": "table", "Item": item}
            refused += enforced.refusal("PutItem", request) is not None
    return refused


def rest(enforced: Enforced) -> None:
    while enforced.db._upkeep.run_once():
        pass


def any_key(random: Random) -> Any:
    while True:
        yield str(random.randrange(100))


def one_key() -> Any:
    while True:
        yield "a"


def shards(enforced: Enforced) -> int:
    """The number of partitions, which each have an open shard."""
    table = enforced.db.execute("DescribeTable", {"TableName": "table"})["Table"]
    stream = enforced.db.execute("DescribeStream", {"StreamArn": table["LatestStreamArn"]})
    ranges = [shard["SequenceNumberRange"] for shard in stream["StreamDescription"]["Shards"]]
    return sum("EndingSequenceNumber" not in numbers for numbers in ranges)


STREAM: Any = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}


def test_a_hot_partition_is_split_where_that_helps() -> None:
    """Twenty writes a second on a partition that serves ten: after the splits, all are served."""
    enforced = Enforced(partition_write_units=10, **HOT)
    enforced.create("table", 100, 100, **STREAM)
    keys = any_key(Random(1))
    assert shards(enforced) == 1
    before = load(enforced, 60, keys)
    for _ in range(8):
        load(enforced, 60, keys)
        rest(enforced)
    assert shards(enforced) > 2
    after = load(enforced, 60, keys)
    assert before > 500
    assert after < 50
    assert list(enforced.db.check()) == []


def test_one_hot_key_is_not_helped_by_a_split() -> None:
    enforced = Enforced(partition_write_units=10, **HOT)
    enforced.create("table", 100, 100, **STREAM)
    for _ in range(6):
        assert load(enforced, 60, one_key()) > 500
        rest(enforced)
    assert shards(enforced) == 1


def test_a_key_with_most_of_the_load_is_not_split_off() -> None:
    """The other side would have too little of the load for the split to help."""
    enforced = Enforced(partition_write_units=10, **HOT)
    enforced.create("table", 100, 100, **STREAM)
    random = Random(3)

    def mostly_one() -> Any:
        while True:
            yield "a" if random.random() < 0.9 else str(random.randrange(100))

    for _ in range(6):
        assert load(enforced, 60, mostly_one()) > 500
        rest(enforced)
    assert shards(enforced) == 1


@pytest.mark.parametrize("sorted_by", [(), ("pk",)])
def test_one_hot_key_of_an_index_is_divided_by_its_sort_key_only(
    sorted_by: tuple[str, ...],
) -> None:
    enforced = Enforced(partition_write_units=10, index_backlog_units=10, **HOT)
    kinds = zip(("kind", *sorted_by), ("HASH", "RANGE"), strict=False)
    schema = [{"AttributeName": name, "KeyType": kind} for name, kind in kinds]
    enforced.create("table", **by_kind(KeySchema=schema))
    random = Random(4)
    for _ in range(4):
        for _ in range(60):
            enforced.clock.advance(1)
            for _ in range(20):
                enforced.put("table", str(random.random()), kind={"S": "one"})
        rest(enforced)
    [table] = enforced.db.inspect("table")
    [index] = table["indexes"]
    assert (len(index["partitions"]) > 4) == bool(sorted_by)
    assert list(enforced.db.check()) == []


def test_a_cold_partition_is_not_split() -> None:
    enforced = Enforced(partition_write_units=100, **HOT)
    enforced.create("table", 100, 100, **STREAM)
    for _ in range(6):
        assert load(enforced, 60, any_key(Random(2))) == 0
        rest(enforced)
    assert shards(enforced) == 1


def warm(enforced: Enforced) -> int:
    table = enforced.db.execute("DescribeTable", {"TableName": "table"})["Table"]
    units: int = table["WarmThroughput"]["WriteUnitsPerSecond"]
    return units


@pytest.mark.deep
def test_a_table_on_demand_grows_past_its_peak() -> None:
    enforced = Enforced(growth_seconds=90, heat_seconds=10**9)
    enforced.create("table", **STREAM)
    assert (warm(enforced), shards(enforced)) == (4000, 4)
    found = []
    for _ in range(4):
        for second in range(60):
            enforced.clock.advance(1)
            for number in range(8):  # 3,000 units a second
                enforced.put("table", str((second * 8 + number) % 40), 375)
        rest(enforced)
        found.append((warm(enforced), shards(enforced)))
    assert found[:2] == [(4000, 4)] * 2, "the first minute ends the peak, then growth takes time"
    assert 4000 < found[3][0] <= 6000
    assert found[3][1] > 4
    assert list(enforced.db.check()) == []


def test_provisioned_tables_do_not_grow_by_themselves() -> None:
    enforced = Enforced(growth_seconds=1)
    enforced.create("table", 100, 100, **STREAM)
    for _ in range(5):
        load(enforced, 60, any_key(Random(3)), writes=50)
        rest(enforced)
    assert (warm(enforced), shards(enforced)) == (100, 1)
    request = {"TableName": "table", "ProvisionedThroughput": units(100, 1500)}
    enforced.db.execute("UpdateTable", request)
    rest(enforced)
    assert (warm(enforced), shards(enforced)) == (1500, 2)


@pytest.mark.parametrize("share", [0.6, 0.74, 0.9])
@pytest.mark.parametrize("hot", [{"pk": {"S": "a"}}, {"pk": {"S": "one"}, "sk": {"S": "20"}}])
@pytest.mark.deep
def test_a_hot_key_gets_a_partition_of_its_own(hot: dict[str, Any], share: float) -> None:
    """Its neighbours then have one to themselves. A hot item has neighbours in its collection."""
    enforced = Enforced(partition_write_units=10, **HOT)
    enforced.create("table", 100, 100, **(KEYS if "sk" in hot else {}))
    random = Random(6)
    refused: list[int] = []
    for minute in range(6):
        refused.append(0)
        for _ in range(60):
            enforced.clock.advance(1)
            for _ in range(14):
                item = hot
                if is_neighbour := random.random() >= share:
                    last = {"S": str(random.choice([*range(20), *range(21, 40)]))}
                    item = {"pk": hot["pk"], "sk": last} if "sk" in hot else {"pk": last}
                failed = enforced.refusal("PutItem", {"TableName": "table", "Item": item})
                refused[minute] += is_neighbour and failed is not None
        rest(enforced)
    assert refused[0] > 10
    assert refused[-1] == 0
    [found] = enforced.db.inspect("table")
    assert len(found["partitions"]) <= 4, "it is isolated once"
    assert list(enforced.db.check()) == []


def test_a_table_on_demand_grows_while_it_rests() -> None:
    """A nightly job: a peak of a minute, then silence. The next night finds a warm table."""
    enforced = Enforced(growth_seconds=1800, heat_seconds=10**9)
    enforced.create("table")
    for number in range(480):
        enforced.put("table", str(number % 40), 375)
        enforced.clock.advance(1 / 8)
    grown = []
    for seconds in (60, 1680, 300):
        enforced.clock.advance(seconds)
        rest(enforced)
        grown.append(warm(enforced) > 4000)
    assert grown == [False, False, True]
    assert warm(enforced) == pytest.approx(2 * 480 * 375 / 60, rel=0.05)


@pytest.mark.parametrize(("seconds", "split"), [(2, False), (30, True)])
def test_short_bursts_divide_no_partition(seconds: int, split: bool) -> None:
    """Partitions are never merged, and each makes Scans dearer."""
    enforced = Enforced(partition_write_units=10, **HOT)
    enforced.create("table", 100, 100, **STREAM)
    keys = any_key(Random(7))
    for _ in range(4):
        assert load(enforced, seconds, keys) > 0
        load(enforced, 60 - seconds, keys, 1)
        rest(enforced)
    assert (shards(enforced) > 1) == split
