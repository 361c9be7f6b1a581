"""Members of UpdateTable: few can be combined, and the order of the rules about that."""

from typing import Any

from .support import (
    Client,
    NewTable,
    attribute_definitions,
    call,
    cases,
    gsi,
    refused,
    unique_name,
)

INVALID = "ValidationException: One or more parameter values were invalid: "
CAPACITY = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
MORE_CAPACITY = {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}
STREAM = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
MAXIMA = {"MaxReadRequestUnits": 10}
WARM = {"ReadUnitsPerSecond": 13000}

NOTHING = (
    "ValidationException: At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled,"
    " GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady,"
    " ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled,"
    " OnDemandThroughput, WarmThroughput or TableClass is required"
)
ALONE = INVALID + "{} must be the only operation in the request"
SSE = {"SSESpecification": {"Enabled": True}}
CLASS = {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
PROTECTED = {"DeletionProtectionEnabled": True}
WARMER = {"WarmThroughput": WARM}
CAPPED = {"OnDemandThroughput": MAXIMA}
STREAMED = {"StreamSpecification": STREAM}
MODE = {"BillingMode": "PAY_PER_REQUEST"}
UNITS = {"ProvisionedThroughput": MORE_CAPACITY}
CONSISTENCY = {"MultiRegionConsistency": "STRONG"}
COLD_INDEX = {
    "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "ghost", "WarmThroughput": {}}}]
}
COLD = INVALID + (
    "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified"
    " for index: ghost"
)
NEW_INDEX = {
    "AttributeDefinitions": attribute_definitions("owner"),
    "GlobalSecondaryIndexUpdates": [{"Create": gsi("byOwner", "owner").definition()}],
}
SSE_ALONE = ALONE.format("Server-Side Encryption modification")
CLASS_ALONE = ALONE.format("TableClass modification")
PROTECTION_ALONE = ALONE.format("DeletionProtection modification")
WARM_ALONE = ALONE.format("WarmThroughput")
CAPPED_ALONE = (
    INVALID + "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
)
NO_STREAM_WITH_UNITS = INVALID + "You cannot modify stream status while updating table IOPS"

# (name, parameters, the refusal): which rule wins where several are broken
TOGETHER: list[tuple[str, dict[str, Any], str]] = [
    ("nothing", {}, NOTHING),
    (
        "definitions alone",
        {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]},
        NOTHING,
    ),
    ("no units", {"OnDemandThroughput": {}, "GlobalSecondaryIndexUpdates": []}, NOTHING),
    ("a region's consistency", CONSISTENCY, NOTHING.replace("MultiRegionConsistency, ", "")),
    ("witnesses", {"GlobalTableWitnessUpdates": [{}]}, NOTHING),
    ("class, no warm throughput of an index", CLASS | COLD_INDEX, COLD),
    ("encryption, class", SSE | CLASS, SSE_ALONE),
    ("encryption, protection", SSE | PROTECTED, SSE_ALONE),
    ("encryption, throughput", SSE | UNITS, SSE_ALONE),
    ("class, protection", CLASS | PROTECTED, CLASS_ALONE),
    ("class, mode", CLASS | MODE, CLASS_ALONE),
    ("protection, warm throughput", PROTECTED | WARMER, PROTECTION_ALONE),
    ("protection, stream", PROTECTED | STREAMED, PROTECTION_ALONE),
    ("protection, mode", PROTECTED | MODE, PROTECTION_ALONE),
    ("protection, maxima", PROTECTED | CAPPED, PROTECTION_ALONE),
    ("maxima, warm throughput", CAPPED | WARMER, CAPPED_ALONE),
    ("maxima, stream", CAPPED | STREAMED, CAPPED_ALONE),
    ("warm throughput, stream", WARMER | STREAMED, WARM_ALONE),
    ("warm throughput, mode", WARMER | MODE, WARM_ALONE),
    ("stream, throughput", STREAMED | UNITS, NO_STREAM_WITH_UNITS),
    (
        "stream, the other mode",
        STREAMED | UNITS | {"BillingMode": "PROVISIONED"},
        NO_STREAM_WITH_UNITS,
    ),
    ("new index, encryption", NEW_INDEX | SSE, SSE_ALONE),
    ("new index, class", NEW_INDEX | CLASS, CLASS_ALONE),
    ("new index, protection", NEW_INDEX | PROTECTED, PROTECTION_ALONE),
    (
        "new index, throughput",
        NEW_INDEX | UNITS,
        INVALID + "You cannot create or delete index while updating table IOPS",
    ),
    (
        "deleted index, throughput",
        {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "byOwner"}}]} | UNITS,
        INVALID + "You cannot create or delete index while updating table IOPS",
    ),
    (
        "new index, stream",
        NEW_INDEX | STREAMED,
        INVALID + "You cannot create or delete index while changing stream status",
    ),
    (
        "new index, warm throughput",
        NEW_INDEX | WARMER,
        INVALID + "Create global secondary index cannot be specified when updating WarmThroughput",
    ),
]


@cases("name, parameters, refusal", TOGETHER)
def test_settings_do_not_change_together(
    client: Client, name: str, parameters: dict[str, Any], refusal: str
) -> None:
    """Nor does it matter whether the table is there."""
    refused(refusal, call, client, "UpdateTable", TableName=unique_name(), **parameters)


# (name, parameters, members of the description that are new)
ACCEPTED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("mode, maxima", MODE | CAPPED, {"OnDemandThroughput": MAXIMA}),
    ("mode, stream", MODE | STREAMED, {"StreamSpecification": STREAM}),
    (
        "protection, no units",
        PROTECTED | {"WarmThroughput": {}, "OnDemandThroughput": {}},
        {"DeletionProtectionEnabled": True},
    ),
    (
        "protection, definitions of another type",
        PROTECTED | {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "N"}]},
        {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]},
    ),
]


@cases("name, parameters, members", ACCEPTED)
def test_few_settings_change_together(
    new_table: NewTable, name: str, parameters: dict[str, Any], members: dict[str, Any]
) -> None:
    table = new_table("pk", BillingMode="PROVISIONED", ProvisionedThroughput=CAPACITY)
    table.call("UpdateTable", **parameters)
    description = table.wait()
    assert {member: description[member] for member in members} == members
    if "DeletionProtectionEnabled" in parameters:
        table.call("UpdateTable", DeletionProtectionEnabled=False)
