"""Global indexes that are created, changed and deleted on an existing table."""

from typing import Any

import pytest

from .support import NewTable, Table, attribute_definitions, cases, gsi, item, key_schema, lsi

INVALID = "ValidationException: One or more parameter values were invalid: "
IN_USE = "ResourceInUseException: Attempt to change a resource which is still in use: "
ONE_AT_A_TIME = (
    "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or"
    " deleted simultaneously per table"
)


def created(name: str, keys: str, projection: Any = "ALL", **more: Any) -> dict[str, Any]:
    return {"Create": {**gsi(name, keys, projection).definition(), **more}}


def deleted(name: str) -> dict[str, Any]:
    return {"Delete": {"IndexName": name}}


def updated(name: str, **throughput: Any) -> dict[str, Any]:
    return {"Update": {"IndexName": name, **throughput}}


def updates(*given: dict[str, Any], defined: str | None = None) -> dict[str, Any]:
    """Parameters of UpdateTable; `defined` are attributes as in `key_schema`."""
    definitions = (
        {} if defined is None else {"AttributeDefinitions": attribute_definitions(defined)}
    )
    return {"GlobalSecondaryIndexUpdates": list(given), **definitions}


@pytest.fixture
def table(new_table: NewTable) -> Table:
    return new_table("pk/sk", gsi("byOwner", "owner"), lsi("byDate", "pk/date:N"))


MAXIMA = {"OnDemandThroughput": {"MaxReadRequestUnits": 5}}
SIX_KEYS = "a,b,c,d,e/f"

