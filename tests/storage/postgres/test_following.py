"""Global indexes that are updated from a log, over PostgreSQL with the statements for Citus."""

import threading
from random import Random
from typing import Any

import pytest
from waiting import wait_for_indexes

import hashrange
from hashrange.kv import slot_of
from hashrange.storage.postgres.landing import Landing

TABLE = "table"
KEYS = 8


@pytest.fixture
def dsn(postgres_dsn: str) -> str:
    return postgres_dsn + "&dialect=citus"


def create(database: hashrange.Database) -> None:
    kinds = {"pk": "HASH", "color": "HASH"}
    database.execute(
        "CreateTable",
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in kinds
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-color",
                    "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
    )


def put(pk: str, color: str) -> dict[str, Any]:
    return {"TableName": TABLE, "Item": {"pk": {"S": pk}, "color": {"S": color}}}


def compare(database: hashrange.Database) -> None:
    wait_for_indexes(database.runtime)
    assert list(database.check()) == []
    found = [
        sorted(str(item) for item in database.execute("Scan", {"TableName": TABLE} | of)["Items"])
        for of in ({}, {"IndexName": "by-color"})
    ]
    assert found[0] == found[1]
    assert found[0]


def test_a_write_of_an_item_is_in_one_slot(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is on one machine, and needs no commit in two phases."""
    slots: list[set[int]] = []
    run = Landing.run

    async def noted(landing: Landing, *others: Any) -> bool:
        folded = landing._folded
        slots.append({slot_of(key) for _, key in folded.rows})
        slots[-1] |= {append.slot for append in folded.appended}
        slots[-1] |= {slot_of(append.prefix) for append in folded.appended}
        return await run(landing, *others)

    with hashrange.connect(dsn) as database:
        create(database)
        wait_for_indexes(database.runtime)
        monkeypatch.setattr(Landing, "run", noted)
        for color in "red", "blue":
            database.execute("PutItem", put("one", color))
            compare(database)
        database.execute("PutItem", put("other", "red"))
        compare(database)
        key = {"TableName": TABLE, "Key": {"pk": {"S": "one"}}}
        database.execute("DeleteItem", key)
        compare(database)
    written = [each for each in slots if each]
    assert sum(len(each) == 1 for each in written) >= 4
    assert {len(each) for each in written} == {1, 2, 3}  # items, and entries that follow them


def test_servers_that_write_the_same_items(dsn: str) -> None:
    def work(database: hashrange.Database, seed: int) -> None:
        random = Random(seed)
        for _ in range(60):
            pk, color = f"p{random.randrange(KEYS)}", random.choice("abcd")
            if random.random() < 0.2:
                key = {"TableName": TABLE, "Key": {"pk": {"S": pk}}}
                database.execute("DeleteItem", key)
            else:
                database.execute("PutItem", put(pk, color))

    with hashrange.connect(dsn) as one, hashrange.connect(dsn) as other:
        create(one)
        threads = [
            threading.Thread(target=work, args=(database, seed))
            for seed in range(3)
            for database in (one, other)
        ]
        for thread in threads:
            thread.start()
        assert list(one.check()) == []  # also while the index is behind
        for thread in threads:
            thread.join()
        one.execute("PutItem", put("last", "a"))
        compare(other)
        [shown] = other.inspect(TABLE)
        assert shown["indexes"][0]["lag_seconds"] == 0.0
