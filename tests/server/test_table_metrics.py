"""`/metrics` counts what CloudWatch counts, by table, index and operation."""

import re
from typing import Any

import msgspec
import pytest

import hashrange
from hashrange import Faults, Settings
from hashrange.model.caller import DEFAULT_CALLER
from hashrange.server.admin import Metrics
from hashrange.server.clients import Answered
from hashrange.testing import TestClock
from hashrange.wire import Call

FORM: Any = None
"""How an answer is sent, which is of no interest here."""

TABLE: dict[str, Any] = {
    "TableName": "table",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "kind")
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-kind",
            "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


class Observed:
    """A database whose answers are told to metrics, as a server tells them."""

    def __init__(self, **settings: Any) -> None:
        settings = {"throughput": "measured", **settings}
        self.clock = TestClock(1_800_000_000)
        self.db = hashrange.connect(settings=Settings(**settings), clock=self.clock)
        self.db.runtime.tell_units()
        runtime = self.db.runtime
        self.metrics = Metrics(
            self.db.figures,
            usage=runtime.usage,
            capacities=runtime.capacities,
            expired=self.db.expired_items,
        )

    def call(self, operation: str, **request: Any) -> None:
        body = msgspec.json.encode(request)
        outcome: Any
        try:
            outcome = self.db.runtime.call(operation, body, DEFAULT_CALLER)
        except Exception as error:
            outcome = error
        call = Call(operation, body, DEFAULT_CALLER, FORM)
        self.metrics.observe(Answered("client", call, outcome, b"HTTP/1.1 200 OK", 0.002))

    def put(self, pk: str, **more: Any) -> None:
        item = {"pk": {"S": pk}, "kind": {"S": "one"}}
        self.call("PutItem", TableName="table", Item=item, **more)

    def found(self) -> dict[str, float]:
        """The metrics of ours that are not 0, by name and labels."""
        text = self.metrics.render({}).body.decode()
        lines = re.findall(r"^aws_dynamodb_(\w\S*) (\S+)$", text, re.MULTILINE)
        return {name.replace('"', ""): float(value) for name, value in lines if float(value)}


@pytest.fixture(autouse=True)
def needs_prometheus() -> None:
    pytest.importorskip("prometheus_client")


BASE = "{global_secondary_index_name=,table_name=table}"
INDEX = "{global_secondary_index_name=by-kind,table_name=table}"


def test_units_items_and_latency() -> None:
    observed = Observed()
    with observed.db:
        observed.call("CreateTable", **TABLE)
        for number in range(5):
            observed.put(str(number))
        observed.call("GetItem", TableName="table", Key={"pk": {"S": "1"}})
        for _ in range(2):
            observed.call("Scan", TableName="table", IndexName="by-kind")
        observed.call("ExecuteStatement", Statement='SELECT * FROM "table"')
        found = observed.found()
    assert found[f"consumed_write_capacity_units_total{BASE}"] == 5
    assert found[f"consumed_write_capacity_units_total{INDEX}"] == 5
    assert found[f"consumed_read_capacity_units_total{BASE}"] == 0.5 + 4 * 0.5
    assert found[f"consumed_read_capacity_units_total{INDEX}"] == 2 * 4 * 0.5
    assert found["returned_item_count_total{operation=Scan,table_name=table}"] == 10
    assert found["returned_item_count_total{operation=ExecuteStatement,table_name=table}"] == 5
    latency = "successful_request_latency_seconds"
    assert found[f"{latency}_count{{operation=PutItem,table_name=table}}"] == 5
    assert found[f"{latency}_sum{{operation=PutItem,table_name=table}}"] == pytest.approx(0.01)
    assert f"{latency}_bucket{{le=0.001,operation=PutItem,table_name=table}}" not in found
    assert found[f"{latency}_bucket{{le=0.0025,operation=PutItem,table_name=table}}"] == 5
    assert found["table_count"] == 1
    assert not any("throttle" in name or "errors" in name for name in found)


def test_errors() -> None:
    on = {"GetItem": {1: "error"}, "UpdateItem": {1: "conflict"}, "TransactWriteItems": {}}
    on["TransactWriteItems"] = {1: "conflict"}
    observed = Observed(faults=Faults(on=on))
    key = {"Key": {"pk": {"S": "a"}}}
    with observed.db:
        observed.call("CreateTable", **TABLE)
        observed.put("a")
        for _ in range(3):
            observed.put("a", ConditionExpression="attribute_not_exists(pk)")
        insert = "INSERT INTO \"table\" VALUE {'pk': 'a'}"
        observed.call("ExecuteStatement", Statement=insert)
        observed.call("GetItem", TableName="table", **key)
        observed.call("GetItem", TableName="absent", **key)
        observed.call("GetItem", TableName="table")
        observed.call("UpdateItem", TableName="table", **key)
        put = {"Put": {"TableName": "table", "Item": {"pk": {"S": "b"}}}}
        observed.call("TransactWriteItems", TransactItems=[put])
        found = observed.found()
    assert found["conditional_check_failed_requests_total{table_name=table}"] == 3
    assert found["system_errors_total{operation=GetItem,table_name=table}"] == 1
    assert found["transaction_conflict_total{table_name=table}"] == 2
    # The duplicate, the absent table, the missing key, and the two conflicts.
    assert found["user_errors_total"] == 5


