"""CreateTable: every shape of table that is accepted, and every kind that is refused."""

from typing import Any

import pytest

from .support import (
    Client,
    NewTable,
    Table,
    attribute_definitions,
    call,
    cases,
    definition,
    drop_none,
    gsi,
    key_schema,
    lsi,
    refused,
    unique_name,
)

INVALID = "ValidationException: One or more parameter values were invalid: "
CONSTRAINT = "ValidationException: …"


def index(projection: dict[str, Any] | None, keys: str = "owner") -> list[dict[str, Any]]:
    """A list of one global index with this projection, as the API takes it."""
    element = {"IndexName": "byOwner", "KeySchema": key_schema(keys), "Projection": projection}
    return [drop_none(element)]


HUNDRED_NAMES = [
    gsi(f"by{digit}{digit}", "owner", [f"a{number}" for number in range(20)]) for digit in range(5)
]
PROVISIONED = {"BillingMode": "PROVISIONED"}
ONE_UNIT = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}

# The good request is of the keys pk/sk and on demand.
# (name, what is changed in it: None leaves a member out, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    # faults that the service model alone shows
    ("no table name", {"TableName": None}, CONSTRAINT),
    (
        "table name too short",
        {"TableName": "ab"},
        CONSTRAINT,
    ),
    ("table name too long", {"TableName": "x" * 256}, CONSTRAINT),
    ("table name of other characters", {"TableName": "tab/le"}, CONSTRAINT),
    ("no key schema", {"KeySchema": None}, CONSTRAINT),
    ("empty key schema", {"KeySchema": []}, CONSTRAINT),
    (
        "unknown key type",
        {"KeySchema": [{"AttributeName": "pk", "KeyType": "X"}]},
        CONSTRAINT + "Member must satisfy enum value set: [HASH, RANGE]",
    ),
    (
        "unknown attribute type",
        {"AttributeDefinitions": attribute_definitions("pk/sk:M")},
        CONSTRAINT + "Member must satisfy enum value set: [B, N, S]",
    ),
    ("unknown billing mode", {"BillingMode": "X"}, CONSTRAINT + "enum value set: …"),
    (
        "no read capacity at all",
        {**PROVISIONED, "ProvisionedThroughput": {**ONE_UNIT, "ReadCapacityUnits": 0}},
        CONSTRAINT + "Member must have value greater than or equal to 1",
    ),
    # throughput
    (
        "provisioned without throughput",
        PROVISIONED,
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when"
        " BillingMode is PROVISIONED",
    ),
    (
        "provisioned by default",
        {"BillingMode": None},
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when"
        " BillingMode is PROVISIONED",
    ),
    (
        "throughput on demand",
        {"ProvisionedThroughput": ONE_UNIT},
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when"
        " BillingMode is PAY_PER_REQUEST",
    ),
    (
        "an index without throughput",
        {
            **definition("pk/sk", gsi("byOwner", "owner")),
            **PROVISIONED,
            "ProvisionedThroughput": ONE_UNIT,
        },
        CONSTRAINT,
    ),
    # keys
    (
        "a key without definition",
        {"AttributeDefinitions": attribute_definitions("pk")},
        "ValidationException: …",
    ),
    (
        "a definition without key",
        {"AttributeDefinitions": attribute_definitions("pk/sk", "x")},
        INVALID + "Number of attributes in KeySchema does not exactly match number of attributes"
        " defined in AttributeDefinitions",
    ),
    (
        "one key without definition, one definition without key",
        {"AttributeDefinitions": attribute_definitions("pk", "x")},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions."
        " Keys: [sk, pk], AttributeDefinitions: [x, pk]",
    ),
    (
        "two partition keys",
        {"KeySchema": key_schema("pk,sk")},
        "ValidationException: Invalid KeySchema: The second KeySchemaElement is not a RANGE key"
        " type",
    ),
    (
        "sort key first",
        {"KeySchema": key_schema("pk/sk")[::-1]},
        "ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
    (
        "one attribute twice",
        {"KeySchema": key_schema("pk/pk")},
        "ValidationException: Both the Hash Key and the Range Key element in the KeySchema have the"
        " same name",
    ),
    # indexes
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
        "local index of a table without sort key",
        definition("pk", lsi("byDate", "pk/date")),
        INVALID + "Table KeySchema does not have a range key, which is required when specifying a"
        " LocalSecondaryIndex",
    ),
    (
        "local index of another partition key",
        definition("pk/sk", lsi("byDate", "date/sk")),
        INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for"
        " index: byDate. index hash key: date, table hash key: pk",
    ),
    (
        "local index without sort key",
        definition("pk/sk", lsi("byDate", "pk")),
        INVALID + "Index KeySchema does not have a range key for index: byDate",
    ),
    (
        "six local indexes",
        definition("pk/sk", *(lsi(f"by{number}", f"pk/a{number}") for number in range(6))),
        INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    ),
    (
        "21 global indexes",
        definition("pk/sk", *(gsi(f"by{number:02}", f"a{number}") for number in range(21))),
        INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    (
        "two indexes of one name",
        definition("pk/sk", gsi("byOwner", "owner"), gsi("byOwner", "date")),
        INVALID + "Duplicate index name: byOwner",
    ),
    (
        "a local and a global index of one name",
        definition("pk/sk", gsi("byOwner", "owner"), lsi("byOwner", "pk/date")),
        INVALID + "Duplicate index name: byOwner",
    ),
    ("index name too short", definition("pk/sk", gsi("by", "owner")), CONSTRAINT),
    (
        "an index key without definition",
        {"GlobalSecondaryIndexes": index({"ProjectionType": "ALL"})},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions."
        " Keys: [owner], AttributeDefinitions: [sk, pk]",
    ),
    # projections
    *(
        (
            name,
            {
                "AttributeDefinitions": attribute_definitions("pk/sk", "owner"),
                "GlobalSecondaryIndexes": index(projection),
            },
            refusal,
        )
        for name, projection, refusal in [
            ("no projection", None, CONSTRAINT + "Member must not be null"),
            ("no projection type", {}, INVALID + "Unknown ProjectionType: null"),
            ("unknown projection type", {"ProjectionType": "X"}, CONSTRAINT),
            ("INCLUDE of nothing", {"ProjectionType": "INCLUDE"}, CONSTRAINT),
            (
                "ALL and names",
                {"ProjectionType": "ALL", "NonKeyAttributes": ["a"]},
                INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
            ),
            (
                "KEYS_ONLY and names",
                {"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["a"]},
                INVALID + "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
            ),
            (
                "INCLUDE of 21 names",
                {
                    "ProjectionType": "INCLUDE",
                    "NonKeyAttributes": [f"a{number}" for number in range(21)],
                },
                CONSTRAINT,
            ),
        ]
    ),
    (
        "INCLUDE of 101 names in all",
        definition(
            "pk/sk",
            *HUNDRED_NAMES,
            gsi("byMore", "owner", ["a0"]),
        ),
        CONSTRAINT,
    ),
    # keys of several attributes
    (
        "five partition key attributes",
        definition("pk", gsi("byOwner", "a,b,c,d,e")),
        CONSTRAINT,
    ),
    (
        "five sort key attributes",
        definition("pk", gsi("byOwner", "x/a,b,c,d,e")),
        CONSTRAINT,
    ),
    (
        "an attribute twice in a key",
        definition("pk", gsi("byOwner", "a,b/a")),
        CONSTRAINT,
    ),
    (
        "a local index of several attributes",
        definition("pk/sk", lsi("byDate", "pk/a,b")),
        CONSTRAINT,
    ),
    ("a table of several attributes", definition("a,b"), CONSTRAINT),
]


@cases("name, changes, refusal", REFUSED)
def test_a_table_is_refused(
    client: Client, name: str, changes: dict[str, Any], refusal: str
) -> None:
    request = {"TableName": unique_name(), **definition("pk/sk"), **changes}
    refused(refusal, call, client, "CreateTable", **drop_none(request))


# (name, the parameters)
ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("partition key", definition("pk")),
    ("both keys", definition("pk:N/sk:B")),
    ("provisioned", definition("pk", **PROVISIONED, ProvisionedThroughput=ONE_UNIT)),
    (
        "five local indexes",
        definition("pk/sk", *(lsi(f"by{number}", f"pk/a{number}") for number in range(5))),
    ),
    (
        "20 global indexes",
        definition("pk", *(gsi(f"by{number:02}", f"a{number}") for number in range(20))),
    ),
    ("index on the table's own keys, swapped", definition("pk/sk", gsi("inverted", "sk/pk"))),
    ("four and four key attributes", definition("pk", gsi("many", "a,b,c,d/e:N,f:B,g,h"))),
    (
        "INCLUDE of 100 names in all",
        definition(
            "pk/sk",
            *HUNDRED_NAMES,
        ),
    ),
    ("deletion protection off", definition("pk", DeletionProtectionEnabled=False)),
    ("infrequent access", definition("pk", TableClass="STANDARD_INFREQUENT_ACCESS")),
    ("tags", definition("pk", Tags=[{"Key": "team", "Value": "blue"}])),
]


