"""Throughput of tables and indexes: what may be asked for, what changes, what is described."""

from typing import Any

import pytest

from .support import Client, NewTable, Table, call, cases, definition, gsi, refused, unique_name

INVALID = "ValidationException: One or more parameter values were invalid: "
CONSTRAINT = "ValidationException: …failed to satisfy constraint: "
LIMIT = "LimitExceededException: "
GUIDE = (
    " Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher"
    " limits."
)
PROVISIONED_ONLY = "ReadCapacityUnits and WriteCapacityUnits must both be specified when"
NEITHER = (
    INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode"
    " is PAY_PER_REQUEST"
)


def provisioned(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def maxima(read: int, write: int) -> dict[str, int]:
    return {"MaxReadRequestUnits": read, "MaxWriteRequestUnits": write}


def warm(read: int, write: int) -> dict[str, int]:
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}


def index(**throughput: Any) -> dict[str, Any]:
    """Parameters of CreateTable for a table with one global index of this throughput."""
    given = {**gsi("byOwner", "owner").definition(), **throughput}
    return {**definition("pk", gsi("byOwner", "owner")), "GlobalSecondaryIndexes": [given]}


PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": provisioned(5, 6)}

# ---- CreateTable ----

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
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for index : byOwner is"
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


def throughput_of(description: dict[str, Any]) -> dict[str, Any]:
    """What is asked for of a table's or index's throughput: no times, no counts, no status."""
    asked = {
        "ProvisionedThroughput": provisioned(0, 0),
        "WarmThroughput": warm(0, 0),
        "OnDemandThroughput": maxima(0, 0),
    }
    return {
        member: {name: value for name, value in description[member].items() if name in names}
        for member, names in asked.items()
        if member in description
    }


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


def test_the_answer_to_create_table_knows_less(client: Client) -> None:
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


# ---- UpdateTable ----


@pytest.fixture
def on_demand(new_table: NewTable) -> Table:
    return new_table("unused", **index())


@pytest.fixture
def fixed(new_table: NewTable) -> Table:
    """A provisioned table of 5 and 6 units, its index of 2 and 3."""
    return new_table("unused", **{**index(ProvisionedThroughput=provisioned(2, 3)), **PROVISIONED})


def index_update(name: str = "byOwner", **throughput: Any) -> list[dict[str, Any]]:
    return [{"Update": {"IndexName": name, **throughput}}]


def unchanged(of: str, the: str, read: int, write: int) -> str:
    return (
        f"ValidationException: The provisioned throughput for {the} will not change. The requested"
        f" value equals the current value. Current ReadCapacityUnits provisioned for {of}: {read}."
        f" Requested ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for {of}:"
        f" {write}. Requested WriteCapacityUnits: {write}.{GUIDE}"
    )


ONLY = (
    INVALID + "The only Updates for index: byOwner when TableThroughputMode is PAY_PER_REQUEST can"
    " be to OnDemandThroughput, WarmThroughput"
)

# Of a table on demand. (name, parameters, the refusal)
ON_DEMAND_REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("throughput", {"ProvisionedThroughput": provisioned(1, 1)}, NEITHER),
    (
        "throughput with the mode",
        {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": provisioned(1, 1)},
        INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST",
    ),
    (
        "the other mode without throughput",
        {"BillingMode": "PROVISIONED"},
        INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
    ),
    (
        "the other mode without throughput of the index",
        PROVISIONED,
        INVALID + "ProvisionedThroughput must be specified for index: byOwner",
    ),
    (
        "index throughput",
        {"GlobalSecondaryIndexUpdates": index_update(ProvisionedThroughput=provisioned(1, 1))},
        ONLY,
    ),
    ("nothing of an index", {"GlobalSecondaryIndexUpdates": index_update()}, ONLY),
    (
        "on-demand maximum 0",
        {"OnDemandThroughput": {"MaxWriteRequestUnits": 0}},
        INVALID + "Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of"
        " valid range",
    ),
    (
        "on-demand maximum -2 of the index",
        {"GlobalSecondaryIndexUpdates": index_update(OnDemandThroughput=maxima(-2, 1))},
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for index : byOwner is"
        " outside of valid range",
    ),
    (
        "on-demand maximum above the maximum",
        {"OnDemandThroughput": {"MaxReadRequestUnits": 40001}},
        LIMIT + "Subscriber limit exceeded: Requested MaxReadRequestUnits for OnDemandThroughput"
        " for table exceeds TableMaxReadCapacityUnits of the account in region us-east-1",
    ),
    (
        "colder",
        {"WarmThroughput": {"WriteUnitsPerSecond": 3999}},
        INVALID + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than current"
        " WarmThroughput, decreasing WarmThroughput is not supported",
    ),
    (
        "a colder index",
        {"GlobalSecondaryIndexUpdates": index_update(WarmThroughput=warm(1, 1))},
        INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for index byOwner is lower than"
        " current WarmThroughput, decreasing WarmThroughput is not supported",
    ),
    (
        "warm of nothing",
        {"GlobalSecondaryIndexUpdates": index_update(WarmThroughput={})},
        INVALID + "WarmThroughput must have at least one of ReadUnitsPerSecond or"
        " WriteUnitsPerSecond specified for index: byOwner",
    ),
]


