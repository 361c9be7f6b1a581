"""Throughput that is enforced: what is admitted and what is refused, as load over time.

The clock is set by the tests, so hours pass in milliseconds.
"""

from random import Random
from typing import Any

import pytest
from loads import Enforced, by_kind, units

import hashrange
from hashrange import Settings

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. Consider "
    "increasing your provisioning level with the UpdateTable API."
)
PROVISIONED_INDEX = (
    "The level of configured provisioned throughput for one or more global secondary indexes of "
    "the table was exceeded. Consider increasing your provisioning level for the under-provisioned "
    "global secondary indexes with the UpdateTable API"
)
ON_DEMAND = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "
    "scaling your table or index so please try again shortly. If exceptions persist, check if you "
    "have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "bp-partition-key-design.html"
)
MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
INDEX_BEHIND = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is "
    "automatically scaling your index so please try again shortly."
)


@pytest.fixture
def enforced() -> Enforced:
    return Enforced()


# ---- refusals ----


def test_a_write_is_admitted_while_there_is_credit_and_then_there_is_a_debt(
    enforced: Enforced,
) -> None:
    enforced.create("table", 1, 1)
    assert enforced.put("table", "a", 350) is None
    refused = {
        "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
        "message": PROVISIONED,
        "ThrottlingReasons": [
            {"reason": "TableWriteProvisionedThroughputExceeded", "resource": f"{ARN}table"}
        ],
    }
    enforced.clock.advance(348)
    assert enforced.put("table", "b") == refused
    enforced.clock.advance(2)
    assert enforced.put("table", "b") is None


def test_inspect_shows_the_credit_of_partitions_tables_and_indexes(enforced: Enforced) -> None:
    enforced.create("table", 10, 100, **by_kind(ProvisionedThroughput=units(5, 50)))
    enforced.put("table", "a", 30, kind={"S": "one"})
    enforced.clock.advance(0.1)

    def credit(found: dict[str, Any]) -> tuple[Any, Any]:
        return found["read_credit"], found["write_credit"]

    [table] = enforced.db.inspect("table")
    [part], [index] = table["partitions"], table["indexes"]
    assert credit(part) == pytest.approx((3000, 1000))
    assert credit(table["load"]) == pytest.approx((11, 100 - 30 + 10))
    assert credit(index["partitions"][0]) == pytest.approx((3000, 1000))
    assert credit(index["load"]) == pytest.approx((5.5, 50 - 30 + 5))
    enforced.create("on-demand")
    [table] = enforced.db.inspect("on-demand")
    assert credit(table["load"]) == (None, None)
    with hashrange.connect(settings=Settings(throughput="measured")) as db:
        enforced.db = db
        enforced.create("table")
        [table] = db.inspect("table")
    assert "write_credit" not in table["load"]
    assert "write_credit" not in table["partitions"][0]


def test_three_writes_of_400_kb_pass_and_the_fourth_is_refused(enforced: Enforced) -> None:
    """The table is on demand: only its partitions limit it, to 1,000 write units a second."""
    enforced.create("table")
    assert [enforced.put("table", "a", 390) for _ in range(3)] == [None] * 3
    refused = {
        "__type": "com.amazon.coral.availability#ThrottlingException",
        "message": ON_DEMAND,
        "throttlingReasons": [
            {"reason": "TableWriteKeyRangeThroughputExceeded", "resource": f"{ARN}table"}
        ],
    }
    assert enforced.put("table", "a", 390) == refused
    others = [enforced.put("table", pk) for pk in "bcdefghij"]
    assert None in others, "other partitions are not affected"
    assert refused in others, "other keys of the same partition are"
    enforced.clock.advance(0.5)
    assert enforced.put("table", "a") is None


def test_a_key_range_of_a_provisioned_table(enforced: Enforced) -> None:
    enforced.create("table", 1, 2000)
    refused = [enforced.put("table", "a", 390) for _ in range(4)][3]
    assert refused is not None
    assert refused["message"] == PROVISIONED
    assert refused["ThrottlingReasons"] == [
        {"reason": "TableWriteKeyRangeThroughputExceeded", "resource": f"{ARN}table"}
    ]


def test_the_maximum_of_a_table_on_demand(enforced: Enforced) -> None:
    maximum = {"MaxReadRequestUnits": 2, "MaxWriteRequestUnits": 5}
    enforced.create("table", OnDemandThroughput=maximum)
    assert enforced.admitted("table", 20) == 5
    refused = enforced.put("table", "a")
    assert refused is not None
    assert refused["message"] == MAXIMUM
    [reason] = refused["throttlingReasons"]
    assert reason["reason"] == "TableWriteMaxOnDemandThroughputExceeded"
    get = {"TableName": "table", "Key": {"pk": {"S": "a"}}}
    assert [enforced.refusal("GetItem", get) for _ in range(4)] == [None] * 4
    refused = enforced.refusal("GetItem", get)
    assert refused is not None
    [reason] = refused["throttlingReasons"]
    assert reason["reason"] == "TableReadMaxOnDemandThroughputExceeded"


