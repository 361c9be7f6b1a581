"""The response of UpdateTable, which shows most changes as in progress.

On the service, a change is made after the response. Here it is complete at once, but only the next
DescribeTable shows it. Which members of the response are old or new, and what is UPDATING, was
observed on the service in 2026.
"""

from typing import Any

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model import requests
from hashrange.model.tables import Index, Table, Throughput, VectorIndex
from hashrange.operations.tables import table_capacity
from hashrange.operations.tables.table_description import describe, repeat_mode


def description(
    before: Table, after: Table, request: requests.UpdateTable, moment: Moment
) -> Fetch[dict[str, Any]]:
    shown = _table(before, after, moment.now)
    statistics = yield from fetch.statistics([shown, *shown.declared_indexes])
    described = describe(shown, moment.now, _status(before, request, moment), statistics)
    if request.billing_mode is not None:
        described.setdefault("BillingModeSummary", {})["BillingMode"] = request.billing_mode
        repeat_mode(described)
    if maxima := table_capacity.units(request.on_demand_throughput):
        described["OnDemandThroughput"] = {**(before.on_demand_limits or {}), **maxima}
    if request.warm_throughput is not None:
        described["WarmThroughput"]["Status"] = "UPDATING"
    if request.sse_specification is not None:
        described.setdefault("SSEDescription", {})["Status"] = "UPDATING"
    for index in described.get("GlobalSecondaryIndexes", ()):
        _show_index(index, before, request)
    for index in described.get("VectorIndexes", ()):
        for update in request.vector_index_updates or ():
            if update.delete and update.delete.index_name == index["IndexName"]:
                index["IndexStatus"] = "DELETING"
                index.pop("Backfilling", None)
    return described


def _status(before: Table, request: requests.UpdateTable, moment: Moment) -> str:
    updates = request.global_secondary_index_updates or ()
    at_work = (
        request.provisioned_throughput,
        request.billing_mode,
        request.table_class,
        request.stream_specification,
        *(update.create or update.delete for update in updates),
        request.vector_index_updates,
    )
    return "UPDATING" if any(at_work) else before.status(moment.now)


def _table(before: Table, after: Table, now: float) -> Table:
    """The changed table with its old class, its old encryption key and, unless the billing mode
    changes, its old throughput."""
    kept = {index.name: index for index in after.indexes}
    switches = before.on_demand != after.on_demand
    indexes = [_index(old, kept.pop(old.name, old), switches) for old in before.indexes]
    if switches:
        throughput = _switched(after.throughput, after.on_demand, now)
    else:
        throughput = _throughput(before.throughput, after.throughput, now)
    return replace(
        after,
        types=dict(sorted((before.types | after.types).items())),
        indexes=(*indexes, *kept.values()),
        vector_indexes=_vector_indexes(before, after),
        on_demand_since=before.on_demand_since,
        throughput=throughput,
        warm=before.warm,
        table_class=before.table_class,
        table_class_since=before.table_class_since,
        kms_key_arn=before.kms_key_arn,
    )


def _vector_indexes(before: Table, after: Table) -> tuple[VectorIndex, ...]:
    """The existing indexes, including one that is being deleted, followed by the new index."""
    known = {index.name for index in before.vector_indexes}
    new = (index for index in after.vector_indexes if index.name not in known)
    return (*before.vector_indexes, *new)


def _index(old: Index, new: Index, switches: bool) -> Index:
    """The changed index with its old times and, unless the billing mode changes, its old
    throughput."""
    units = new.throughput if switches else old.throughput
    throughput = replace(old.throughput, read=units.read, write=units.write)
    return replace(new, throughput=throughput, warm=old.warm)


def _switched(new: Throughput, on_demand: bool, now: float) -> Throughput:
    """The new throughput, with the time of the request as that of the change. Later descriptions of
    the table do not show this time."""
    if on_demand:
        return replace(new, decreased_at=now, decreases=new.decreases_on_day_of(now))
    return replace(new, increased_at=now)


def _throughput(old: Throughput, new: Throughput, now: float) -> Throughput:
    """The old throughput with the times of the new throughput."""
    return replace(
        old,
        increased_at=new.increased_at,
        decreased_at=new.decreased_at,
        decreases=old.decreases_on_day_of(now),
    )


def _show_index(shown: dict[str, Any], before: Table, request: requests.UpdateTable) -> None:
    if request.billing_mode not in (None, before.billing_mode):
        shown["IndexStatus"] = "UPDATING"
    for update in request.global_secondary_index_updates or ():
        if update.delete and update.delete.index_name == shown["IndexName"]:
            shown["IndexStatus"] = "DELETING"
            shown.pop("Backfilling", None)
        if update.update and update.update.index_name == shown["IndexName"]:
            if update.update.warm_throughput:
                shown["WarmThroughput"]["Status"] = "UPDATING"
            if update.update.provisioned_throughput or update.update.on_demand_throughput:
                shown["IndexStatus"] = "UPDATING"
            if maxima := table_capacity.units(update.update.on_demand_throughput):
                old = before.index(update.update.index_name)
                shown["OnDemandThroughput"] = {**((old and old.on_demand) or {}), **maxima}
