"""Throughput that changes: of tables on demand, of provisioned ones, and from one to the other."""

from typing import Any

import pytest

from .support import NewTable, Table, cases
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
    """The times are those of the table; an index shows none until its change is complete."""
    before = throughput_of(fixed.wait()["GlobalSecondaryIndexes"][0])["ProvisionedThroughput"]
    updates = index_update(ProvisionedThroughput=provisioned(2, 9))
    answer = fixed.call(
        "UpdateTable",
        ProvisionedThroughput=provisioned(1, 7),
        GlobalSecondaryIndexUpdates=updates,
    )["TableDescription"]
    assert answer["TableStatus"] == "UPDATING"
    [index] = answer["GlobalSecondaryIndexes"]
    assert index["IndexStatus"] == "UPDATING"
    assert index["ProvisionedThroughput"] == {**before, "NumberOfDecreasesToday": 0}
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
    assert "LastIncreaseDateTime" in described_index["ProvisionedThroughput"]


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


def test_on_demand_maxima_of_an_index_change_one_by_one(on_demand: Table) -> None:
    # (what is asked for, what the answer shows, what is described)
    steps: list[tuple[dict[str, int], dict[str, int], dict[str, int] | None]] = [
        (maxima(1000, 500), maxima(1000, 500), maxima(1000, 500)),
        ({"MaxReadRequestUnits": 7}, maxima(7, 500), maxima(7, 500)),
        ({"MaxWriteRequestUnits": -1}, maxima(7, -1), {"MaxReadRequestUnits": 7}),
        ({"MaxReadRequestUnits": -1}, {"MaxReadRequestUnits": -1}, None),
    ]
    for asked, answered, described in steps:
        updates = index_update(OnDemandThroughput=asked)
        answer = on_demand.call("UpdateTable", GlobalSecondaryIndexUpdates=updates)
        [shown] = answer["TableDescription"]["GlobalSecondaryIndexes"]
        assert (shown["IndexStatus"], shown["OnDemandThroughput"]) == ("UPDATING", answered)
        [settled] = on_demand.wait()["GlobalSecondaryIndexes"]
        assert settled.get("OnDemandThroughput") == described


def test_the_on_demand_maxima_of_an_added_index_cannot_be_removed(on_demand: Table) -> None:
    given = index(OnDemandThroughput=maxima(-1, 1))
    create = {**given["GlobalSecondaryIndexes"][0], "IndexName": "added"}
    on_demand.refused(
        INVALID + "Requested MaxReadRequestUnits for OnDemandThroughput for index: added is"
        " outside of valid range",
        "UpdateTable",
        AttributeDefinitions=given["AttributeDefinitions"],
        GlobalSecondaryIndexUpdates=[{"Create": create}],
    )


def test_a_change_of_mode_removes_the_settings_of_the_old_mode(on_demand: Table) -> None:
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
    assert shown["BillingModeSummary"] == {
        "BillingMode": "PROVISIONED",
        "LastUpdateToPayPerRequestDateTime": since,
    }
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


def test_a_switch_to_on_demand_of_a_table_on_demand(on_demand: Table) -> None:
    """It changes nothing, although the answer says UPDATING."""
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
