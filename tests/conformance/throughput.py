"""Throughput of tables and indexes, in requests and descriptions."""

from typing import Any

from .support import definition, gsi

INVALID = "ValidationException: One or more parameter values were invalid: "
LIMIT = "LimitExceededException: "
GUIDE = (
    " Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher"
    " limits."
)
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
