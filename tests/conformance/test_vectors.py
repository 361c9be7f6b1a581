"""Vector indexes: their definitions, what may be written, and what that consumes.

The messages are those of the service, captured in autumn 2026.
"""

import time
from typing import Any

import pytest

from .support import Client, NewTable, Table, call, cases, definition, refused, unique_name, wire
from .vectors import defined, found, index, search, vector

INVALID = "ValidationException: One or more parameter values were invalid: "
NOT_VALID = (
    "ValidationException: One or more parameter values are not valid. "
    "One or more parameter values were invalid . "
)
SINGLE = "ValidationException: One or more parameter values were invalid. "
UNDEFINED = (
    INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
    "Keys: [tenant], AttributeDefinitions: [pk]"
)


@pytest.fixture
def docs(new_table: NewTable) -> Table:
    """A table with one vector index that has a HASH attribute and a filter."""
    return new_table(
        VectorIndexes=[index(by="tenant", filters=["kind"])], **defined("tenant", "kind")
    )


# ---- definitions ----

# (name, members of CreateTable, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "provisioned",
        {
            "VectorIndexes": [index()],
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        },
        INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables",
    ),
    (
        "too many dimensions",
        {"VectorIndexes": [index(dimensions=4097)]},
        INVALID + "Number of dimensions must be between 1 and 4096 inclusive.",
    ),
    (
        "six indexes",
        {"VectorIndexes": [index(f"index{number}") for number in range(6)]},
        INVALID + "VectorIndex count exceeds the per-table limit of 5",
    ),
    (
        "other dimensions",
        {"VectorIndexes": [index("one"), index("two", dimensions=5)]},
        INVALID + "Conflicting attribute definition for 'e'. All VectorIndexes on the same vector "
        "attribute must use the same dimensions.",
    ),
    (
        "a defined vector attribute",
        {"VectorIndexes": [index(by="e")], **defined("e")},
        INVALID + "Conflicting attribute definition for 'e'. An attribute cannot be defined in "
        "AttributeDefinitions when used as a VectorAttribute.",
    ),
    ("an undefined HASH attribute", {"VectorIndexes": [index(by="tenant")]}, UNDEFINED),
    (
        "an unused definition",
        {"VectorIndexes": [index()], **defined("tenant")},
        INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: [tenant, pk], "
        "keys used: [pk]",
    ),
    (
        "a name that is used twice",
        {"VectorIndexes": [index(), index()]},
        INVALID + "Duplicate index name: nearest",
    ),
    (
        "no projection type",
        {"VectorIndexes": [{**index(), "Projection": {}}]},
        INVALID + "Unknown ProjectionType: null",
    ),
    (
        "a distance that is unknown",
        {"VectorIndexes": [index(distance="MANHATTAN")]},
        "ValidationException: …Member must satisfy enum value set: …",
    ),
]


@cases("name, members, refusal", REFUSED)
def test_definitions_that_are_refused(
    client: Client, name: str, members: dict[str, Any], refusal: str
) -> None:
    request = {"TableName": unique_name(), **definition("pk"), **members}
    refused(refusal, call, client, "CreateTable", **request)


def test_a_description_shows_the_index(new_table: NewTable) -> None:
    given = index(by="tenant", filters=["kind"], projection=["title"])
    table = new_table(VectorIndexes=[given], **defined("tenant", "kind"))
    [shown] = table.wait()["VectorIndexes"]
    assert shown.pop("IndexArn").endswith(f":table/{table.name}/index/nearest")
    assert shown == {**given, "IndexStatus": "ACTIVE", "IndexSizeBytes": 0, "ItemCount": 0}


def wait_for(table: Table, name: str) -> None:
    for _ in range(400):
        indexes = table.call("DescribeTable")["Table"].get("VectorIndexes", ())
        if any(each["IndexName"] == name and each["IndexStatus"] == "ACTIVE" for each in indexes):
            return
        time.sleep(0.02)
    raise TimeoutError(f"{name} does not become ACTIVE")


