"""Reads that may be old: by how much, which ones, and the same again with the same seed."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from loads import by_kind

import hashrange
from hashrange import Database, Eventual, Settings
from hashrange.testing import TestClock

KEY = {"pk": {"S": "a"}}


class Lagging:
    """A database with a table and an index whose reads may be old, and a clock."""

    def __init__(self, **members: Any) -> None:
        self.clock = TestClock(1_800_000_000)
        settings = Settings(consistency=Eventual(**members))
        self.db: Database = hashrange.connect(clock=self.clock, settings=settings)
        self.db.execute(
            "CreateTable",
            {
                "TableName": "table",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
                **by_kind(),
            },
        )

    def put(self, n: int, pk: str = "a", kind: str = "k") -> None:
        item = {"pk": {"S": pk}, "kind": {"S": kind}, "n": {"N": str(n)}}
        self.db.execute("PutItem", {"TableName": "table", "Item": item})

    def get(self, **members: Any) -> int | None:
        found = self.db.execute("GetItem", {"TableName": "table", "Key": KEY, **members})
        return int(found["Item"]["n"]["N"]) if "Item" in found else None

    def query(self, kind: str = "k") -> list[int]:
        request = {
            "TableName": "table",
            "IndexName": "by-kind",
            "KeyConditionExpression": "kind = :k",
            "ExpressionAttributeValues": {":k": {"S": kind}},
        }
        return [int(item["n"]["N"]) for item in self.db.execute("Query", request)["Items"]]

    def scan(self, **members: Any) -> list[int]:
        request = {"TableName": "table", **members}
        return sorted(int(item["n"]["N"]) for item in self.db.execute("Scan", request)["Items"])


def test_the_worst_read_is_as_old_as_allowed() -> None:
    lagging = Lagging(worst=True, lag_max=2)
    lagging.put(1)
    assert lagging.get() is None
    assert lagging.query() == []
    assert lagging.scan() == []
    lagging.clock.advance(1)
    lagging.put(2)
    lagging.clock.advance(1)
    assert lagging.get() == 1
    assert lagging.query() == [1]
    lagging.put(3, kind="other")
    lagging.clock.advance(1.5)
    assert (lagging.get(), lagging.query(), lagging.query("other")) == (2, [2], [])
    lagging.clock.advance(0.5)
    assert (lagging.get(), lagging.query(), lagging.query("other")) == (3, [], [3])


def test_strong_reads_and_transactions_are_never_old() -> None:
    lagging = Lagging(worst=True)
    lagging.put(1)
    assert lagging.get(ConsistentRead=True) == 1
    assert lagging.scan(ConsistentRead=True) == [1]
    gets = [{"Get": {"TableName": "table", "Key": KEY}}]
    [found] = lagging.db.execute("TransactGetItems", {"TransactItems": gets})["Responses"]
    assert found["Item"]["n"] == {"N": "1"}
    wanted = {"table": {"Keys": [KEY], "ConsistentRead": True}}
    answer = lagging.db.execute("BatchGetItem", {"RequestItems": wanted})["Responses"]
    assert len(answer["table"]) == 1
    wanted["table"].pop("ConsistentRead")
    assert lagging.db.execute("BatchGetItem", {"RequestItems": wanted})["Responses"] == {
        "table": []
    }
    statement = {"Statement": "SELECT * FROM \"table\" WHERE pk = 'a'"}
    assert lagging.db.execute("ExecuteStatement", statement)["Items"] == []
    statement["ConsistentRead"] = True  # type: ignore[assignment]
    assert len(lagging.db.execute("ExecuteStatement", statement)["Items"]) == 1


def test_a_condition_is_decided_on_the_latest_item() -> None:
    lagging = Lagging(worst=True)
    lagging.put(1)
    request = {
        "TableName": "table",
        "Key": KEY,
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
        "ReturnValues": "UPDATED_NEW",
    }
    for n in range(2, 6):
        assert lagging.db.execute("UpdateItem", request)["Attributes"] == {"n": {"N": str(n)}}
    assert lagging.get() is None


def test_a_deleted_item_is_still_there_for_a_while() -> None:
    lagging = Lagging(worst=True)
    lagging.put(1)
    lagging.clock.advance(5)
    lagging.db.execute("DeleteItem", {"TableName": "table", "Key": KEY})
    assert (lagging.get(), lagging.query(), lagging.scan()) == (1, [1], [1])
    lagging.clock.advance(1)
    assert (lagging.get(), lagging.query(), lagging.scan()) == (None, [], [])


def test_pages_of_the_past_are_complete() -> None:
    """Limits and continuation are those of the rows as they are shown, each old or new."""
    lagging = Lagging(worst=True)
    random = Random(1)
    for n in range(100):
        lagging.put(n, pk=str(n))
    lagging.clock.advance(2)
    before = set(lagging.scan())
    for n in random.sample(range(200), 80):
        if random.random() < 0.5:
            lagging.put(1000 + n, pk=str(n))
        else:
            key = {"pk": {"S": str(n)}}
            lagging.db.execute("DeleteItem", {"TableName": "table", "Key": key})
    found: list[int] = []
    request: dict[str, Any] = {"TableName": "table", "Limit": 7}
    while True:
        page = lagging.db.execute("Scan", request)
        assert len(page["Items"]) <= 7
        found += [int(item["n"]["N"]) for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    after = set(lagging.scan(ConsistentRead=True))
    assert before & after <= set(found) <= before | after
    assert set(found) & (before - after)
    assert set(found) & (after - before)
    assert len({n % 1000 for n in found}) == len(found), "no item is there twice"


@pytest.mark.parametrize("members", [{"worst": True}, {"lag": 0.5, "lag_max": 3}])
def test_a_batch_may_show_a_part_of_a_transaction(members: dict[str, Any]) -> None:
    lagging = Lagging(**members)
    keys = [{"pk": {"S": str(number)}} for number in range(2)]
    wanted = {"RequestItems": {"table": {"Keys": keys}}}
    seen = set()
    for _ in range(60):
        puts = [{"Put": {"TableName": "table", "Item": key}} for key in keys]
        deletes = [{"Delete": {"TableName": "table", "Key": key}} for key in keys]
        for actions in (puts, deletes):
            lagging.db.execute("TransactWriteItems", {"TransactItems": actions})
            lagging.clock.advance(0.3)
            items = lagging.db.execute("BatchGetItem", wanted)["Responses"]["table"]
            seen.add(len(items))
            lagging.clock.advance(5)
    assert seen == {0, 1, 2}


def test_an_entry_that_moves_may_be_seen_twice_or_not_at_all() -> None:
    lagging = Lagging(worst=True)
    scan = {"TableName": "table", "IndexName": "by-kind", "Select": "COUNT"}
    seen = set()
    for number in range(60):
        lagging.put(1, kind=str(number))
        if number:
            seen.add(lagging.db.execute("Scan", scan)["Count"])
        lagging.clock.advance(5)
    assert seen == {0, 1, 2}


def test_a_local_index_shows_items_as_they_are_read() -> None:
    """Attributes that it does not project are those of the same moment."""
    lagging = Lagging(worst=True)
    local = {
        "IndexName": "local",
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "kind", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    key = [("pk", "HASH"), ("sk", "RANGE")]
    lagging.db.execute(
        "CreateTable",
        {
            "TableName": "sorted",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "kind")
            ],
            "KeySchema": [{"AttributeName": name, "KeyType": type_} for name, type_ in key],
            "LocalSecondaryIndexes": [local],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    query = {
        "TableName": "sorted",
        "IndexName": "local",
        "Select": "ALL_ATTRIBUTES",
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": {":a": {"S": "a"}},
    }
    for number in range(60):
        for sk in "xyz":
            item = {"pk": "a", "sk": sk, "kind": str(number % 7), "n": str(number % 7)}
            item_ = {name: {"S": text} for name, text in item.items()}
            lagging.db.execute("PutItem", {"TableName": "sorted", "Item": item_})
            if number % 5 == 4:
                item_ = {name: item_[name] for name in ("pk", "sk")}
                lagging.db.execute("DeleteItem", {"TableName": "sorted", "Key": item_})
            for shown in lagging.db.execute("Query", query)["Items"]:
                assert shown["kind"] == shown["n"]
        lagging.clock.advance(0.4)


def history(seed: int) -> list[int | None]:
    lagging = Lagging(seed=seed, lag=0.5, lag_max=3)
    found = []
    for n in range(200):
        lagging.put(n)
        lagging.clock.advance(0.2)
        found.append(lagging.get())
    return found


def test_the_same_seed_gives_the_same_answers() -> None:
    assert history(1) == history(1) != history(2)


def test_a_third_of_the_reads_meets_the_leader_and_reads_may_go_back_in_time() -> None:
    found = history(3)
    fresh = sum(n == at for at, n in enumerate(found))
    assert 200 / 3 * 0.7 < fresh < 200 / 3 * 1.7  # and some of the others have a short lag
    known = [n for n in found if n is not None]
    assert any(later < earlier for earlier, later in pairwise(known))
    lags = [at - n for at, n in enumerate(found) if n is not None]
    assert 0 <= min(lags) < max(lags) <= 15, "three seconds at five writes a second"


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"lag": 0}, "lag must be a number above 0 and at most 1, not 0"),
        ({"lag_max": float("inf")}, "lag_max must be a number above 0, not inf"),
        ({"lag": 2}, "lag must be a number above 0 and at most 1, not 2"),
    ],
)
def test_lags_that_make_no_sense_are_refused(members: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Lagging(**members)


def test_an_eventual_is_wanted() -> None:
    wrong: Any = True
    with pytest.raises(ValueError, match=r"consistency must be an Eventual, not True"):
        hashrange.connect(settings=Settings(consistency=wrong))
