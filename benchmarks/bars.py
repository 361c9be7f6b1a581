"""The bars that hashrange sets itself, on items of 100 bytes, and whether a run held them.

A bar is held or missed if the whole interval of its ratio is on one side (see `spread`), and
otherwise within noise. The ratios are those of single rounds, in which both servers are driven
within seconds.

On a quiet machine requests/s decide. Other programs draw the ratio of requests/s towards 1, because
they take processor time from the generator and from both servers. On a disturbed machine the ratio
of processor time per request decides, if the other server computes in one thread and waits for no
disk, as ours does: both servers then answer as many requests as a core has time for. For other
servers both ratios have to agree.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from benchmarks.embedded import Figures
from benchmarks.load import Load, typical
from benchmarks.runs import Disturbed
from benchmarks.servers import Rest
from benchmarks.spread import Spread, Verdict

OURS, FULL = "hashrange relaxed", "hashrange full"
WORKERS = "hashrange, 2 workers relaxed"
POSTGRESQL = "hashrange, PostgreSQL relaxed"
BARE, BARE_FULL = "bare server relaxed", "bare server full"
LOCAL, DYNALITE, DYNOXIDE = "DynamoDB Local memory", "dynalite memory", "dynoxide memory"
DYNOXIDE_FULL = "dynoxide full"


class Ratio(NamedTuple):
    """`ours` answers at least `factor` times as many requests/s as the fastest of `others`."""

    workload: str
    factor: float
    others: tuple[str, ...]
    ours: str = OURS


RATIOS = [
    Ratio("GetItem", 2.0, (DYNALITE,)),
    Ratio("GetItem", 3.0, (LOCAL,)),
    Ratio("GetItem", 0.6, (BARE,)),
    Ratio("GetItem", 1.5, (OURS,), WORKERS),  # if the generator has a core of its own
    Ratio("GetItem", 0.5, (OURS,), POSTGRESQL),
    Ratio("PutItem", 0.33, (OURS,), POSTGRESQL),
    Ratio("PutItem", 1.5, (DYNALITE,)),
    Ratio("PutItem", 3.0, (LOCAL,)),
    Ratio("PutItem", 0.6, (BARE,)),
    Ratio("PutItem", 0.6, (BARE_FULL,), FULL),
    Ratio("PutItem", 2.0, (LOCAL,), FULL),
    Ratio("Query of 10", 3.0, (DYNALITE, LOCAL)),
    Ratio("UpdateItem", 2.0, (DYNALITE, LOCAL)),
    Ratio("TransactWriteItems (4)", 2.0, (DYNALITE, LOCAL)),
    Ratio("BatchGetItem (100)", 2.0, (DYNALITE, LOCAL)),
    Ratio("BatchWriteItem (25)", 2.0, (DYNALITE, LOCAL)),
    Ratio("Scan page of 100", 2.0, (DYNALITE, LOCAL)),
    # The aim is to be the first on every operation, native peers included.
    Ratio("GetItem", 1.0, (DYNOXIDE,)),
    Ratio("PutItem", 1.0, (DYNOXIDE,)),
    Ratio("PutItem", 1.0, (DYNOXIDE_FULL,), FULL),
    Ratio("Query of 10", 1.0, (DYNOXIDE,)),
    Ratio("UpdateItem", 1.0, (DYNOXIDE,)),
    Ratio("TransactWriteItems (4)", 1.0, (DYNOXIDE,)),
    Ratio("BatchGetItem (100)", 1.0, (DYNOXIDE,)),
    Ratio("BatchWriteItem (25)", 1.0, (DYNOXIDE,)),
    Ratio("Scan page of 100", 1.0, (DYNOXIDE,)),
]
DISTURBED_FACTOR_MAX = 5.0
FIRST_ANSWER_MS_MAX = 300.0
IDLE_MEMORY_MB_MAX = 60.0
ONE_THREAD = {BARE, DYNALITE}
OTHERS_CORES_MAX = 0.1
"""A run beside other programs that take more than this share of a core is disturbed."""
CALLS_MAX = {
    "GetItem, index": 34,
    "Query of an index": 90,
    "PutItem, index": 120,
    "UpdateItem, index": 145,
}
"""Python calls per request, in process, on a table with one global index."""
IN_PROCESS_MICROSECONDS_MAX = {"GetItem": 20.0, "PutItem": 40.0, "Query of 50": 150.0}


class Judged(NamedTuple):
    """A bar and what was measured: `processor` is the ratio of processor time per request."""

    what: str
    against: str
    needed: str
    measured: str
    processor: str
    verdict: Verdict


Loads = dict[str, dict[str, list[Load]]]
"""By workload label, then by server name: one load for each round."""


def requests_ratio(ours: list[Load], theirs: list[Load]) -> Spread:
    """How many times as many requests/s ours answers, in each round."""
    pairs = zip(ours, theirs, strict=True)
    return Spread.of(our.requests_per_second / their.requests_per_second for our, their in pairs)


def processor_ratio(ours: list[Load], theirs: list[Load]) -> Spread:
    """How many times as much processor time the others take for a request, in each round."""
    pairs = zip(ours, theirs, strict=True)
    return Spread.of(their.server_us / our.server_us for our, their in pairs)


def ratios(loads: Loads) -> Iterator[Judged]:
    """The verdicts on `RATIOS`. A bar is left out if its server `ours`, or each of its `others`,
    was not measured."""
    for bar in RATIOS:
        by_name = loads.get(f"{bar.workload}, 100 B", {})
        present = [name for name in bar.others if name in by_name]
        if bar.ours in by_name and present:
            yield judge(bar, by_name, present)


def judge(bar: Ratio, by_name: dict[str, list[Load]], present: list[str]) -> Judged:
    ours = by_name[bar.ours]
    fastest = max(present, key=lambda name: typical(by_name[name]).requests_per_second)
    theirs = by_name[fastest]
    requests, processor = requests_ratio(ours, theirs), processor_ratio(ours, theirs)
    verdict = requests.at_least(bar.factor)
    if disturbed([*ours, *theirs]):
        computed = processor.at_least(bar.factor)
        agreed = fastest in ONE_THREAD or computed == verdict
        verdict = computed if agreed else "within noise"
    return Judged(
        f"{bar.workload} ({bar.ours})",
        ", ".join(present),
        f"{bar.factor:.1f}x",
        f"{requests.median:.2f}x ({requests.low:.2f} to {requests.high:.2f})",
        f"{processor.median:.2f}x ({processor.low:.2f} to {processor.high:.2f})",
        verdict,
    )


def disturbed(loads: list[Load]) -> bool:
    return typical(loads).others > OTHERS_CORES_MAX


def at_most(what: str, limit: float, measured: Iterable[float], unit: str) -> Judged:
    spread = Spread.of(measured)
    text = f"{spread.median:.1f} {unit} ({spread.low:.1f} to {spread.high:.1f})"
    return Judged(what, "", f"<= {limit:g} {unit}", text, "", spread.at_most(limit))


def limits(
    disturbed: dict[str, list[Disturbed]],
    resting: dict[str, list[Rest]],
    in_process: dict[str, Figures],
) -> Iterator[Judged]:
    for name, seen in disturbed.items():
        if name in (OURS, FULL):
            writers = [each.writers.p99_ms / each.quiet.p99_ms for each in seen]
            scans = [each.scans.p99_ms / each.quiet.p99_ms for each in seen]
            for what, factors in (("writers", writers), ("filtered Scans", scans)):
                title = f"GetItem's p99 beside {what} ({name})"
                yield at_most(title, DISTURBED_FACTOR_MAX, factors, "x quiet")
    if OURS in resting:
        starts = [rest.first_answer_ms for rest in resting[OURS]]
        memory = [rest.idle_memory_mb for rest in resting[OURS]]
        yield at_most("start to first answer", FIRST_ANSWER_MS_MAX, starts, "ms")
        yield at_most("idle memory", IDLE_MEMORY_MB_MAX, memory, "MB")
    for name, figures in in_process.items():
        if name in IN_PROCESS_MICROSECONDS_MAX:
            limit = IN_PROCESS_MICROSECONDS_MAX[name]
            yield at_most(f"{name} in process", limit, figures.microseconds, "us")
        if name in CALLS_MAX:
            yield at_most(f"{name} in process", CALLS_MAX[name], [figures.calls], "calls")