def test_an_index_that_is_added_is_built_and_deleted_again(table: Table) -> None:
    fitting = [{"pk": f"p{n}", "n": n} for n in range(20)]
    for each in fitting:
        each_item = {name: wire(value) for name, value in each.items()}
        table.call("PutItem", Item={**each_item, "e": vector(each["n"], 1, 0, 0)})
    table.put({"pk": "of text", "e": "text"}, {"pk": "short", "e": [1]}, {"pk": "none"})
    created = table.call("UpdateTable", VectorIndexUpdates=[{"Create": index()}])
    [shown] = created["TableDescription"]["VectorIndexes"]
    assert (shown["IndexStatus"], shown["Backfilling"]) == ("CREATING", False)
    wait_for(table, "nearest")
    [shown] = table.call("DescribeTable")["Table"]["VectorIndexes"]
    assert "Backfilling" not in shown
    assert shown["ItemCount"] == 20
    assert len(found(table, [0, 1, 0, 0], top=100)) == 20
    create = {"VectorIndexUpdates": [{"Create": index()}]}
    already = "ValidationException: Attempting to create an index which already exists"
    table.refused(already, "UpdateTable", **create)
    two = [{"Create": index("two")}, {"Create": index("three")}]
    only_one = (
        "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or "
        "deleted simultaneously per table"
    )
    table.refused(only_one, "UpdateTable", VectorIndexUpdates=two)
    gone = {"Delete": {"IndexName": "nearest"}}
    deleted = table.call("UpdateTable", VectorIndexUpdates=[gone])["TableDescription"]
    assert deleted["VectorIndexes"][0]["IndexStatus"] == "DELETING"
    assert "VectorIndexes" not in table.wait()
    absent = "ValidationException: The table does not have the specified index: nearest"
    refused(absent, search, table, [1, 2, 3, 4])


def test_an_added_index_must_fit_the_table(docs: Table) -> None:
    def added(**changes: Any) -> dict[str, Any]:
        return {"VectorIndexUpdates": [{"Create": index("other", **changes)}]}

    redefined = (
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same "
        "type as previously defined. Existing schema: Schema:[SchemaElement: key{pk:S:HASH}] "
        "New schema: VectorIndexSchema:[VectorAttribute: key{pk:L:4}]"
    )
    docs.refused(redefined, "UpdateTable", **added(attribute="pk"))
    conflict = INVALID + "Conflicting attribute definition for 'e'. All VectorIndexes on the same …"
    docs.refused(conflict, "UpdateTable", **added(dimensions=5))
    undefined = INVALID + "AttributeDefinitions is not specified for index: other"
    docs.refused(undefined, "UpdateTable", **added(by="tenant"))
    only = INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables"
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    docs.refused(only, "UpdateTable", BillingMode="PROVISIONED", ProvisionedThroughput=units)
    missing = "ResourceNotFoundException: Requested resource not found: Index other for table …"
    gone = [{"Delete": {"IndexName": "other"}}]
    docs.refused(missing, "UpdateTable", VectorIndexUpdates=gone)


# ---- writes ----

