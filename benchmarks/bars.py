"""The bars that hashrange sets itself, on items of 100 bytes, and whether a run held them.

An absolute time is a guide on a noisy machine; the ratios are what counts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.load import Load
from benchmarks.runs import Disturbed
from benchmarks.servers import Rest

OURS, FULL = "hashrange relaxed", "hashrange full"
BARE, BARE_FULL = "bare server relaxed", "bare server full"
LOCAL, DYNALITE, DYNOXIDE = "DynamoDB Local memory", "dynalite memory", "dynoxide memory"
DYNOXIDE_FULL = "dynoxide full"


class Ratio(NamedTuple):
    """`ours` is at least `factor` times each of `others` in requests/s."""

    workload: str
    factor: float
    others: tuple[str, ...]
    ours: str = OURS


RATIOS = [
    Ratio("GetItem", 2.0, (DYNALITE,)),
    Ratio("GetItem", 3.0, (LOCAL,)),
    Ratio("GetItem", 0.6, (BARE,)),
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
    # The aim: first on every operation, native peers included.
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
IN_PROCESS_MICROSECONDS_MAX = {"GetItem": 20.0, "PutItem": 40.0, "Query of 50": 150.0}


class Verdict(NamedTuple):
    what: str
    against: str
    needed: str
    measured: str
    held: bool


def ratios(loads: dict[str, dict[str, Load]]) -> Iterator[Verdict]:
    """A bar against servers that were not there, or cannot do it, is passed over."""
    for bar in RATIOS:
        by_name = loads.get(f"{bar.workload}, 100 B", {})
        present = [name for name in bar.others if name in by_name]
        if bar.ours not in by_name or not present:
            continue
        fastest = max(by_name[name].requests_per_second for name in present)
        measured = by_name[bar.ours].requests_per_second / fastest
        yield Verdict(
            f"{bar.workload} ({bar.ours})",
            ", ".join(present),
            f"{bar.factor:.1f}x",
            f"{measured:.2f}x",
            measured >= bar.factor,
        )


def at_most(what: str, limit: float, measured: float, unit: str) -> Verdict:
    needed, found = f"<= {limit:g} {unit}", f"{measured:.1f} {unit}"
    return Verdict(what, "", needed, found, measured <= limit)


def limits(
    disturbed: dict[str, Disturbed], resting: dict[str, Rest], in_process: dict[str, float]
) -> Iterator[Verdict]:
    for name, seen in disturbed.items():
        if name in (OURS, FULL):
            for what, load in (("writers", seen.writers), ("filtered Scans", seen.scans)):
                factor = load.p99_ms / seen.quiet.p99_ms
                yield at_most(
                    f"GetItem's p99 beside {what} ({name})", DISTURBED_FACTOR_MAX, factor, "x quiet"
                )
    if OURS in resting:
        rest = resting[OURS]
        yield at_most("start to first answer", FIRST_ANSWER_MS_MAX, rest.first_answer_ms, "ms")
        yield at_most("idle memory", IDLE_MEMORY_MB_MAX, rest.idle_memory_mb, "MB")
    for name, spent in in_process.items():
        yield at_most(f"{name} in process", IN_PROCESS_MICROSECONDS_MAX[name], spent, "us")
