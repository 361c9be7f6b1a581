"""Throughput of new tables and their indexes: which values are accepted, and the description."""

from typing import Any

from .support import Client, NewTable, Table, call, cases, definition, refused, unique_name
from .throughput import (
    GUIDE,
    INVALID,
    LIMIT,
    NEITHER,
    PROVISIONED,
    index,
    maxima,
    provisioned,
    throughput_of,
    warm,
)

CONSTRAINT = "ValidationException: …failed to satisfy constraint: "
PROVISIONED_ONLY = "ReadCapacityUnits and WriteCapacityUnits must both be specified when"

# The good request is of the key pk and on demand. (name, what is changed in it, the refusal)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "no throughput",
        {"BillingMode": "PROVISIONED"},
        INVALID + PROVISIONED_ONLY + " BillingMode is PROVISIONED",
    ),
    ("throughput on demand", {"ProvisionedThroughput": provisioned(1, 1)}, NEITHER),
    (
        "one unit only",
        {**PROVISIONED, "ProvisionedThroughput": {"ReadCapacityUnits": 1}},
        "ValidationException: 1 validation error detected: Value null at"
        " 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must not"
        " be null",
    ),
    (
        "beyond all bounds",
        {**PROVISIONED, "ProvisionedThroughput": provisioned(1, 10**12 + 1)},
        "ValidationException: Given value 1000000000001 for WriteCapacityUnits is out of bounds",
    ),
    (
        "above the maximum of a table",
        {**PROVISIONED, "ProvisionedThroughput": provisioned(40001, 1)},
        LIMIT + "The requested ReadCapacityUnits, 40001, is above the per table maximum for the"
        " account in us-east-1. Per table maximum: 40000." + GUIDE,
    ),
    *(
        (
            f"on-demand maximum {units}",
            {"OnDemandThroughput": maxima(units, units)},
            INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside"
            " of valid range",
        )
        for units in (0, -1, -2)
    ),
    (
        "on-demand maximum of a provisioned table",
        {**PROVISIONED, "OnDemandThroughput": {"MaxWriteRequestUnits": 1}},
        INVALID + "MaxWriteRequestUnits for OnDemandThroughput cannot be specified when table"
        " BillingMode is PROVISIONED.",
    ),
    (
        "on-demand maximum above the maximum",
        {"OnDemandThroughput": maxima(1, 40001)},
        LIMIT + "Subscriber limit exceeded: Requested MaxWriteRequestUnits for OnDemandThroughput"
        " for table exceeds TableMaxWriteCapacityUnits of the account in region us-east-1",
    ),
    (
        "colder than on demand",
        {"WarmThroughput": warm(12000, 3999)},
        INVALID + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than"
        " initial throughput for OnDemand. See: …",
    ),
    (
        "colder than provisioned",
        {**PROVISIONED, "WarmThroughput": warm(4, 6)},
        INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than"
        " ReadCapacityUnits of ProvisionedThroughput",
    ),
    # of an index
    (
        "index throughput on demand",
        index(ProvisionedThroughput=provisioned(1, 1)),
        INVALID + "ProvisionedThroughput should not be specified for index: byOwner when"
        " BillingMode is PAY_PER_REQUEST",
    ),
    (
        "no index throughput",
        {**index(), **PROVISIONED},
        INVALID + "ProvisionedThroughput is not specified for index: byOwner",
    ),
    (
        "index throughput 0",
        {**index(ProvisionedThroughput=provisioned(1, 0)), **PROVISIONED},
        CONSTRAINT + "Member must have value greater than or equal to 1",
    ),
    (
        "index above its maximum",
        {**index(ProvisionedThroughput=provisioned(40001, 1)), **PROVISIONED},
        LIMIT + "The requested ReadCapacityUnits for index byOwner, 40001, is above the per index"
        " maximum for the account in us-east-1. Per table maximum: 40000." + GUIDE,
    ),
    (
        "on-demand maximum of a provisioned index",
        {
            **index(ProvisionedThroughput=provisioned(1, 1), OnDemandThroughput=maxima(1, 1)),
            **PROVISIONED,
        },
        INVALID + "MaxReadRequestUnits for OnDemandThroughput for index: byOwner cannot be"
        " specified when table BillingMode is PROVISIONED.",
    ),
    (
        "on-demand maximum 0 of an index",
        index(OnDemandThroughput=maxima(0, 1)),
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for index: byOwner is"
        " outside of valid range",
    ),
    (
        "index colder than on demand",
        index(WarmThroughput=warm(1, 1)),
        INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for index byOwner is lower than"
        " initial throughput for OnDemand. See: …",
    ),
]


