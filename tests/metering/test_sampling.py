"""Requests are sampled where there are many of them; no pattern in their order misleads."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from math import log, sqrt
from random import Random
from typing import Any

import pytest
from loads import Enforced

import hashrange
from hashrange import Settings

REQUESTS = 10_000


def rotation(keys: int) -> Callable[[Random], Iterator[str]]:
    return lambda random: cycle(str(number) for number in range(keys))


def bursts(random: Random) -> Iterator[str]:
    """The same key for a while, then another."""
    while True:
        yield from [str(random.randrange(8))] * random.randrange(1, 200)


def zipf(random: Random) -> Iterator[str]:
    weights = [1 / rank for rank in range(1, 61)]
    while True:
        yield from random.choices([str(number) for number in range(60)], weights)


@pytest.mark.parametrize("keys", [rotation(2), rotation(64), bursts, zipf])
def test_the_shares_of_keys_are_as_exact_as_promised(
    keys: Callable[[Random], Iterator[str]],
) -> None:
    """The promise is in docs/explanation/partitions.md, with probability 0.999."""
    bound = sqrt(16 * log(2 / 0.001) / REQUESTS)
    exact = Counter(islice(keys(Random(1)), REQUESTS))
    with hashrange.connect(settings=Settings(throughput="measured")) as db:
        db.execute(
            "CreateTable",
            {
                "TableName": "table",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for key in islice(keys(Random(1)), REQUESTS):
            db.execute("GetItem", {"TableName": "table", "Key": {"pk": {"S": key}}})
        [found] = db.inspect("table")
    units = REQUESTS / 2
    assert found["load"]["read_units"] == units, "sums are exact"
    counts = {key: count / units for key, count in accessed(found).items()}
    wrong = {key: counts.get(key, 0) - number / REQUESTS for key, number in exact.items()}
    worst = max(wrong, key=lambda key: abs(wrong[key]))
    print(f"the share of {worst} is wrong by {wrong[worst]:.4f} of at most {bound:.4f}")
    assert abs(wrong[worst]) < bound
    partitions = sum(partition["read_units"] for partition in found["partitions"])
    assert partitions == pytest.approx(units, rel=bound)


def accessed(found: dict[str, Any]) -> dict[str, float]:
    contributors = found["load"]["accessed"]["partition_keys"]
    return {each["key"]["pk"]["S"]: each["count"] for each in contributors}


def test_two_hot_keys_in_turn_divide_their_partition() -> None:
    enforced = Enforced(partition_write_units=1200, heat_seconds=5)
    enforced.create("table", 1, 1200)
    enforced.clock.advance(300)
    keys = cycle("ab")
    for _ in range(30):
        enforced.clock.advance(1)
        for key in islice(keys, 1100):
            item = {"pk": {"S": key}}
            assert enforced.refusal("PutItem", {"TableName": "table", "Item": item}) is None
    enforced.clock.advance(5)
    enforced.put("table", "a")
    while enforced.db._upkeep.run_once():
        pass
    [found] = enforced.db.inspect("table")
    assert max(partition["items"] for partition in found["partitions"]) == 1


@pytest.mark.parametrize("sizes", [(150, 30), (30, 150)])
@pytest.mark.deep
def test_growth_does_not_depend_on_which_writes_are_sampled(sizes: tuple[int, int]) -> None:
    """Large and small writes in turn: the peak is made of exact sums."""
    enforced = Enforced(growth_seconds=0, heat_seconds=10**9, partition_write_units=10**6)
    enforced.create("table")
    for number, kilobytes in zip(range(4096), cycle(sizes), strict=False):
        enforced.put("table", str(number % 40), kilobytes)
    enforced.clock.advance(60)
    for _ in range(2):
        enforced.put("table", "a")
        enforced.clock.advance(1)
    while enforced.db._upkeep.run_once():
        pass
    table = enforced.db.execute("DescribeTable", {"TableName": "table"})["Table"]
    assert table["WarmThroughput"]["WriteUnitsPerSecond"] == 2 * 4096 * 90 // 60
