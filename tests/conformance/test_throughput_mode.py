"""TableThroughputMode and TableThroughputModeSummary, which no SDK knows.

The service takes the member for BillingMode if there is no BillingMode, and its descriptions of
tables repeat BillingModeSummary under the other name.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from .raw import Answer, Wire
from .support import definition, unique_name

MODE = "TableThroughputMode"
ON_DEMAND = {MODE: "PAY_PER_REQUEST"}
UNITS = {"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}
FIXED = {MODE: "PROVISIONED", **UNITS}
KEYS = {name: definition("pk")[name] for name in ("AttributeDefinitions", "KeySchema")}
ENUM = "Value '{}' at '{}' failed to satisfy constraint: Member must satisfy enum value set: "
MODES = "[PROVISIONED, PAY_PER_REQUEST]"


@pytest.fixture
def name(wire: Wire) -> Iterator[str]:
    """The name of a table that is deleted afterwards."""
    name = unique_name()
    yield name
    wire.call("DeleteTable", TableName=name)


def mode_of(answer: Answer) -> str | None:
    """The mode that a description shows twice."""
    [description] = answer.json.values()
    shown = description.get("BillingModeSummary")
    again = description.get("TableThroughputModeSummary")
    if shown is None:
        assert again is None
        return None
    mode: str = shown.pop("BillingMode")
    assert again == {MODE: mode, **shown}
    return mode


def test_the_mode_of_a_table_is_shown_twice(wire: Wire, name: str) -> None:
    created = wire.call("CreateTable", TableName=name, **definition("pk"))
    assert mode_of(created) == "PAY_PER_REQUEST"
    assert mode_of(wire.call("DescribeTable", TableName=name)) == "PAY_PER_REQUEST"
    updated = wire.call("UpdateTable", TableName=name, BillingMode="PROVISIONED", **UNITS)
    assert mode_of(updated) == "PROVISIONED"
    assert mode_of(wire.call("DescribeTable", TableName=name)) == "PROVISIONED"
    assert mode_of(wire.call("DeleteTable", TableName=name)) == "PROVISIONED"


def test_the_other_member_stands_for_the_billing_mode(wire: Wire, name: str) -> None:
    created = wire.call("CreateTable", TableName=name, **KEYS, **ON_DEMAND)
    assert mode_of(created) == "PAY_PER_REQUEST"
    assert mode_of(wire.call("UpdateTable", TableName=name, **FIXED)) == "PROVISIONED"
    assert mode_of(wire.call("UpdateTable", TableName=name, **ON_DEMAND)) == "PAY_PER_REQUEST"


@pytest.mark.parametrize("given", [FIXED, {**FIXED, "BillingMode": "PROVISIONED"}])
def test_a_provisioned_table_shows_no_mode(wire: Wire, name: str, given: dict[str, Any]) -> None:
    assert mode_of(wire.call("CreateTable", TableName=name, **KEYS, **given)) is None


def test_the_billing_mode_decides_if_there_are_both(wire: Wire, name: str) -> None:
    both = {**UNITS, **ON_DEMAND, "BillingMode": "PROVISIONED"}
    assert mode_of(wire.call("CreateTable", TableName=name, **KEYS, **both)) is None
    other = {**FIXED, "BillingMode": "PAY_PER_REQUEST"}
    refused = wire.call("CreateTable", TableName=unique_name(), **KEYS, **other)
    assert refused.json["message"] == (
        "One or more parameter values were invalid: Neither ReadCapacityUnits nor "
        "WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
    )


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable"])
def test_both_members_are_checked(wire: Wire, operation: str) -> None:
    """That comes before the table is looked for, and before one member gives way to the other."""
    given = {"TableName": "AbsentTable", **(KEYS if operation == "CreateTable" else {}), MODE: "X"}
    mode = ENUM.format("X", "tableThroughputMode") + MODES
    for billing in ({}, {"BillingMode": "PAY_PER_REQUEST"}):
        refused = wire.call(operation, **given, **billing).json["message"]
        assert refused == f"1 validation error detected: {mode}"
    billing_mode = ENUM.format("Y", "billingMode") + MODES
    refused = wire.call(operation, **given, BillingMode="Y").json["message"]
    assert refused == f"2 validation errors detected: {billing_mode}; {mode}"
