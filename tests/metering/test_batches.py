"""Members of a batch are admitted one after the other, each as if the others had paid."""

from contextlib import suppress
from typing import Any

from loads import Enforced

from hashrange import Database, Settings
from hashrange.kv import Conflict
from hashrange.model.errors import ApiError
from hashrange.storage.memory import MemoryStore
from hashrange.testing import FaultyStore, TestClock

KEYS: Any = {
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
}


def test_one_partition_serves_the_first_members() -> None:
    enforced = Enforced(partition_write_units=3, partition_read_units=2)
    enforced.create("table", **KEYS)
    keys = [{"pk": {"S": "one"}, "sk": {"S": str(number)}} for number in range(10)]
    puts = [{"PutRequest": {"Item": key}} for key in keys]
    answer = enforced.db.execute("BatchWriteItem", {"RequestItems": {"table": puts}})
    assert answer["UnprocessedItems"] == {"table": puts[3:]}
    wanted = {"table": {"Keys": keys}}
    answer = enforced.db.execute("BatchGetItem", {"RequestItems": wanted})
    assert answer["UnprocessedKeys"] == {"table": {"Keys": keys[4:]}}
    assert len(answer["Responses"]["table"]) == 3


def test_a_transaction_is_refused_as_a_whole() -> None:
    enforced = Enforced(partition_write_units=3)
    enforced.create("table", **KEYS)
    keys = [{"pk": {"S": "one"}, "sk": {"S": str(number)}} for number in range(10)]
    actions = [{"Put": {"TableName": "table", "Item": key}} for key in keys]
    assert enforced.refusal("TransactWriteItems", {"TransactItems": actions[:4]}) is None
    refused = enforced.refusal("TransactWriteItems", {"TransactItems": actions[4:]})
    assert refused is not None
    assert refused["__type"].endswith("#ThrottlingException")
    assert enforced.db.execute("Scan", {"TableName": "table"})["Count"] == 4


def test_a_request_that_lost_a_race_is_charged_once() -> None:
    """After a conflict the batch is decided again. Neither is the question asked again."""
    faults = {"commit": (Conflict,)}
    store = FaultyStore(MemoryStore(), rate=0.5, seed=1, faults=faults)
    clock = TestClock(1_800_000_000)
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10}
    table = {"TableName": "table", **KEYS, "ProvisionedThroughput": units}
    with Database(store, clock=clock, settings=Settings(throughput="enforced")) as db:
        db.execute("CreateTable", table)
        admitted = 0
        for number in range(30):
            item = {"pk": {"S": "one"}, "sk": {"S": str(number)}}
            with suppress(ApiError):
                db.execute("PutItem", {"TableName": "table", "Item": item})
                admitted += 1
        assert store.struck[Conflict] > 5
        assert admitted == 10
        [usage] = db.runtime.usage()
        assert usage.write_units == 10


def test_a_transaction_is_admitted_as_a_whole_like_a_single_write() -> None:
    """It may need more units than its table can save; afterwards, the debt is paid."""
    enforced = Enforced()
    enforced.create("table", 1, 1)
    enforced.clock.advance(10_000)
    text = {"S": "x" * 9_000}
    puts = [
        {"Put": {"TableName": "table", "Item": {"pk": {"S": str(number)}, "text": text}}}
        for number in range(50)
    ]
    gets = [{"Get": {"TableName": "table", "Key": {"pk": {"S": str(n)}}}} for n in range(50)]
    statements = [{"Statement": f"SELECT * FROM \"table\" WHERE pk = '{n}'"} for n in range(50)]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("TransactWriteItems", {"TransactItems": puts}),
        ("TransactGetItems", {"TransactItems": gets}),
        ("ExecuteTransaction", {"TransactStatements": statements}),
    ]
    for operation, request in requests:
        assert enforced.refusal(operation, request) is None
        assert enforced.refusal(operation, request) is not None
        enforced.clock.advance(1_000)