def test_unused_units_are_kept_for_five_minutes(enforced: Enforced) -> None:
    enforced.create("table", 1, 2)
    assert enforced.admitted("table", 10) == 2
    for seconds, admitted in ((1, 2), (10, 20), (300, 600), (10_000, 600)):
        enforced.clock.advance(seconds)
        assert enforced.admitted("table", 1000) == admitted


def test_reads_and_writes_are_limited_independently(enforced: Enforced) -> None:
    enforced.create("table", 1, 1)
    assert enforced.admitted("table", 5) == 1
    get = {"TableName": "table", "Key": {"pk": {"S": "a"}}, "ConsistentRead": True}
    assert enforced.refusal("GetItem", get) is None
    refused = enforced.refusal("GetItem", get)
    assert refused is not None
    assert refused["ThrottlingReasons"][0]["reason"] == "TableReadProvisionedThroughputExceeded"
    for operation, request in (
        ("Scan", {"TableName": "table"}),
        ("ExecuteStatement", {"Statement": "SELECT * FROM \"table\" WHERE pk = 'a'"}),
        (
            "TransactGetItems",
            {"TransactItems": [{"Get": {k: get[k] for k in ("TableName", "Key")}}]},
        ),
        ("BatchGetItem", {"RequestItems": {"table": {"Keys": [get["Key"]]}}}),
    ):
        assert enforced.refusal(operation, request) == refused


def test_a_refused_write_leaves_no_trace_and_costs_nothing(enforced: Enforced) -> None:
    enforced.create("table", 5, 1)
    assert enforced.put("table", "a") is None
    for _ in range(100):
        assert enforced.put("table", "b") is not None
    enforced.clock.advance(1)
    assert enforced.db.execute("Scan", {"TableName": "table"})["Count"] == 1
    assert enforced.put("table", "b") is None


def test_a_failed_condition_consumes_units(enforced: Enforced) -> None:
    enforced.create("table", 1, 1)
    request = {
        "TableName": "table",
        "Item": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_exists(pk)",
    }
    refused = enforced.refusal("PutItem", request)
    assert refused is not None
    assert refused["__type"].endswith("#ConditionalCheckFailedException")
    refused = enforced.refusal("PutItem", request)
    assert refused is not None
    assert refused["message"] == PROVISIONED


def test_more_units_take_effect_at_once(enforced: Enforced) -> None:
    enforced.create("table", 1, 1)
    assert enforced.admitted("table", 10) == 1
    request = {"TableName": "table", "ProvisionedThroughput": units(1, 100)}
    enforced.db.execute("UpdateTable", request)
    enforced.clock.advance(1)
    assert enforced.admitted("table", 1000) == 100


# ---- batches and transactions ----


def test_requests_that_a_batch_could_not_write_are_unprocessed(enforced: Enforced) -> None:
    enforced.create("table", 10, 10)
    puts = [{"PutRequest": {"Item": {"pk": {"S": str(n)}}}} for n in range(20)]
    puts += [{"DeleteRequest": {"Key": {"pk": {"S": str(n)}}}} for n in range(100, 105)]
    answer = enforced.db.execute("BatchWriteItem", {"RequestItems": {"table": puts}})
    assert answer["UnprocessedItems"] == {"table": puts[10:]}
    refused = enforced.refusal("BatchWriteItem", {"RequestItems": {"table": puts}})
    assert refused is not None
    assert refused["message"] == PROVISIONED
    enforced.clock.advance(2)
    assert enforced.db.execute("BatchWriteItem", {"RequestItems": answer["UnprocessedItems"]}) == {
        "UnprocessedItems": {}
    }


def test_keys_that_a_batch_could_not_read_are_unprocessed(enforced: Enforced) -> None:
    enforced.create("table", 2, 10)
    keys = [{"pk": {"S": str(n)}} for n in range(9)]
    wanted = {"Keys": keys, "ConsistentRead": True}
    answer = enforced.db.execute("BatchGetItem", {"RequestItems": {"table": wanted}})
    assert answer["UnprocessedKeys"] == {"table": {"Keys": keys[2:], "ConsistentRead": True}}


def test_a_transaction_is_refused_as_a_whole(enforced: Enforced) -> None:
    enforced.create("small", 1, 1)
    enforced.create("large", 100, 100)
    assert enforced.put("small", "a") is None
    items = [
        {"Put": {"TableName": name, "Item": {"pk": {"S": "t"}}}} for name in ("large", "small")
    ]
    refused = enforced.refusal("TransactWriteItems", {"TransactItems": items})
    assert refused is not None
    assert refused["message"] == PROVISIONED
    statements = [
        {"Statement": f"INSERT INTO \"{name}\" VALUE {{'pk': 't'}}"} for name in ("large", "small")
    ]
    assert enforced.refusal("ExecuteTransaction", {"TransactStatements": statements}) == refused
    assert enforced.db.execute("Scan", {"TableName": "large"})["Count"] == 0


