"""Checks and changes the provisioned, on-demand and warm throughput of tables and indexes.

Source: API reference. Messages and rules were observed on the service in 2026. The parameter
`index` is an index's name, or None for the table.
"""

from datetime import UTC, datetime
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model import limits, requests
from hashrange.model.errors import LimitExceededException, ValidationException
from hashrange.model.tables import Table, Throughput, WarmThroughput

GivenUnits = (
    requests.ProvisionedThroughput | requests.OnDemandThroughput | requests.WarmThroughput | None
)
TableRequest = TypeVar("TableRequest", requests.CreateTable, requests.UpdateTable)
UNITS_MAX = {
    "ReadCapacityUnits": limits.TABLE_READ_UNITS_MAX,
    "WriteCapacityUnits": limits.TABLE_WRITE_UNITS_MAX,
    "MaxReadRequestUnits": limits.TABLE_READ_UNITS_MAX,
    "MaxWriteRequestUnits": limits.TABLE_WRITE_UNITS_MAX,
    "ReadUnitsPerSecond": limits.TABLE_READ_UNITS_MAX,
    "WriteUnitsPerSecond": limits.TABLE_WRITE_UNITS_MAX,
}
ON_DEMAND_START = (limits.ON_DEMAND_READ_UNITS_START, limits.ON_DEMAND_WRITE_UNITS_START)
GUIDE = (
    "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher "
    "limits."
)
INITIAL = (
    "See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)
NOT_ON_DEMAND = (
    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
    "PAY_PER_REQUEST"
)


def with_billing_mode(request: TableRequest) -> TableRequest:
    """The request with TableThroughputMode as its BillingMode, unless it already has a
    BillingMode."""
    return replace(request, billing_mode=request.billing_mode or request.table_throughput_mode)


def units(requested: GivenUnits) -> dict[str, int]:
    """The members of `requested` that are not None, by name."""
    return {} if requested is None else msgspec.to_builtins(requested)


# ---- checks of the request alone ----


def check_bounds(requested: requests.ProvisionedThroughput | None) -> None:
    for name, value in units(requested).items():
        if value > limits.CAPACITY_UNITS_BOUND:
            raise ValidationException(f"Given value {value} for {name} is out of bounds")


def check_on_demand(
    requested: requests.OnDemandThroughput | None,
    index: str | None = None,
    *,
    can_clear: bool = False,
) -> None:
    """Check that each maximum is at least 1. With `can_clear`, -1 is also valid: it removes a
    maximum.

    The message spells the index differently if it exists (`can_clear`) than if it is new.
    """
    of = "table" if index is None else f"index{' :' if can_clear else ':'} {index}"
    for name, value in units(requested).items():
        if value < 1 and not (can_clear and value == limits.ON_DEMAND_UNITS_CLEARED):
            raise invalid_parameter(
                f"Requested {name} for OnDemandThroughput for {of} is outside of valid range"
            )


def check_new_warm(
    requested: requests.WarmThroughput | None,
    provisioned: requests.ProvisionedThroughput | None,
    index: str | None = None,
) -> None:
    """Check that warm throughput is not less than the throughput that the billing mode provides."""
    of = "table" if index is None else f"index {index}"
    least = new_warm(None, provisioned)
    for name, value in units(requested).items():
        reads = name.startswith("Read")
        if value < (least.read if reads else least.write):
            raise invalid_parameter(
                f"Requested {name} for WarmThroughput for {of} is lower than "
                + (
                    f"initial throughput for OnDemand. {INITIAL}"
                    if provisioned is None
                    else f"{'Read' if reads else 'Write'}CapacityUnits of ProvisionedThroughput"
                )
            )


# ---- the service's maxima ----


def check_maxima(moment: Moment, *requested: GivenUnits, index: str | None = None) -> None:
    """Raises LimitExceededException if the units are more than a table or index may have."""
    for structure in requested:
        for name, value in units(structure).items():
            if value > UNITS_MAX[name]:
                kind = type(structure).__name__
                region = moment.caller.region
                raise LimitExceededException(_too_much(kind, name, value, index, region))


def _too_much(kind: str, name: str, value: int, index: str | None, region: str) -> str:
    if kind == "ProvisionedThroughput":
        of, per = ("", "table") if index is None else (f" for index {index}", "index")
        return (
            f"The requested {name}{of}, {value}, is above the per {per} maximum for the account "
            f"in {region}. Per table maximum: {UNITS_MAX[name]}. {GUIDE}"
        )
    colon = " :" if kind == "OnDemandThroughput" else ""
    of = "table" if index is None else f"index{colon} {index}"
    quota = "TableMaxReadCapacityUnits" if "Read" in name else "TableMaxWriteCapacityUnits"
    return (
        f"Subscriber limit exceeded: Requested {name} for {kind} for {of} exceeds {quota} of the "
        f"account in region {region}"
    )


# ---- new tables and indexes ----


def new_throughput(requested: requests.ProvisionedThroughput | None) -> Throughput:
    if requested is None:
        return Throughput()
    return Throughput(requested.read_capacity_units, requested.write_capacity_units)


def new_warm(
    requested: requests.WarmThroughput | None, provisioned: requests.ProvisionedThroughput | None
) -> WarmThroughput:
    """The requested warm throughput, raised to what the billing mode provides if it is less."""
    if provisioned is None:
        warm = WarmThroughput(*ON_DEMAND_START)
    else:
        warm = WarmThroughput(provisioned.read_capacity_units, provisioned.write_capacity_units)
    return raised_warm(warm, requested)


# ---- changes ----


def provisioned(
    old: Throughput, requested: requests.ProvisionedThroughput, index: str | None, moment: Moment
) -> Throughput:
    """The throughput after a change, with the time of the change.

    Raises ValidationException if nothing would change, and LimitExceededException if throughput was
    decreased too often.
    """
    read, write = requested.read_capacity_units, requested.write_capacity_units
    if not old.read:  # the table was on demand until now; its indexes keep their old time
        increased_at = old.increased_at if index is None else moment.now
        return replace(old, read=read, write=write, increased_at=increased_at)
    if (read, write) == (old.read, old.write):
        raise ValidationException(_same(old, index))
    decreases = old.decreases_on_day_of(moment.now)
    if read < old.read or write < old.write:
        _check_may_decrease(old, decreases, moment.now)
        old = replace(old, decreased_at=moment.now, decreases=decreases + 1)
    if read > old.read or write > old.write:
        old = replace(old, increased_at=moment.now)
    return replace(old, read=read, write=write)


def _same(old: Throughput, index: str | None) -> str:
    the, of = (
        ("the table", "the table") if index is None else (f"the index {index}", f"index {index}")
    )
    return (
        f"The provisioned throughput for {the} will not change. The requested value equals the "
        f"current value. Current ReadCapacityUnits provisioned for {of}: {old.read}. "
        f"Requested ReadCapacityUnits: {old.read}. Current WriteCapacityUnits provisioned for "
        f"{of}: {old.write}. Requested WriteCapacityUnits: {old.write}. {GUIDE}"
    )


def _check_may_decrease(old: Throughput, decreases: int, now: float) -> None:
    """Raises LimitExceededException if throughput was decreased too often on this UTC day.

    After a few free decreases, each must come at least an hour after the previous one.
    """
    free, pause = limits.FREE_DECREASES_PER_DAY, limits.DECREASE_PAUSE_SECONDS
    if decreases < free or old.decreased_at is None or now >= old.decreased_at + pause:
        return
    next_day = (old.decreased_at // limits.DAY_SECONDS + 1) * limits.DAY_SECONDS
    raise LimitExceededException(
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given "
        f"UTC day. After the first {free} decreases, each subsequent decrease in the same UTC day "
        f"can be performed at most once every {pause} seconds. "
        f"Number of decreases today: {decreases}. "
        f"Last decrease at {_in_words(old.decreased_at)}. "
        f"Next decrease can be made at {_in_words(min(old.decreased_at + pause, next_day))}"
    )


def _in_words(time: float) -> str:
    at = datetime.fromtimestamp(time, UTC)
    hour = at.hour % 12 or 12
    return f"{at:%A, %B} {at.day}, {at.year} at {hour}:{at:%M:%S %p} Coordinated Universal Time"


def switches_to_on_demand(table: Table, now: float) -> tuple[float, ...]:
    """The times of the switches to on-demand mode in the last 24 hours, including a new one `now`.

    Raises LimitExceededException if there are too many switches.
    """
    last = tuple(at for at in table.on_demand_switches if now < at + limits.DAY_SECONDS)
    if len(last) >= limits.ON_DEMAND_SWITCHES_PER_DAY:
        raise LimitExceededException(
            "Subscriber limit exceeded: Update to PayPerRequest mode are limited to "
            f"{limits.ON_DEMAND_SWITCHES_PER_DAY} in 1 day(s). "
            f"Last update at {_date(last[-1])}. "
            f"Next update can be made at {_date(last[0] + limits.DAY_SECONDS)}"
        )
    return (*last, now)


def _date(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%a %b %d %H:%M:%S UTC %Y}"


def changed_on_demand(
    old: dict[str, int] | None, requested: requests.OnDemandThroughput | None
) -> dict[str, int] | None:
    """The maxima of on-demand throughput after a change. None if no maximum is left."""
    merged = {**(old or {}), **units(requested)}
    kept = {n: value for n, value in merged.items() if value != limits.ON_DEMAND_UNITS_CLEARED}
    return kept or None


def raised_warm(old: WarmThroughput, requested: requests.WarmThroughput | None) -> WarmThroughput:
    if requested is None:
        return old
    return old.raised(requested.read_units_per_second or 0, requested.write_units_per_second or 0)


def check_raises_warm(
    old: WarmThroughput, requested: requests.WarmThroughput | None, index: str | None = None
) -> None:
    of = "table" if index is None else f"index {index}"
    for name, value in units(requested).items():
        if value < (old.read if name.startswith("Read") else old.write):
            raise invalid_parameter(
                f"Requested {name} for WarmThroughput for {of} is lower than current "
                "WarmThroughput, decreasing WarmThroughput is not supported"
            )