@cases("name, parameters, refusal", ON_DEMAND_REFUSED)
def test_an_update_of_a_table_on_demand_is_refused(
    on_demand: Table, name: str, parameters: dict[str, Any], refusal: str
) -> None:
    before = on_demand.wait()
    on_demand.refused(refusal, "UpdateTable", **parameters)
    assert on_demand.wait() == before


# Of a provisioned table. (name, parameters, the refusal)
PROVISIONED_REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "the same throughput",
        {"ProvisionedThroughput": provisioned(5, 6)},
        unchanged("the table", "the table", 5, 6),
    ),
    ("the same with the mode", PROVISIONED, unchanged("the table", "the table", 5, 6)),
    (
        "the mode alone",
        {"BillingMode": "PROVISIONED"},
        INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
    ),
    (
        "the same throughput of the index",
        {"GlobalSecondaryIndexUpdates": index_update(ProvisionedThroughput=provisioned(2, 3))},
        unchanged("index byOwner", "the index byOwner", 2, 3),
    ),
    (
        "on-demand maximum",
        {"OnDemandThroughput": maxima(1, 1)},
        INVALID + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table"
        " BillingMode is PROVISIONED",
    ),
    (
        "on-demand maximum of the index",
        {"GlobalSecondaryIndexUpdates": index_update(OnDemandThroughput=maxima(1, 1))},
        INVALID + "MaxReadRequestUnits for OnDemandThroughput for index : byOwner cannot be"
        " specified when the table BillingMode is PROVISIONED",
    ),
    (
        "beyond all bounds",
        {"ProvisionedThroughput": provisioned(10**12 + 1, 1)},
        "ValidationException: Given value 1000000000001 for ReadCapacityUnits is out of bounds",
    ),
    (
        "above the maximum",
        {"ProvisionedThroughput": provisioned(5, 40001)},
        LIMIT + "The requested WriteCapacityUnits, 40001, is above the per table maximum for the"
        " account in us-east-1. Per table maximum: 40000." + GUIDE,
    ),
    (
        "colder",
        {"WarmThroughput": warm(1, 1)},
        INVALID + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current"
        " WarmThroughput, decreasing WarmThroughput is not supported",
    ),
]


@cases("name, parameters, refusal", PROVISIONED_REFUSED)
def test_an_update_of_a_provisioned_table_is_refused(
    fixed: Table, name: str, parameters: dict[str, Any], refusal: str
) -> None:
    before = fixed.wait()
    fixed.refused(refusal, "UpdateTable", **parameters)
    assert fixed.wait() == before


