"""ReplicaUpdates for a table that has no replica."""

from typing import Any

from .support import Client, NewTable, call, cases, refused, unique_name

REGION = "us-east-1"
"""The clients' own."""
AWAY = {"RegionName": "eu-west-1"}
FURTHER = {"RegionName": "ca-central-1"}
HOME = {"RegionName": REGION}
ALONE = (
    "ValidationException: One or more parameter values were invalid: Replica modification must be"
    " the only operation in the request"
)
ONE_KIND = (
    "ValidationException: Update table operation with more than one type of replica actions not"
    " allowed…"
)
ONE = (
    "ValidationException: Update table operation with more than one create or delete replica"
    " actions not allowed…"
)
NO_ACTION = (
    "ValidationException: There are no actions specified in the Replica Update Action of the"
    " request."
)
LOCAL = (
    "ValidationException: Cannot add or delete the local region through ReplicaUpdates. Use"
    " CreateTable, DeleteTable, or UpdateTable as required."
)
NOT_PART = (
    "ValidationException: Update global table operation failed because one or more replicas were"
    " not part of the global table. Please retry the request without these replicas: [{}]."
)
CLASS = {"TableClassOverride": "STANDARD"}

# (name, updates, what comes with them, the refusal, for which no table is needed)
WITHOUT_A_TABLE: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("an action of nothing", [{}], {}, NO_ACTION),
    ("a change of nothing", [{"Update": AWAY}], {}, NO_ACTION),
    ("two kinds", [{"Create": AWAY, "Delete": AWAY}], {}, ONE_KIND),
    ("two new ones", [{"Create": AWAY}, {"Create": FURTHER}], {}, ONE),
    ("two that go", [{"Delete": AWAY}, {"Delete": FURTHER}], {}, ONE),
    *(
        (f"with {name}", [{"Create": AWAY}], {name: value}, ALONE)
        for name, value in {
            "BillingMode": "PAY_PER_REQUEST",
            "DeletionProtectionEnabled": True,
            "SSESpecification": {"Enabled": True},
            "StreamSpecification": {"StreamEnabled": False},
            "TableClass": "STANDARD",
        }.items()
    ),
]


@cases("name, updates, more, refusal", WITHOUT_A_TABLE)
def test_replica_updates_that_are_always_refused(
    client: Client, name: str, updates: list[Any], more: dict[str, Any], refusal: str
) -> None:
    asked = {"TableName": unique_name(), "ReplicaUpdates": updates, **more}
    refused(refusal, call, client, "UpdateTable", **asked)


# (name, updates, the refusal)
WITH_A_TABLE: list[tuple[str, list[Any], str]] = [
    ("one at home", [{"Create": HOME}], LOCAL),
    ("away from home", [{"Delete": HOME}], LOCAL),
    ("one goes that is not there", [{"Delete": AWAY}], NOT_PART.format("eu-west-1")),
    ("one changes that is not there", [{"Update": AWAY | CLASS}], NOT_PART.format("eu-west-1")),
    (
        "two change that are not there",
        [{"Update": AWAY | CLASS}, {"Update": FURTHER | CLASS}],
        NOT_PART.format("ca-central-1, eu-west-1"),
    ),
]


@cases("name, updates, refusal", WITH_A_TABLE)
def test_missing_replicas(new_table: NewTable, name: str, updates: list[Any], refusal: str) -> None:
    new_table("pk").refused(refusal, "UpdateTable", ReplicaUpdates=updates)


def test_a_replica_needs_a_table_that_scales(new_table: NewTable) -> None:
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    new_table("pk", BillingMode="PROVISIONED", ProvisionedThroughput=units).refused(
        "ValidationException: Table write capacity should either be Pay-Per-Request or AutoScaled.",
        "UpdateTable",
        ReplicaUpdates=[{"Create": AWAY}],
    )