def test_members_of_a_batch_of_statements_have_a_code_and_a_message(enforced: Enforced) -> None:
    enforced.create("table", 1, 1)
    statements = [{"Statement": f"INSERT INTO \"table\" VALUE {{'pk': '{n}'}}"} for n in range(3)]
    answer = enforced.db.execute("BatchExecuteStatement", {"Statements": statements})
    error = {"Code": "ProvisionedThroughputExceeded", "Message": PROVISIONED}
    assert [response.get("Error") for response in answer["Responses"]] == [None, error, error]


# ---- global indexes ----


def test_an_index_that_falls_behind_pushes_back(enforced: Enforced) -> None:
    """Its table has units to spare, but all of its writes are refused, also those that do not
    touch the index."""
    enforced = Enforced(index_backlog_units=20)
    enforced.create("table", 100, 1000, **by_kind(ProvisionedThroughput=units(1, 1)))
    kind = {"kind": {"S": "x"}}
    refusals = [enforced.put("table", str(n), 1, **kind) for n in range(60)]
    assert refusals.count(None) == 22
    assert refusals[-1] is not None
    assert refusals[-1]["message"] == PROVISIONED_INDEX
    reason = {
        "reason": "IndexWriteProvisionedThroughputExceeded",
        "resource": f"{ARN}table/index/by-kind",
    }
    assert refusals[-1]["ThrottlingReasons"] == [reason]
    assert enforced.put("table", "without") == refusals[-1]
    enforced.clock.advance(10)
    assert enforced.put("table", "without") is None


def test_a_hot_key_of_an_index_on_demand_pushes_back() -> None:
    enforced = Enforced(index_backlog_units=0)
    enforced.create("table", **by_kind())
    kind = {"kind": {"S": "x"}}
    refusals = [enforced.put("table", str(n), 100, **kind) for n in range(20)]
    refused = refusals[-1]
    assert refused is not None
    assert refused["message"] == INDEX_BEHIND
    reason = {
        "reason": "IndexWriteKeyRangeThroughputExceeded",
        "resource": f"{ARN}table/index/by-kind",
    }
    assert refused["throttlingReasons"] == [reason]
    assert refusals.count(None) == 11


def test_a_read_of_an_index_uses_its_own_units(enforced: Enforced) -> None:
    enforced.create("table", 100, 100, **by_kind(ProvisionedThroughput=units(1, 100)))
    query = {
        "TableName": "table",
        "IndexName": "by-kind",
        "KeyConditionExpression": "kind = :k",
        "ExpressionAttributeValues": {":k": {"S": "x"}},
    }
    assert [enforced.refusal("Query", query) for _ in range(2)] == [None, None]
    refused = enforced.refusal("Query", query)
    assert refused is not None
    assert refused["message"] == PROVISIONED_INDEX
    [reason] = refused["ThrottlingReasons"]
    assert reason == {
        "reason": "IndexReadProvisionedThroughputExceeded",
        "resource": f"{ARN}table/index/by-kind",
    }
    assert enforced.refusal("Scan", {"TableName": "table"}) is None


# ---- a model of the meter ----


@pytest.mark.parametrize("seed", range(20))
def test_the_meter_agrees_with_a_model_of_it(seed: int) -> None:
    """One provisioned table with one partition: two buckets, of the table and of the partition."""
    random = Random(seed)
    rate, cap = random.choice([1, 3, 20, 150]), 40
    enforced = Enforced(partition_write_units=cap, burst_seconds=30, heat_seconds=1e9)
    enforced.create("table", 1, rate)
    table, partition = float(rate), float(cap)
    for number in range(300):
        size = random.choice([1, 1, 1, 5, 100])
        seconds = random.choice([0, 0, 0, 0.125, 1, 7, 60])
        enforced.clock.advance(seconds)
        table = min(rate * 30.0, table + rate * seconds)
        partition = min(float(cap), partition + cap * seconds)
        admitted = enforced.put("table", str(number), size) is None
        assert admitted == (table > 0 and partition > 0)
        if admitted:
            table, partition = table - size, partition - size


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"throughput": "on"}, "throughput must be one of"),
        ({"partition_write_units": 0}, "partition_write_units must be a number above 0, not 0"),
        ({"burst_seconds": -1}, "burst_seconds must be a number above 0, not -1"),
        (
            {"index_backlog_units": float("nan")},
            "index_backlog_units must be a number of at least 0",
        ),
        ({"partition_bytes": float("inf")}, "partition_bytes must be a number above 0, not inf"),
        ({"growth_seconds": "60"}, "growth_seconds must be a number of at least 0, not '60'"),
        ({"heat_share": 1.5}, "heat_share must be a number above 0 and at most 1, not 1.5"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        hashrange.connect(settings=Settings(**settings))
