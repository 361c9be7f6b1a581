"""Billing mode, provisioned, on-demand and warm throughput: how they may be combined."""

from msgspec.structs import replace

from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table, Throughput

NEITHER_ON_DEMAND = (
    "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits "
    "can be specified when BillingMode is PAY_PER_REQUEST"
)
BOTH_PROVISIONED = (
    "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must "
    "both be specified when BillingMode is PROVISIONED"
)


def check_table(given: requests.CreateTable) -> None:
    """The throughput of a new table and its indexes fits its billing mode."""
    on_demand = given.billing_mode == "PAY_PER_REQUEST"
    if on_demand and given.provisioned_throughput is not None:
        raise ValidationException(NEITHER_ON_DEMAND)
    if not on_demand and given.provisioned_throughput is None:
        raise ValidationException(BOTH_PROVISIONED)
    for index in given.global_secondary_indexes or ():
        if on_demand and index.provisioned_throughput is not None:
            raise ValidationException(f"{NEITHER_ON_DEMAND} for index: {index.index_name}")
        if not on_demand and index.provisioned_throughput is None:
            raise ValidationException(f"{BOTH_PROVISIONED} for index: {index.index_name}")


def throughput(given: requests.ProvisionedThroughput | None) -> Throughput:
    if given is None:
        return Throughput()
    return Throughput(given.read_capacity_units, given.write_capacity_units)


def on_demand(given: requests.OnDemandThroughput | None) -> dict[str, int] | None:
    """The limits that are set; -1 removes one."""
    if given is None:
        return None
    limits = {
        "MaxReadRequestUnits": given.max_read_request_units,
        "MaxWriteRequestUnits": given.max_write_request_units,
    }
    return {name: units for name, units in limits.items() if units is not None} or None


def warm(given: requests.WarmThroughput | None) -> dict[str, int] | None:
    if given is None:
        return None
    units = {
        "ReadUnitsPerSecond": given.read_units_per_second,
        "WriteUnitsPerSecond": given.write_units_per_second,
    }
    return {name: value for name, value in units.items() if value is not None} or None


def check_index(table: Table, given: requests.CreateGlobalSecondaryIndexAction) -> None:
    """The throughput of an index that is added fits the table's billing mode."""
    if table.on_demand and given.provisioned_throughput is not None:
        raise ValidationException(f"{NEITHER_ON_DEMAND} for index: {given.index_name}")
    if not table.on_demand and given.provisioned_throughput is None:
        raise ValidationException(f"{BOTH_PROVISIONED} for index: {given.index_name}")


def raised(warm_now: dict[str, int] | None, given: requests.WarmThroughput) -> dict[str, int]:
    """Warm throughput after a change: it can only rise."""
    units = {**(warm_now or {})}
    for name, value in (warm(given) or {}).items():
        if value < units.get(name, 0):
            raise ValidationException(
                "One or more parameter values were invalid: "
                f"Requested {name} for WarmThroughput is lower than the current value"
            )
        units[name] = value
    return units


def to_on_demand(table: Table, now: float) -> Table:
    indexes = tuple(replace(index, throughput=Throughput()) for index in table.indexes)
    return replace(
        table, on_demand=True, on_demand_since=now, throughput=Throughput(), indexes=indexes
    )


def provision(table: Table, given: requests.ProvisionedThroughput, now: float) -> Table:
    """New provisioned throughput, with the times of the change; the same again is refused."""
    old = table.throughput
    read, write = given.read_capacity_units, given.write_capacity_units
    if table.on_demand:
        raise ValidationException(NEITHER_ON_DEMAND)
    if (read, write) == (old.read, old.write):
        raise ValidationException(
            "The provisioned throughput for the table will not change. The requested value equals "
            f"the current value. Current ReadCapacityUnits provisioned for the table: {read}. "
            f"Requested ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for the "
            f"table: {write}. Requested WriteCapacityUnits: {write}. Refer to the Amazon DynamoDB "
            "Developer Guide for current limits and how to request higher limits."
        )
    lower = read < old.read or write < old.write
    higher = read > old.read or write > old.write
    changed = Throughput(
        read,
        write,
        now if higher else old.increased_at,
        now if lower else old.decreased_at,
        old.decreases_today + lower,
    )
    return replace(table, throughput=changed)