# (name, attributes of the item, the refusal)
UNWRITABLE: list[tuple[str, dict[str, Any], str]] = [
    (
        "too short",
        {"e": vector(1, 2, 3)},
        NOT_VALID + "Invalid size for parameter e, Expected: 4, Actual: 3. IndexName: nearest",
    ),
    (
        "empty",
        {"e": {"L": []}},
        NOT_VALID + "Invalid size for parameter e, Expected: 4, Actual: 0. IndexName: nearest",
    ),
    (
        "a text",
        {"e": {"S": "x"}},
        NOT_VALID + "Invalid type for parameter e, Expected: L, Actual: S. IndexName: nearest",
    ),
    (
        "a set",
        {"e": {"NS": ["1", "2", "3", "4"]}},
        NOT_VALID + "Invalid type for parameter e, Expected: L, Actual: NS. IndexName: nearest",
    ),
    (
        "out of 32 bits",
        {"e": vector(0, "3.5E+38", 0, 0)},
        NOT_VALID + "Invalid value for parameter e[1], Value: 3.5E+38 is outside valid range "
        "[-3.4028235E38, 3.4028235E38]. IndexName: nearest",
    ),
    (
        "a text within",
        {"e": {"L": [{"N": "1"}, {"S": "x"}, {"N": "1"}, {"N": "1"}]}},
        SINGLE + "Invalid type for parameter e[1], Expected: 32-bit floating point number, "
        "Actual: S. IndexName: nearest",
    ),
    (
        "HASH of another type",
        {"e": vector(1, 2, 3, 4), "tenant": {"N": "1"}},
        SINGLE + "Attribute 'tenant' type mismatch. Expected: S, Actual: N. IndexName: nearest",
    ),
    (
        "a filter of another type",
        {"kind": {"BOOL": True}},
        SINGLE + "Attribute 'kind' type mismatch. Expected: S, Actual: BOOL. IndexName: nearest",
    ),
    (
        "an empty HASH",
        {"tenant": {"S": ""}},
        "ValidationException: One or more parameter values are not valid. A value specified for a "
        "secondary index key is not supported. The AttributeValue for a key attribute cannot "
        "contain an empty string value. IndexName: nearest, IndexKey: tenant",
    ),
]


@cases("name, attributes, refusal", UNWRITABLE)
def test_attributes_that_no_write_may_give(
    docs: Table, name: str, attributes: dict[str, Any], refusal: str
) -> None:
    written = {"pk": {"S": "p"}, **attributes}
    docs.refused(refusal, "PutItem", Item=written)
    assignments = ", ".join(f"{each} = :{each}" for each in attributes)
    values = {f":{each}": value for each, value in attributes.items()}
    update = {"UpdateExpression": f"SET {assignments}", "ExpressionAttributeValues": values}
    docs.refused(refusal, "UpdateItem", Key={"pk": {"S": "p"}}, **update)
    batch = {docs.name: [{"PutRequest": {"Item": written}}]}
    refused(refusal, call, docs.client, "BatchWriteItem", RequestItems=batch)
    reason = refusal.partition(": ")[2]
    put = [{"Put": {"TableName": docs.name, "Item": written}}]
    cancelled = "TransactionCanceledException: …[ValidationError]"
    error = refused(cancelled, call, docs.client, "TransactWriteItems", TransactItems=put)
    assert [each["Message"] for each in error["CancellationReasons"]] == [reason]
    assert docs.get(pk="p") is None


def test_an_update_is_checked_for_what_it_changes(table: Table) -> None:
    table.put({"pk": "old", "e": "no vector", "n": 1})
    table.call("UpdateTable", VectorIndexUpdates=[{"Create": index()}])
    wait_for(table, "nearest")
    key = {"Key": {"pk": {"S": "old"}}}
    table.call(
        "UpdateItem",
        **key,
        UpdateExpression="ADD n :n",
        ExpressionAttributeValues={":n": {"N": "1"}},
    )
    assert table.get(pk="old") == {"pk": "old", "e": "no vector", "n": 2}
    assert found(table, [1, 2, 3, 4]) == []
    changed = {
        "UpdateExpression": "SET e = :e",
        "ExpressionAttributeValues": {":e": vector(1, 2, 3, 4)},
    }
    table.call("UpdateItem", **key, **changed)
    assert found(table, [1, 2, 3, 4]) == ["old"]