@cases("name, changes, refusal", REFUSED)
def test_a_throughput_is_refused(
    client: Client, name: str, changes: dict[str, Any], refusal: str
) -> None:
    request = {"TableName": unique_name(), **definition("pk"), **changes}
    refused(refusal, call, client, "CreateTable", **request)


# (name, parameters, members of the description: of a table or of its index)
DESCRIBED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "on demand",
        definition("pk"),
        {"ProvisionedThroughput": provisioned(0, 0), "WarmThroughput": warm(12000, 4000)},
    ),
    (
        "provisioned",
        definition("pk", **PROVISIONED),
        {"ProvisionedThroughput": provisioned(5, 6), "WarmThroughput": warm(5, 6)},
    ),
    (
        "provisioned by default",
        definition("pk", BillingMode=None, ProvisionedThroughput=provisioned(1, 2)),
        {"ProvisionedThroughput": provisioned(1, 2)},
    ),
    (
        "one warm unit",
        definition("pk", WarmThroughput={"ReadUnitsPerSecond": 12001}),
        {"WarmThroughput": warm(12001, 4000)},
    ),
    ("warm of nothing", definition("pk", WarmThroughput={}), {"WarmThroughput": warm(12000, 4000)}),
    (
        "warmer than provisioned",
        definition("pk", **PROVISIONED, WarmThroughput=warm(100, 100)),
        {"WarmThroughput": warm(100, 100)},
    ),
    (
        "one on-demand maximum",
        definition("pk", OnDemandThroughput={"MaxReadRequestUnits": 100}),
        {"OnDemandThroughput": {"MaxReadRequestUnits": 100}},
    ),
    ("on-demand maxima of nothing", definition("pk", OnDemandThroughput={}), {}),
]


@cases("name, parameters, members", DESCRIBED)
def test_a_throughput_is_described(
    new_table: NewTable, name: str, parameters: dict[str, Any], members: dict[str, Any]
) -> None:
    description = new_table("unused", **{"BillingMode": None, **parameters}).wait()
    assert throughput_of(description) == {**throughput_of(description), **members}
    assert ("OnDemandThroughput" in description) == ("OnDemandThroughput" in members)
    assert description["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    assert description["WarmThroughput"]["Status"] == "ACTIVE"
    on_demand = parameters.get("BillingMode") == "PAY_PER_REQUEST"
    assert ("BillingModeSummary" in description) == on_demand


def test_an_index_has_throughput_of_its_own(new_table: NewTable) -> None:
    parameters = index(OnDemandThroughput=maxima(50, 60), WarmThroughput=warm(13000, 5000))
    description = new_table("unused", **parameters).wait()
    [described] = description["GlobalSecondaryIndexes"]
    assert throughput_of(described) == {
        "ProvisionedThroughput": provisioned(0, 0),
        "OnDemandThroughput": maxima(50, 60),
        "WarmThroughput": warm(13000, 5000),
    }
    assert "OnDemandThroughput" not in description


def test_the_answer_to_create_table_shows_less(client: Client) -> None:
    name = unique_name()
    made = call(client, "CreateTable", TableName=name, **index())["TableDescription"]
    assert made["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert "WarmThroughput" not in made
    assert "WarmThroughput" not in made["GlobalSecondaryIndexes"][0]
    described = Table(client, name).wait()
    call(client, "DeleteTable", TableName=name)
    assert "LastUpdateToPayPerRequestDateTime" in described["BillingModeSummary"]
    assert "WarmThroughput" in described["GlobalSecondaryIndexes"][0]


def test_warm_throughput_that_was_asked_for_is_answered(client: Client) -> None:
    name = unique_name()
    parameters = definition("pk", WarmThroughput=warm(12001, 4001))
    made = call(client, "CreateTable", TableName=name, **parameters)["TableDescription"]
    assert made["WarmThroughput"] == {**warm(12001, 4001), "Status": "UPDATING"}
    Table(client, name).wait()
    call(client, "DeleteTable", TableName=name)
