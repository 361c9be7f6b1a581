"""Which error wins when a table operation has several faults: first fault first.

Each fault is tried alone, then with every later one that changes other members.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from .support import (
    NewTable,
    Table,
    attribute_definitions,
    call,
    definition,
    gsi,
    key_schema,
    refused,
)

INVALID = "ValidationException: One or more parameter values were invalid: "
NO_DEFINITION = (
    "ValidationException: Invalid KeySchema: Some index key attribute have no definition"
)
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
MORE_UNITS = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}

# A fault: its name, the members that make it, its error.
Fault = tuple[str, dict[str, Any], str]


def index(keys: str = "owner", **members: Any) -> dict[str, Any]:
    return {**gsi("byOwner", keys).definition(), **members}


# Of a good request for the keys pk/sk with the index byOwner, on demand.
CREATE: list[Fault] = [
    ("a name that is none", {"TableName": "x"}, "ValidationException: …Value 'x' at 'tableName'…"),
    ("throughput on demand", {"ProvisionedThroughput": UNITS}, INVALID + "Neither…"),
    (
        "a definition twice",
        {"AttributeDefinitions": attribute_definitions("pk/sk") * 2},
        "ValidationException: Attribute Name is duplicated: pk",
    ),
    (
        "three key attributes",
        {"KeySchema": key_schema("pk/sk,owner")},
        "ValidationException: 1 validation error detected: Value '[KeySchemaElement("
        "attributeName=pk, keyType=HASH), KeySchemaElement(attributeName=sk, keyType=RANGE),"
        " KeySchemaElement(attributeName=owner, keyType=RANGE)]' at 'keySchema' failed to satisfy"
        " constraint: Member must have length less than or equal to 2",
    ),
    ("too few definitions", {"AttributeDefinitions": attribute_definitions("pk")}, NO_DEFINITION),
    (
        "other definitions",
        {"AttributeDefinitions": attribute_definitions("pk/x", "owner")},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys: …,"
        " AttributeDefinitions: [x, owner, pk]",
    ),
    (
        "a sort key first",
        {"KeySchema": key_schema("pk/sk")[::-1]},
        "ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
    (
        "two partition keys",
        {"KeySchema": key_schema("pk,sk")},
        "ValidationException: Invalid KeySchema: The second KeySchemaElement is not a RANGE key"
        " type",
    ),
    (
        "no local indexes",
        {"LocalSecondaryIndexes": []},
        INVALID + "List of LocalSecondaryIndexes is empty",
    ),
    (
        "no global indexes",
        {"GlobalSecondaryIndexes": []},
        INVALID + "List of GlobalSecondaryIndexes is empty",
    ),
    (
        "no definition of an index key",
        {"AttributeDefinitions": attribute_definitions("pk/sk", "x")},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. Keys:"
        " [owner], AttributeDefinitions: [sk, x, pk]",
    ),
    (
        "a definition too many",
        {"AttributeDefinitions": attribute_definitions("pk/sk", "owner/x")},
        INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions:"
        " [sk, owner, x, pk], keys used: [owner, sk, pk]",
    ),
    (
        "an index of no projection type",
        {"GlobalSecondaryIndexes": [index(Projection={})]},
        INVALID + "Unknown ProjectionType: null",
    ),
    (
        "an index with throughput",
        {"GlobalSecondaryIndexes": [index(ProvisionedThroughput=UNITS)]},
        INVALID + "ProvisionedThroughput should not be specified for index: byOwner when"
        " BillingMode is PAY_PER_REQUEST",
    ),
    (
        "an index twice",
        {"GlobalSecondaryIndexes": [index(), index()]},
        INVALID + "Duplicate index name: byOwner",
    ),
]
TAKEN = "ResourceInUseException: Table already exists: {}"


def update(name: str = "byOwner", **members: Any) -> list[dict[str, Any]]:
    return [{"Update": {"IndexName": name, **members}}]


# Of UpdateTable for a provisioned table with the index byOwner.
UPDATE: list[Fault] = [
    (
        "an unknown mode",
        {"BillingMode": "X"},
        "ValidationException: …Value 'X' at 'billingMode' failed to satisfy constraint: …",
    ),
    (
        "no index updates",
        {"GlobalSecondaryIndexUpdates": [], "TableClass": "STANDARD"},
        INVALID + "List of GlobalSecondaryIndexUpdates is empty",
    ),
    (
        "protection with something else",
        {"DeletionProtectionEnabled": True, "TableClass": "STANDARD"},
        INVALID + "TableClass modification must be the only operation in the request",
    ),
    (
        "throughput of no use",
        {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": UNITS},
        INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST",
    ),
    (
        "no action",
        {"GlobalSecondaryIndexUpdates": [{}]},
        INVALID + "One of GlobalSecondaryIndexUpdate.Update, …",
    ),
    (
        "no table",
        {"TableName": "absent-table", "ProvisionedThroughput": MORE_UNITS},
        "ResourceNotFoundException: Requested resource not found: Table: absent-table not found",
    ),
    (
        "maxima of a provisioned table",
        {"OnDemandThroughput": {"MaxReadRequestUnits": 1}},
        INVALID + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table…",
    ),
    (
        "no index",
        {"GlobalSecondaryIndexUpdates": update("absent", ProvisionedThroughput=UNITS)},
        "ResourceNotFoundException: Requested resource not found: Index absent for table …",
    ),
    (
        "the same index throughput",
        {"GlobalSecondaryIndexUpdates": update(ProvisionedThroughput=UNITS)},
        "ValidationException: The provisioned throughput for the index byOwner will not change.…",
    ),
]


def combined(faults: list[Fault]) -> Iterator[Any]:
    """Each fault alone, and with every later one that changes other members."""
    for name, members, error in faults:
        yield pytest.param(members, error, id=name)
    for (first, members, error), (later, others, _) in combinations(faults, 2):
        if not members.keys() & others.keys():
            yield pytest.param({**members, **others}, error, id=f"{first} before {later}")


@pytest.fixture(scope="module")
def table(new_shared_table: NewTable) -> Table:
    given = index(ProvisionedThroughput=UNITS)
    parameters = {**definition("pk", gsi("byOwner", "owner")), "GlobalSecondaryIndexes": [given]}
    capacity = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
    return new_shared_table("unused", **{**parameters, **capacity})


@pytest.mark.parametrize(("members", "error"), list(combined(CREATE)))
def test_the_first_fault_of_create_table_wins(
    table: Table, members: dict[str, Any], error: str
) -> None:
    """An existing table of the same name is the very last fault."""
    good = definition("pk/sk", gsi("byOwner", "owner"))
    request = {"TableName": table.name, **good, **members}
    refused(error, call, table.client, "CreateTable", **request)


def test_a_name_that_is_taken_is_the_last_fault(table: Table) -> None:
    table.refused(TAKEN.format(table.name), "CreateTable", **definition("pk/sk"))


@pytest.mark.parametrize(("members", "error"), list(combined(UPDATE)))
def test_the_first_fault_of_update_table_wins(
    table: Table, members: dict[str, Any], error: str
) -> None:
    before = table.wait()
    refused(error, call, table.client, "UpdateTable", **{"TableName": table.name, **members})
    assert table.wait() == before
