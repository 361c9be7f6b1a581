"""The counts of several workers, added up as if they were one server."""

import resource
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from hashrange.metering.hot_keys import SHOWN_MAX
from hashrange.metering.usage import SourceReport
from hashrange.server.admin.figures import figure
from hashrange.server.admin.metrics import Counts, Operation

if TYPE_CHECKING:
    from prometheus_client.core import Metric


def summed(counts: Iterable[Counts]) -> Counts:
    total = Counts()
    usage: dict[tuple[str, str | None], SourceReport] = {}
    for one in counts:
        for name, operation in one.operations.items():
            total.operations[name] = _both(total.operations.get(name, Operation()), operation)
        total.others += one.others
        for name, value in one.figures.items():
            before = total.figures.get(name)
            total.figures[name] = value if before is None else figure(name).join(before, value)
        for report in one.usage:
            place = report.table, report.index
            usage[place] = _used(usage[place], report) if place in usage else report
        total.tables.add(one.tables)
        total.capacities = one.capacities or total.capacities  # the same for all workers
    total.usage = list(usage.values())
    return total


def lasting(counts: Counts) -> Counts:
    """The counts of an ended worker that stay in the totals: the counts that never decrease."""
    kept = {name: value for name, value in counts.figures.items() if figure(name).rises}
    return Counts(counts.operations, counts.others, kept, counts.usage, counts.tables)


def worker_figures(serving: int, restarts: int) -> dict[str, int]:
    """The figures that only the supervisor knows."""
    return {"workers": serving, "worker_restarts": restarts}


def _both(one: Operation, other: Operation) -> Operation:
    return Operation(
        [a + b for a, b in zip(one.buckets, other.buckets, strict=True)],
        one.seconds + other.seconds,
        one.request_bytes + other.request_bytes,
        one.response_bytes + other.response_bytes,
        one.errors + other.errors,
    )


def _used(one: SourceReport, other: SourceReport) -> SourceReport:
    return SourceReport(
        one.table,
        one.index,
        one.read_units + other.read_units,
        one.write_units + other.write_units,
        _added(one.throttled, other.throttled),
        one.read_throttles + other.read_throttles,
        one.write_throttles + other.write_throttles,
    )


def _added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return dict(Counter(one) + Counter(other))


# ---- processes ----


def processes(pids: Iterable[int]) -> "Iterator[Metric]":
    """The metrics of prometheus-client's ProcessCollector, for several processes together.

    The processor time includes that of ended workers, which the system keeps for the ended children
    of a process.
    """
    from prometheus_client import ProcessCollector

    families: dict[str, Metric] = {}
    for pid in pids:
        for family in ProcessCollector(pid=partial(int, pid), registry=None).collect():
            if family.name not in families:
                families[family.name] = family
                continue
            [sample], [seen] = family.samples, families[family.name].samples
            join = min if family.name == "process_start_time_seconds" else sum
            value = join((seen.value, sample.value))
            families[family.name].samples = [seen._replace(value=value)]
    if cpu := families.get("process_cpu_seconds"):
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        [seen] = cpu.samples
        cpu.samples = [seen._replace(value=seen.value + ended.ru_utime + ended.ru_stime)]
    yield from families.values()


# ---- inspection ----

Shown = dict[str, Any]


def inspected(answers: list[list[Shown]]) -> list[Shown]:
    """The tables as the first worker shows them, with the load of all workers added."""
    if not answers:
        return []
    first, *others = answers
    for other in others:
        by_name = {table["table"]: table for table in other}
        for table in first:
            if table["table"] in by_name:
                _add_load(table, by_name[table["table"]])
    return first


def _add_load(table: Shown, other: Shown) -> None:
    """Add the load in `other` to the load in `table`, including the loads of a table's indexes.

    Both describe the same table or the same index.
    """
    numbered = {part["number"]: part for part in other.get("partitions", ())}
    for part in table.get("partitions", ()):
        _add_units(part, numbered.get(part["number"], {}))
    if "load" in table and "load" in other:
        load, more = table["load"], other["load"]
        _add_units(load, more)
        load["throttled"] = _added(load["throttled"], more["throttled"])
        for kind in ("accessed", "throttled_keys"):
            for keys, counted in load[kind].items():
                load[kind][keys] = _hottest(counted + more[kind][keys])
    if "contributor_insights" in table and "contributor_insights" in other:
        reports = zip(
            table["contributor_insights"]["reports"],
            other["contributor_insights"]["reports"],
            strict=False,
        )
        for report, more in reports:
            report["contributors"] = _hottest(report["contributors"] + more["contributors"])
    named = {index["name"]: index for index in other.get("indexes", ())}
    for index in table.get("indexes", ()):
        _add_load(index, named.get(index["name"], {}))


def _add_units(shown: Shown, other: Shown) -> None:
    for name in ("read_units", "write_units"):
        if name in shown:
            shown[name] += other.get(name, 0)


def _hottest(counted: list[Shown]) -> list[Shown]:
    by_name: dict[str, Shown] = {}
    for each in counted:
        name = repr(each["key"])
        by_name[name] = {**each, "count": each["count"] + by_name.get(name, {"count": 0})["count"]}
    return sorted(by_name.values(), key=lambda each: -each["count"])[:SHOWN_MAX]