def test_the_answer_shows_old_throughput_with_new_times(fixed: Table) -> None:
    updates = index_update(ProvisionedThroughput=provisioned(2, 9))
    answer = fixed.call(
        "UpdateTable",
        ProvisionedThroughput=provisioned(1, 7),
        GlobalSecondaryIndexUpdates=updates,
    )["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    shown = answer["ProvisionedThroughput"]
    assert shown == {
        **provisioned(5, 6),
        "NumberOfDecreasesToday": 0,
        "LastIncreaseDateTime": shown["LastIncreaseDateTime"],
        "LastDecreaseDateTime": shown["LastDecreaseDateTime"],
    }
    described = fixed.wait()
    assert described["ProvisionedThroughput"] == {
        **provisioned(1, 7),
        "NumberOfDecreasesToday": 1,
        "LastIncreaseDateTime": shown["LastIncreaseDateTime"],
        "LastDecreaseDateTime": shown["LastDecreaseDateTime"],
    }
    [described_index] = described["GlobalSecondaryIndexes"]
    assert throughput_of(described_index)["ProvisionedThroughput"] == provisioned(2, 9)
    assert described_index["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0


def test_warm_throughput_is_the_highest_there_was(fixed: Table) -> None:
    fixed.call("UpdateTable", ProvisionedThroughput=provisioned(50, 3))
    fixed.wait()
    fixed.call("UpdateTable", ProvisionedThroughput=provisioned(1, 1))
    assert throughput_of(fixed.wait())["WarmThroughput"] == warm(50, 6)


def test_warm_throughput_rises(on_demand: Table) -> None:
    asked = {"ReadUnitsPerSecond": 12001}
    answer = on_demand.call("UpdateTable", WarmThroughput=asked)["TableDescription"]
    assert answer["TableStatus"] == "ACTIVE"
    assert answer["WarmThroughput"] == {**warm(12000, 4000), "Status": "UPDATING"}
    assert throughput_of(on_demand.wait())["WarmThroughput"] == warm(12001, 4000)
    on_demand.call("UpdateTable", WarmThroughput=asked)  # the same again is no decrease


def test_on_demand_maxima_change_one_by_one(on_demand: Table) -> None:
    # (what is asked for, what the answer shows, what is described)
    steps: list[tuple[dict[str, int], dict[str, int], dict[str, int] | None]] = [
        (maxima(1000, 500), maxima(1000, 500), maxima(1000, 500)),
        ({"MaxReadRequestUnits": 2000}, maxima(2000, 500), maxima(2000, 500)),
        ({"MaxReadRequestUnits": -1}, maxima(-1, 500), {"MaxWriteRequestUnits": 500}),
        ({"MaxWriteRequestUnits": -1}, {"MaxWriteRequestUnits": -1}, None),
        (maxima(-1, -1), maxima(-1, -1), None),
        ({"MaxWriteRequestUnits": 7}, {"MaxWriteRequestUnits": 7}, {"MaxWriteRequestUnits": 7}),
    ]
    for asked, answered, described in steps:
        answer = on_demand.call("UpdateTable", OnDemandThroughput=asked)["TableDescription"]
        assert (answer["TableStatus"], answer["OnDemandThroughput"]) == ("ACTIVE", answered)
        assert on_demand.wait().get("OnDemandThroughput") == described


def test_the_mode_changes_and_takes_its_settings_with_it(on_demand: Table) -> None:
    on_demand.call("UpdateTable", OnDemandThroughput=maxima(10, 20))
    updates = index_update(OnDemandThroughput=maxima(30, 40))
    answer = on_demand.call("UpdateTable", GlobalSecondaryIndexUpdates=updates)["TableDescription"]
    assert answer["TableStatus"] == "ACTIVE"
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    since = on_demand.wait()["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"]
    updates = index_update(ProvisionedThroughput=provisioned(2, 3))
    answer = on_demand.call("UpdateTable", **PROVISIONED, GlobalSecondaryIndexUpdates=updates)
    shown = answer["TableDescription"]
    assert shown["TableStatus"] == "UPDATING"
    assert shown["BillingModeSummary"] == {"BillingMode": "PROVISIONED"}
    assert throughput_of(shown)["ProvisionedThroughput"] == provisioned(5, 6)
    described = on_demand.wait()
    assert described["BillingModeSummary"] == {
        "BillingMode": "PROVISIONED",
        "LastUpdateToPayPerRequestDateTime": since,
    }
    assert throughput_of(described) == {
        "ProvisionedThroughput": provisioned(5, 6),
        "WarmThroughput": warm(12000, 4000),
    }
    [described_index] = described["GlobalSecondaryIndexes"]
    assert throughput_of(described_index) == {
        "ProvisionedThroughput": provisioned(2, 3),
        "WarmThroughput": warm(12000, 4000),
    }


def test_on_demand_is_asked_for_again(on_demand: Table) -> None:
    """It changes nothing, though the answer says UPDATING."""
    before = on_demand.wait()
    answer = on_demand.call("UpdateTable", BillingMode="PAY_PER_REQUEST")["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    assert on_demand.wait() == before


def test_from_provisioned_to_on_demand(fixed: Table) -> None:
    answer = fixed.call(
        "UpdateTable", BillingMode="PAY_PER_REQUEST", OnDemandThroughput=maxima(100, 100)
    )["TableDescription"]
    assert answer["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    described = fixed.wait()
    [described_index] = described["GlobalSecondaryIndexes"]
    assert throughput_of(described) == {
        "ProvisionedThroughput": provisioned(0, 0),
        "WarmThroughput": warm(12000, 4000),
        "OnDemandThroughput": maxima(100, 100),
    }
    assert throughput_of(described_index) == {
        "ProvisionedThroughput": provisioned(0, 0),
        "WarmThroughput": warm(12000, 4000),
    }