def test_a_cancelled_transaction_counts_each_failed_condition() -> None:
    observed = Observed()
    absent = {"ConditionExpression": "attribute_not_exists(pk)"}
    puts = {
        pk: {"Put": {"TableName": "table", "Item": {"pk": {"S": pk}}, **absent}} for pk in "abc"
    }
    with observed.db:
        observed.call("CreateTable", **TABLE)
        observed.put("a")
        observed.put("b")
        observed.call("TransactWriteItems", TransactItems=[puts["a"], puts["c"]])
        name = "conditional_check_failed_requests_total{table_name=table}"
        assert observed.found()[name] == 1
        observed.call("TransactWriteItems", TransactItems=[puts["a"], puts["b"], puts["c"]])
        found = observed.found()
    assert found[name] == 3
    assert "user_errors_total" not in found


def test_throttling() -> None:
    observed = Observed(throughput="enforced")
    provisioned: Any = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}
    index = {**TABLE["GlobalSecondaryIndexes"][0], "ProvisionedThroughput": provisioned}
    with observed.db:
        table = {**TABLE, "BillingMode": "PROVISIONED", "GlobalSecondaryIndexes": [index]}
        observed.call("CreateTable", **table, ProvisionedThroughput=provisioned)
        for number in range(5):
            observed.put(str(number))
        for _ in range(4):
            observed.call("Scan", TableName="table", IndexName="by-kind", Limit=1)
        writes = [{"PutRequest": {"Item": {"pk": {"S": pk}}}} for pk in "abcdefgh"]
        observed.clock.advance(1)
        observed.call("BatchWriteItem", RequestItems={"table": writes})
        observed.call("BatchWriteItem", RequestItems={"table": writes})
        found = observed.found()
    assert found["throttled_requests_total{operation=PutItem,table_name=table}"] == 3
    assert found["throttled_requests_total{operation=Scan,table_name=table}"] == 2
    # Only a batch without any member that was processed.
    assert found["throttled_requests_total{operation=BatchWriteItem,table_name=table}"] == 1
    assert found[f"write_throttle_events_total{BASE}"] == 3 + 6 + 8
    assert found[f"write_provisioned_throughput_throttle_events_total{BASE}"] == 3 + 6 + 8
    assert found[f"read_throttle_events_total{INDEX}"] == 2
    assert found[f"read_provisioned_throughput_throttle_events_total{INDEX}"] == 2
    assert f"read_throttle_events_total{BASE}" not in found
    for name in ("key_range_throughput", "account_limit", "max_on_demand_throughput"):
        assert f"write_{name}_throttle_events_total{BASE}" not in found
    assert found[f"provisioned_write_capacity_units{BASE}"] == 2
    assert found[f"provisioned_read_capacity_units{INDEX}"] == 1


def test_on_demand_limits_and_hot_partitions() -> None:
    observed = Observed(throughput="enforced", partition_write_units=3)
    maximum = {"OnDemandThroughput": {"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 100}}
    with observed.db:
        observed.call("CreateTable", **TABLE, **maximum)
        for _ in range(5):
            observed.put("a")
        for _ in range(5):
            observed.call("Scan", TableName="table")
        found = observed.found()
    assert found[f"on_demand_max_write_request_units{BASE}"] == 100
    assert found[f"write_key_range_throughput_throttle_events_total{BASE}"] == 2
    assert found[f"read_max_on_demand_throughput_throttle_events_total{BASE}"] == 4


def test_streams_expiry_and_index_builds() -> None:
    observed = Observed()
    db = observed.db
    with db:
        stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        created = db.execute("CreateTable", {**TABLE, "StreamSpecification": stream})
        for number in range(10):
            observed.put(str(number))
        arn = created["TableDescription"]["LatestStreamArn"]
        shards = db.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
        for shard in shards:
            place = {"StreamArn": arn, "ShardId": shard["ShardId"]}
            place["ShardIteratorType"] = "TRIM_HORIZON"
            iterator = db.execute("GetShardIterator", place)["ShardIterator"]
            observed.call("GetRecords", ShardIterator=iterator)
        ttl = {"Enabled": True, "AttributeName": "expires"}
        db.execute("UpdateTimeToLive", {"TableName": "table", "TimeToLiveSpecification": ttl})
        for pk in "abc":
            item = {"pk": {"S": pk}, "expires": {"N": str(int(observed.clock.now()) - 10)}}
            observed.call("PutItem", TableName="table", Item=item)
        db.run_upkeep()
        found = observed.found()
    assert found["returned_records_count_total{table_name=table}"] == 10
    assert found["returned_bytes_total{table_name=table}"] > 1000
    assert found["time_to_live_deleted_item_count_total{table_name=table}"] == 3


def test_the_progress_of_an_index_build() -> None:
    observed = Observed()
    db = observed.db
    with db:
        key, types = TABLE["KeySchema"], TABLE["AttributeDefinitions"][:1]
        plain = {"AttributeDefinitions": types, "KeySchema": key, "BillingMode": "PAY_PER_REQUEST"}
        db.execute("CreateTable", {"TableName": "table", **plain})
        padding = {"S": "x" * 50_000}
        for number in range(300):
            item = {"pk": {"S": str(number)}, "kind": {"S": "one"}, "padding": padding}
            db.execute("PutItem", {"TableName": "table", "Item": item})
        db._upkeep.close()
        definitions = TABLE["AttributeDefinitions"]
        updates = [{"Create": TABLE["GlobalSecondaryIndexes"][0]}]
        request = {"TableName": "table", "AttributeDefinitions": definitions}
        db.execute("UpdateTable", {**request, "GlobalSecondaryIndexUpdates": updates})
        step = msgspec.json.encode({"TableName": "table", "IndexName": "by-kind"})
        seen = []
        while not msgspec.json.decode(db.runtime.call_upkeep("upkeep.BuildIndex", step))["Done"]:
            seen.append(observed.found().get(f"online_index_percentage_progress{INDEX}", 0))
        assert f"online_index_percentage_progress{INDEX}" not in observed.found()
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert 0 <= seen[0] < seen[-1] <= 100