# (name, parameters, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    # faults that the request alone shows
    (
        "nothing",
        updates(),
        "ValidationException: At least one of ProvisionedThroughput, BillingMode,"
        " UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates,"
        " MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency,"
        " DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required",
    ),
    (
        "nothing beside something",
        {**updates(), "DeletionProtectionEnabled": True},
        INVALID + "List of GlobalSecondaryIndexUpdates is empty",
    ),
    (
        "no action",
        updates({}),
        INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create,"
        " GlobalSecondaryIndexUpdate.Delete must not be null",
    ),
    (
        "two actions in one",
        updates({**deleted("byOwner"), **updated("byOwner", **MAXIMA)}),
        INVALID + "Only one global secondary index action is allowed per"
        " GlobalSecondaryIndexUpdate object",
    ),
    (
        "one index twice",
        updates(deleted("byOwner"), created("byOwner", "owner"), defined="owner"),
        INVALID + "Only one global secondary index update per index is allowed simultaneously."
        " Index: byOwner",
    ),
    (
        "a name that is none",
        updates(deleted("x")),
        "ValidationException: …Value 'x' at 'globalSecondaryIndexUpdates.1.member.delete.indexName'"
        " failed to satisfy constraint: Member must have length greater than or equal to 3",
    ),
    # which index
    (
        "an update of none",
        updates(updated("absent", **MAXIMA)),
        "ResourceNotFoundException: Requested resource not found: Index absent for table …",
    ),
    (
        "a deletion of none",
        updates(deleted("absent")),
        "ResourceNotFoundException: Requested resource not found: Index absent for table …",
    ),
    (
        "an update of a local index",
        updates(updated("byDate", **MAXIMA)),
        "ValidationException: Cannot update an index that is not a GlobalSecondaryIndex: byDate",
    ),
    (
        "a deletion of a local index",
        updates(deleted("byDate")),
        "ValidationException: Cannot delete an index that is not a GlobalSecondaryIndex: byDate",
    ),
    (
        "a new index of an old name",
        updates(created("byOwner", "other")),
        "ValidationException: Attempting to create an index which already exists",
    ),
    (
        "a new index of a local index's name",
        updates(created("byDate", "other"), defined="other"),
        "ValidationException: Attempting to create an index which already exists",
    ),
    # what is wrong with a new one
    (
        "no definitions",
        updates(created("byTitle", "title")),
        INVALID + "AttributeDefinitions is not specified for index: byTitle",
    ),
    (
        "no definition of its key",
        updates(created("byTitle", "title"), defined="other"),
        INVALID + "Some index key attributes are not defined in AttributeDefinitions."
        " Keys: [title], AttributeDefinitions: …",
    ),
    (
        "a definition twice",
        {
            **updates(created("byTitle", "title")),
            "AttributeDefinitions": attribute_definitions("title") * 2,
        },
        "ValidationException: Attribute Name is duplicated: title",
    ),
    (
        "a sort key first",
        updates(
            created("byTitle", "a/b", KeySchema=key_schema("a/b")[::-1]),
            defined="a/b",
        ),
        "ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
    (
        "five partition key attributes",
        updates(created("byTitle", SIX_KEYS), defined=SIX_KEYS),
        INVALID + "The KeySchema exceeds the maximum allowed number of HASH key attributes",
    ),
    (
        "five sort key attributes",
        updates(created("byTitle", "x/a,b,c,d,e"), defined="x/a,b,c,d,e"),
        INVALID + "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
    ),
    (
        "nine key attributes",
        updates(created("byTitle", "a,b,c,d/e,f,g,h,i"), defined="a,b,c,d/e,f,g,h,i"),
        "ValidationException: 1 validation error detected: Value '…' at 'keySchema' failed to"
        " satisfy constraint: Member must have length less than or equal to 8",
    ),
    (
        "a partition key attribute behind a sort key attribute",
        updates(
            created(
                "byTitle",
                "a,b/c",
                KeySchema=[key_schema("a,b/c")[place] for place in (0, 2, 1)],
            ),
            defined="a,b/c",
        ),
        INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema",
    ),
    (
        "an attribute twice",
        updates(created("byTitle", "a,b/a"), defined="a,b"),
        "ValidationException: The KeySchema contains multiple key attributes with the same name",
    ),
    (
        "an attribute for both keys",
        updates(created("byTitle", "a/a"), defined="a"),
        "ValidationException: Both the Hash Key and the Range Key element in the KeySchema have the"
        " same name",
    ),
    (
        "INCLUDE of nothing",
        updates(created("byTitle", "a", Projection={"ProjectionType": "INCLUDE"}), defined="a"),
        INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    (
        "INCLUDE of a name twice",
        updates(created("byTitle", "a", ["x", "y", "x"]), defined="a"),
        INVALID + "Duplicate element in NonKeyAttributes: x",
    ),
    (
        "throughput on demand",
        updates(
            created(
                "byTitle",
                "a",
                ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            ),
            defined="a",
        ),
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index:"
        " byTitle when BillingMode is PAY_PER_REQUEST",
    ),
    # how many at once
    (
        "two new ones",
        updates(created("byA", "a"), created("byB", "b"), defined="a,b"),
        ONE_AT_A_TIME,
    ),
    ("two go that are not there", updates(deleted("byA"), deleted("byB")), ONE_AT_A_TIME),
    (
        "one comes, one goes",
        updates(deleted("byOwner"), created("byTitle", "title"), defined="title"),
        ONE_AT_A_TIME,
    ),
]


@cases("name, parameters, refusal", REFUSED)
def test_an_index_update_is_refused(
    table: Table, name: str, parameters: dict[str, Any], refusal: str
) -> None:
    before = table.wait()
    table.refused(refusal, "UpdateTable", **parameters)
    assert table.wait() == before


def test_a_provisioned_table_wants_throughput_of_a_new_index(new_table: NewTable) -> None:
    capacity = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    table = new_table("pk", BillingMode="PROVISIONED", ProvisionedThroughput=capacity)
    table.refused(
        INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index:"
        " byTitle",
        "UpdateTable",
        **updates(created("byTitle", "title"), defined="title"),
    )


def test_the_21st_index_is_refused(new_table: NewTable) -> None:
    table = new_table("pk", *(gsi(f"by{number:02}", f"a{number}") for number in range(20)))
    table.refused(
        "LimitExceededException: Subscriber limit exceeded: Number of global secondary indexes"
        " exceeds per-table limit of 20",
        "UpdateTable",
        **updates(created("byMore", "more"), defined="more"),
    )


def test_names_of_include_lists_are_counted_over_all_indexes(new_table: NewTable) -> None:
    names = [f"a{number}" for number in range(20)]
    table = new_table("pk", *(gsi(f"by{n}{n}", "owner", names) for n in range(5)))
    parameters = updates(created("byMore", "owner", ["more"]), defined="owner")
    table.refused("ValidationException: …", "UpdateTable", **parameters)


# ---- an index is created ----


def index_of(description: dict[str, Any], name: str) -> dict[str, Any]:
    indexes = {index["IndexName"]: index for index in description["GlobalSecondaryIndexes"]}
    found: dict[str, Any] = indexes[name]
    return found


def test_a_new_index_is_described_at_once(table: Table) -> None:
    parameters = updates(created("byTitle", "title/n:N", ["z", "a"]), defined="title,n:N,unused")
    answer = table.call("UpdateTable", **parameters)["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    shown = index_of(answer, "byTitle")
    assert shown == {
        "IndexName": "byTitle",
        "IndexArn": f"{answer['TableArn']}/index/byTitle",
        "KeySchema": key_schema("title/n"),
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "z"]},
        "IndexStatus": "CREATING",
        "Backfilling": False,
        "ProvisionedThroughput": {
            "NumberOfDecreasesToday": 0,
            "ReadCapacityUnits": 0,
            "WriteCapacityUnits": 0,
        },
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "WarmThroughput": shown["WarmThroughput"],
    }
    description = table.wait()
    assert [found["AttributeName"] for found in description["AttributeDefinitions"]] == [
        *("date", "n", "owner", "pk", "sk", "title")
    ]
    built = index_of(description, "byTitle")
    assert built["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in built


def test_a_new_index_may_use_existing_attribute_definitions(table: Table) -> None:
    """Definitions of attributes that it does not use may say anything, and change nothing."""
    defined = "date:N/owner,pk:N"
    table.call("UpdateTable", **updates(created("byDateOwner", "date:N/owner"), defined=defined))
    definitions = table.wait()["AttributeDefinitions"]
    assert {"AttributeName": "date", "AttributeType": "N"} in definitions
    table.put({"pk": "a", "sk": "s", "date": 1, "owner": "o"})
    assert table.call("Scan", IndexName="byDateOwner")["Count"] == 1


def test_an_index_of_four_and_four_attributes_is_built(table: Table) -> None:
    table.put({"pk": "p", "sk": "s", **dict.fromkeys("abcdefgh", "x")})
    table.put({"pk": "p", "sk": "t", **dict.fromkeys("abcdefg", "x")})
    table.call(
        "UpdateTable", **updates(created("byAll", "a,b,c,d/e,f,g,h"), defined="a,b,c,d/e,f,g,h")
    )
    table.wait()
    assert [found["sk"] for found in table.all(IndexName="byAll")] == ["s"]


def test_a_new_index_beside_an_update_of_another(table: Table) -> None:
    parameters = updates(created("byTitle", "title"), updated("byOwner", **MAXIMA), defined="title")
    answer = table.call("UpdateTable", **parameters)["TableDescription"]
    assert index_of(answer, "byOwner")["IndexStatus"] == "UPDATING"
    assert index_of(answer, "byTitle")["IndexStatus"] == "CREATING"
    assert index_of(table.wait(), "byOwner")["OnDemandThroughput"] == {"MaxReadRequestUnits": 5}


def test_a_table_named_like_its_index(new_table: NewTable) -> None:
    table = new_table("pk")
    table.call("UpdateTable", **updates(created(table.name, "owner"), defined="owner"))
    table.wait()
    table.put({"pk": "a", "owner": "o"})
    assert table.call("Scan", IndexName=table.name)["Count"] == 1


def test_an_index_is_built_while_items_change(new_table: NewTable) -> None:
    """The index has all items, whether they were written before, during or after the build."""
    table = new_table("pk")
    put = table.client.batch_write_item
    for start in range(0, 500, 25):
        requests = [
            {"PutRequest": {"Item": item(pk=f"p{n:03}", owner="o", n=n)}}
            for n in range(start, start + 25)
        ]
        put(RequestItems={table.name: requests})
    table.call("UpdateTable", **updates(created("byOwner", "owner/n:N"), defined="owner/n:N"))
    for n in range(0, 500, 10):
        table.put({"pk": f"p{n:03}", "owner": "o", "n": n + 1000})
        table.call("DeleteItem", Key=item(pk=f"p{n + 5:03}"))
    table.wait()
    found = sorted(entry["n"] for entry in table.all(IndexName="byOwner"))
    assert found == sorted(entry["n"] for entry in table.all())
    assert len(found) == 450


# ---- an index is deleted ----


def test_a_deleted_index_is_described_once_more(table: Table) -> None:
    answer = table.call("UpdateTable", **updates(deleted("byOwner")))["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    shown = index_of(answer, "byOwner")
    assert shown["IndexStatus"] == "DELETING"
    assert "Backfilling" not in shown


def test_deletion_protection_is_not_for_indexes(new_table: NewTable) -> None:
    table = new_table("pk", gsi("byOwner", "owner"), DeletionProtectionEnabled=True)
    table.call("UpdateTable", **updates(deleted("byOwner")))
    table.call("UpdateTable", DeletionProtectionEnabled=False)