@cases("name, parameters", ACCEPTED)
def test_a_table_is_made(new_table: NewTable, name: str, parameters: dict[str, Any]) -> None:
    description = new_table("unused", **parameters).wait()
    assert description["KeySchema"] == parameters["KeySchema"]
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        made = {index["IndexName"]: index for index in description.get(kind, [])}
        wanted = {index["IndexName"]: index for index in parameters.get(kind, [])}
        assert made.keys() == wanted.keys()
        for index_name, wanted_index in wanted.items():
            assert made[index_name]["KeySchema"] == wanted_index["KeySchema"]
            assert unordered(made[index_name]["Projection"]) == unordered(
                wanted_index["Projection"]
            )


def unordered(projection: dict[str, Any]) -> dict[str, Any]:
    return {**projection, "NonKeyAttributes": set(projection.get("NonKeyAttributes", []))}


def test_a_name_is_taken(new_table: NewTable) -> None:
    table = new_table("pk")
    table.refused(
        f"ResourceInUseException: Table already exists: {table.name}",
        "CreateTable",
        **definition("pk"),
    )


@pytest.mark.parametrize("length", [3, 255])
def test_the_longest_and_shortest_names(client: Client, length: int) -> None:
    name = unique_name("x" * length)[-length:]
    call(client, "CreateTable", TableName=name, **definition("pk"))
    Table(client, name).wait()
    call(client, "DeleteTable", TableName=name)