def test_partiql_writes_the_index(docs: Table) -> None:
    statement = (
        f"""INSERT INTO "{docs.name}" VALUE {{'pk': 'p', 'tenant': 't', 'e': [1, 0, 0, 0]}}"""
    )
    call(docs.client, "ExecuteStatement", Statement=statement)
    condition: dict[str, Any] = {"where": "tenant = :t", "values": {":t": "t"}}
    assert found(docs, [1, 0, 0, 0], **condition) == ["p"]
    call(docs.client, "ExecuteStatement", Statement=f"""DELETE FROM "{docs.name}" WHERE pk = 'p'""")
    assert found(docs, [1, 0, 0, 0], **condition) == []
    refusal = NOT_VALID + "Invalid size for parameter e, Expected: 4, Actual: 1. IndexName: nearest"
    wrong = f"""INSERT INTO "{docs.name}" VALUE {{'pk': 'p', 'e': [1]}}"""
    refused(refusal, call, docs.client, "ExecuteStatement", Statement=wrong)


# ---- capacity ----


def consumed(table: Table, operation: str, **parameters: Any) -> Any:
    response = table.call(operation, ReturnConsumedCapacity="INDEXES", **parameters)
    capacity = response["ConsumedCapacity"]
    return capacity["CapacityUnits"], capacity.get("VectorIndexes")


def test_what_writes_consume(new_table: NewTable) -> None:
    table = new_table(
        VectorIndexes=[index(by="tenant", dimensions=768, projection="KEYS_ONLY")],
        **defined("tenant"),
    )
    long = vector(*["0.123456789012345"] * 768)  # 9 bytes and one more each, 7,683 in all
    item = {"pk": {"S": "p"}, "tenant": {"S": "t"}, "e": long}
    packed = len("pkp") + len("tenantt") + len("e") + 4 * 768
    written = {"nearest": {"VectorWriteRequestBytes": float(packed)}}
    # The item has 7.7 KB, and 3.1 KB with its vector in 32 bits.
    assert consumed(table, "PutItem", Item=item) == (4.0, written)
    assert consumed(table, "PutItem", Item=item) == (4.0, None)
    assert table.call("DescribeTable")["Table"]["TableSizeBytes"] == packed
    key = {"pk": {"S": "p"}}
    read = table.call("GetItem", Key=key, ReturnConsumedCapacity="TOTAL", ConsistentRead=True)
    assert read["ConsumedCapacity"]["CapacityUnits"] == 2.0
    moved = {
        "UpdateExpression": "SET tenant = :t",
        "ExpressionAttributeValues": {":t": {"S": "u"}},
    }
    twice = {"nearest": {"VectorWriteRequestBytes": 2.0 * packed}}
    assert consumed(table, "UpdateItem", Key=key, **moved) == (4.0, twice)
    assert consumed(table, "UpdateItem", Key=key, UpdateExpression="SET x = tenant") == (4.0, None)
    [shown] = table.call("DescribeTable")["Table"]["VectorIndexes"]
    assert (shown["ItemCount"], shown["IndexSizeBytes"]) == (1, packed)
    _, arm = consumed(table, "DeleteItem", Key=key)
    assert arm == written
    description = table.call("DescribeTable")["Table"]
    assert (description["TableSizeBytes"], description["VectorIndexes"][0]["ItemCount"]) == (0, 0)


def test_a_short_entry_costs_a_kilobyte_and_total_does_not_show_it(docs: Table) -> None:
    item = {"pk": {"S": "p"}, "tenant": {"S": "t"}, "e": vector(1, 2, 3, 4)}
    least = {"nearest": {"VectorWriteRequestBytes": 1024.0}}
    assert consumed(docs, "PutItem", Item=item) == (1.0, least)
    response = docs.call("DeleteItem", Key={"pk": {"S": "p"}}, ReturnConsumedCapacity="TOTAL")
    assert "VectorIndexes" not in response["ConsumedCapacity"]
    where: dict[str, Any] = {"where": "tenant = :t", "values": {":t": "t"}}
    searched = search(docs, [1, 2, 3, 4], ReturnConsumedCapacity="TOTAL", **where)
    assert searched["ConsumedCapacity"] == {"VectorSearchRequestBytes": 1024.0}
