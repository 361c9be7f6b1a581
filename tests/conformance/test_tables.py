"""Tables after CreateTable: described, listed, changed, protected, deleted."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from .support import (
    Client,
    NewTable,
    Table,
    call,
    cases,
    definition,
    gsi,
    item,
    key_schema,
    lsi,
    plain,
    refused,
    unique_name,
)

NO_TABLE = "ResourceNotFoundException: Requested resource not found: Table: {} not found"
INVALID = "ValidationException: One or more parameter values were invalid: "
THROUGHPUT = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": THROUGHPUT}

# ---- DescribeTable ----


def test_the_answer_to_create_table_describes_it(client: Client) -> None:
    name = unique_name()
    parameters = definition("pk/sk:N", gsi("byOwner", "owner", ["title"]), lsi("byDate", "pk/date"))
    made = call(client, "CreateTable", TableName=name, **parameters)["TableDescription"]
    table = Table(client, name)
    assert made["TableStatus"] in ("CREATING", "ACTIVE")
    described = table.wait()
    call(client, "DeleteTable", TableName=name)
    for member in ("TableName", "TableArn", "TableId", "KeySchema", "CreationDateTime"):
        assert made[member] == described[member]


def test_the_members_of_a_description(new_table: NewTable) -> None:
    table = new_table("pk/sk:N", gsi("byOwner", "owner", ["title"]), lsi("byDate", "pk/date"))
    table.put({"pk": "a", "sk": 1, "owner": "o"}, {"pk": "a", "sk": 2, "date": "d"})
    description = table.wait()
    now = datetime.now(UTC)
    assert abs(description.pop("CreationDateTime") - now) < timedelta(hours=1)
    arn = description.pop("TableArn")
    assert re.fullmatch(rf"arn:aws:dynamodb:[^:]+:\d{{12}}:table/{table.name}", arn)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", description["TableId"])
    assert description["TableId"] == table.wait()["TableId"]
    assert description["TableName"] == table.name
    assert description["TableStatus"] == "ACTIVE"
    assert description["KeySchema"] == key_schema("pk/sk:N")
    assert sorted(description["AttributeDefinitions"], key=lambda d: str(d["AttributeName"])) == [
        {"AttributeName": "date", "AttributeType": "S"},
        {"AttributeName": "owner", "AttributeType": "S"},
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ]
    assert description["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    throughput = description["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (0, 0)
    [local] = description["LocalSecondaryIndexes"]
    assert local["IndexArn"] == f"{arn}/index/byDate"
    assert local["Projection"] == {"ProjectionType": "ALL"}
    assert local["KeySchema"] == key_schema("pk/date")
    [broad] = description["GlobalSecondaryIndexes"]
    assert broad["IndexArn"] == f"{arn}/index/byOwner"
    assert broad["IndexStatus"] == "ACTIVE"
    assert broad["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]}
    assert "Backfilling" not in broad


def test_provisioned_throughput_is_described(new_table: NewTable) -> None:
    index = {**gsi("byOwner", "owner").definition(), "ProvisionedThroughput": THROUGHPUT}
    parameters = definition("pk", gsi("byOwner", "owner"), **PROVISIONED)
    description = new_table("pk", **{**parameters, "GlobalSecondaryIndexes": [index]}).wait()
    for throughput in (
        description["ProvisionedThroughput"],
        description["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"],
    ):
        assert {key: throughput[key] for key in THROUGHPUT} == THROUGHPUT
        assert throughput["NumberOfDecreasesToday"] == 0
    assert description.get("BillingModeSummary", {}).get("BillingMode") in (None, "PROVISIONED")


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("DescribeTable", {}),
        ("DeleteTable", {}),
        ("UpdateTable", {"BillingMode": "PAY_PER_REQUEST"}),
    ],
)
def test_an_absent_table(client: Client, operation: str, more: dict[str, Any]) -> None:
    name = unique_name()
    refused(NO_TABLE.format(name), call, client, operation, TableName=name, **more)


# ---- ARNs as names ----


def test_an_arn_serves_as_a_name(new_table: NewTable) -> None:
    made = new_table("pk")
    arn = made.wait()["TableArn"]
    table = Table(made.client, arn)
    response = table.call("PutItem", Item=item(pk="a", n=1), ReturnConsumedCapacity="TOTAL")
    assert response["ConsumedCapacity"] == {"TableName": arn, "CapacityUnits": 1.0}
    assert made.get(pk="a") == table.get(pk="a") == {"pk": "a", "n": 1}
    assert table.call("Scan")["Count"] == 1
    assert table.query("pk = :p", values={":p": "a"})["Count"] == 1
    request = {arn: {"Keys": [item(pk="a")]}}
    found = call(made.client, "BatchGetItem", RequestItems=request)["Responses"][arn]
    assert [plain(values) for values in found] == [{"pk": "a", "n": 1}]
    delete = {"Delete": {"TableName": arn, "Key": item(pk="a")}}
    call(made.client, "TransactWriteItems", TransactItems=[delete])
    assert made.all() == []
    assert table.wait()["TableName"] == made.name


# ---- ListTables ----


def test_tables_are_listed_in_pages(new_table: NewTable) -> None:
    """Other tables may come and go meanwhile: only ours are looked at."""
    tables = [new_table("pk") for _ in range(5)]
    client = tables[0].client
    seen: list[str] = []
    start: dict[str, str] = {}
    while True:
        page = call(client, "ListTables", Limit=2, **start)
        assert len(page["TableNames"]) <= 2
        seen += page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            break
        assert page["LastEvaluatedTableName"] == page["TableNames"][-1]
        start = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
    ours = {table.name for table in tables}
    assert sorted(name for name in seen if name in ours) == sorted(ours)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("limit", "bound"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")]
)
def test_list_tables_limit(client: Client, limit: int, bound: str) -> None:
    refused(
        f"ValidationException: …imit' failed to satisfy constraint: Member must have value {bound}",
        call,
        client,
        "ListTables",
        Limit=limit,
    )


# ---- DeleteTable ----


def test_a_deleted_table_is_gone_and_its_name_is_free(new_table: NewTable) -> None:
    table = new_table("pk", gsi("byOwner", "owner"))
    table.put({"pk": "a", "owner": "o"})
    first = table.wait()["TableId"]
    deleted = table.call("DeleteTable")["TableDescription"]
    assert (deleted["TableName"], deleted["TableStatus"]) == (table.name, "DELETING")
    wait_until_gone(table)
    table.refused("ResourceNotFoundException: …", "GetItem", Key=item(pk="a"))
    table.call("CreateTable", **definition("pk"))
    assert table.wait()["TableId"] != first
    assert table.all() == []


def wait_until_gone(table: Table) -> None:
    table.client.get_waiter("table_not_exists").wait(
        TableName=table.name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )


def test_a_protected_table_is_not_deleted(new_table: NewTable) -> None:
    table = new_table("pk", DeletionProtectionEnabled=True)
    assert table.wait()["DeletionProtectionEnabled"] is True
    table.refused("ValidationException: …protect…", "DeleteTable")
    table.call("UpdateTable", DeletionProtectionEnabled=False)
    assert table.wait()["DeletionProtectionEnabled"] is False
    table.call("DeleteTable")


# ---- UpdateTable ----


def update(table: Table, **parameters: Any) -> dict[str, Any]:
    table.call("UpdateTable", **parameters)
    return table.wait()


def test_throughput_and_mode_change(new_table: NewTable) -> None:
    table = new_table("pk")
    provisioned = update(table, **PROVISIONED)
    assert provisioned["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
    more = {"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}
    assert (
        update(table, ProvisionedThroughput=more)["ProvisionedThroughput"]["ReadCapacityUnits"] == 7
    )
    on_demand = update(table, BillingMode="PAY_PER_REQUEST")
    assert on_demand["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert "LastUpdateToPayPerRequestDateTime" in on_demand["BillingModeSummary"]


def test_the_throughput_of_an_index_changes(new_table: NewTable) -> None:
    index = {**gsi("byOwner", "owner").definition(), "ProvisionedThroughput": THROUGHPUT}
    parameters = definition("pk", gsi("byOwner", "owner"), **PROVISIONED)
    table = new_table("pk", **{**parameters, "GlobalSecondaryIndexes": [index]})
    more = {"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}
    change = {"IndexName": "byOwner", "ProvisionedThroughput": more}
    [changed] = update(table, GlobalSecondaryIndexUpdates=[{"Update": change}])[
        "GlobalSecondaryIndexes"
    ]
    assert {name: changed["ProvisionedThroughput"][name] for name in more} == more


def test_the_table_class_changes(new_table: NewTable) -> None:
    table = new_table("pk")
    changed = update(table, TableClass="STANDARD_INFREQUENT_ACCESS")
    assert changed["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"


def test_on_demand_throughput_is_capped_and_freed(new_table: NewTable) -> None:
    table = new_table("pk")
    caps = {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 20}
    assert update(table, OnDemandThroughput=caps)["OnDemandThroughput"] == caps
    freed = update(
        table, OnDemandThroughput={"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}
    )
    assert freed.get("OnDemandThroughput", {}).get("MaxReadRequestUnits", -1) == -1


# (name, parameters, the refusal)
UPDATES_REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("nothing", {}, "ValidationException: At least one of …"),
    (
        "the same throughput",
        {"ProvisionedThroughput": THROUGHPUT},
        "ValidationException: The provisioned throughput for the table will not change…",
    ),
    (
        "throughput 0",
        {"ProvisionedThroughput": {**THROUGHPUT, "ReadCapacityUnits": 0}},
        "ValidationException: …Member must have value greater than or equal to 1",
    ),
    (
        "on-demand caps of a provisioned table",
        {"OnDemandThroughput": {"MaxReadRequestUnits": 10}},
        "ValidationException: …",
    ),
    ("no index updates", {"GlobalSecondaryIndexUpdates": []}, "ValidationException: …"),
    (
        "deletion of an absent index",
        {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "absent"}}]},
        "ResourceNotFoundException: Requested resource not found…",
    ),
]


@cases("name, parameters, refusal", UPDATES_REFUSED)
def test_an_update_of_a_table_is_refused(
    new_table: NewTable, name: str, parameters: dict[str, Any], refusal: str
) -> None:
    new_table("pk", **PROVISIONED).refused(refusal, "UpdateTable", **parameters)


def create_index(name: str, keys: str, projection: Any = "ALL") -> dict[str, Any]:
    return {
        "AttributeDefinitions": definition(keys)["AttributeDefinitions"],
        "GlobalSecondaryIndexUpdates": [{"Create": gsi(name, keys, projection).definition()}],
    }


def delete_index(name: str) -> dict[str, Any]:
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}


@pytest.fixture
def filled(new_table: NewTable) -> Table:
    """Ten items of which five have an `owner`, one of them of a type that no index takes."""
    table = new_table("pk")
    table.put(*({"pk": f"p{n}", "n": n} | ({"owner": "o"} if n % 2 else {}) for n in range(10)))
    table.put({"pk": "p9", "n": 9, "owner": 9})
    return table


def test_an_index_is_built_from_existing_items(filled: Table) -> None:
    filled.call("UpdateTable", **create_index("byOwner", "owner/n:N", ["title"]))
    [index] = filled.wait()["GlobalSecondaryIndexes"]
    assert index["IndexStatus"] == "ACTIVE"
    assert [found["n"] for found in filled.all(IndexName="byOwner")] == [1, 3, 5, 7]
    filled.put({"pk": "new", "n": 0, "owner": "o"})
    filled.call("DeleteItem", Key=item(pk="p3"))
    assert [found["n"] for found in filled.all(IndexName="byOwner")] == [0, 1, 5, 7]


def test_an_index_is_deleted_and_created_again(filled: Table) -> None:
    update(filled, **create_index("byOwner", "owner"))
    filled.call("UpdateTable", **delete_index("byOwner"))
    description = wait_until(filled, lambda found: "GlobalSecondaryIndexes" not in found)
    assert [found["AttributeName"] for found in description["AttributeDefinitions"]] == ["pk"]
    filled.refused(
        "ValidationException: The table does not have the specified index: byOwner",
        "Scan",
        IndexName="byOwner",
    )
    filled.put({"pk": "p9", "owner": ["no index takes this"]})
    update(filled, **create_index("byOwner", "n:N"))
    assert filled.call("Scan", IndexName="byOwner")["Count"] == 9


def wait_until(table: Table, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first description for which `holds` is true."""
    for _ in range(600):
        description: dict[str, Any] = table.call("DescribeTable")["Table"]
        if holds(description):
            return description
        time.sleep(0.05)
    raise TimeoutError(f"{table.name} does not change")


# (name, parameters, the refusal)
INDEX_UPDATES_REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("an index that is there", create_index("byOwner", "owner"), "ValidationException: …"),
    (
        "two indexes at once",
        {
            "AttributeDefinitions": definition("a/b")["AttributeDefinitions"],
            "GlobalSecondaryIndexUpdates": [
                {"Create": gsi("byA", "a").definition()},
                {"Create": gsi("byB", "b").definition()},
            ],
        },
        "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or"
        " deleted simultaneously per table",
    ),
    (
        "an index key without definition",
        {"GlobalSecondaryIndexUpdates": [{"Create": gsi("byA", "a").definition()}]},
        "ValidationException: …",
    ),
]


@cases("name, parameters, refusal", INDEX_UPDATES_REFUSED)
def test_an_index_update_is_refused(
    new_table: NewTable, name: str, parameters: dict[str, Any], refusal: str
) -> None:
    new_table("pk", gsi("byOwner", "owner")).refused(refusal, "UpdateTable", **parameters)
