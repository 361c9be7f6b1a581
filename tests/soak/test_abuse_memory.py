"""Abuse of sockets: memory stays below its bars. For requests that cost much see `abuse`.

In a soak the neighbour's waits have bars too. In CI only memory is checked, because a machine
with other work delays everybody.
"""

import json
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from hashrange.testing.postgres_server import PostgresServer

from . import attackers
from .runs import SOAK, Violation, times

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc"),
]

SECONDS = times(2, 30)
MEMORY_MB_MAX = 400
STRANGERS_MB_MAX = 64
P99_SECONDS_MAX = 0.025
SECONDS_MAX = 0.250
STRANGERS = ("long heads", "strangers that say nothing", "strangers with small heads")
"""The attacks of clients that never send a valid request."""


class Served(NamedTuple):
    process: "subprocess.Popen[str]"
    port: int

    def memory_mb(self, field: str) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(rf"{field}:\s+(\d+)", status)[0]) // 1024


@contextmanager
def serving(folder: Path, fault: str = "", address: str = "") -> Iterator[Served]:
    """A server on one core, with a file unless it has the `address` of a database.

    A `fault` is code that runs before it starts.
    """
    serve = f"""
        import os, sys
        os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
        {fault}
        from hashrange.tools.cli import main
        sys.argv = ["hashrange", "serve", "--port", "0", {address or str(folder / "a.db")!r}]
        main()
    """
    command = [sys.executable, "-c", textwrap.dedent(serve)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    with process:
        try:
            assert process.stdout is not None
            found = (re.search(r"http://\S+:(\d+)", line) for line in process.stdout)
            yield Served(process, int(next(filter(None, found))[1]))
        finally:
            process.terminate()


def run(name: str, port: int, seconds: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.soak.attackers", name, str(port), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def fill(served: Served, name: str) -> None:
    wide = attackers.WIDE_ITEMS if "wide" in name else 0
    attackers.fill(served.port, 0 if name in STRANGERS else attackers.LARGE_ITEMS, wide)


def attack(served: Served, name: str, waits_count: bool = SOAK > 0) -> None:
    """Raises Violation."""
    before = served.memory_mb("VmRSS")
    attacker = run(name, served.port, SECONDS + 1)
    time.sleep(0.5)
    neighbour = run("neighbour", served.port, SECONDS)
    told, _ = neighbour.communicate(timeout=SECONDS + 120)
    attacker.communicate(timeout=120)
    if neighbour.returncode:
        raise Violation("the neighbour was not served")
    taken = sorted(json.loads(told))
    p99, longest = taken[len(taken) * 99 // 100], taken[-1]
    peak = served.memory_mb("VmHWM")
    print(
        f"{name}: {len(taken)} requests, p50 {taken[len(taken) // 2] * 1e3:.1f} ms, "
        f"p99 {p99 * 1e3:.1f} ms, longest {longest * 1e3:.0f} ms, "
        f"{before} MB before, at most {peak} MB"
    )
    if peak >= MEMORY_MB_MAX or (name in STRANGERS and peak - before >= STRANGERS_MB_MAX):
        raise Violation(f"{peak} MB, from {before}")
    if waits_count and (p99 > P99_SECONDS_MAX or longest > SECONDS_MAX):
        raise Violation(f"p99 {p99:.3f} s, longest {longest:.3f} s")


IN_CI = (
    *("16 MB of lists", "scans", "answers of 16 MB, not read", "wide items, not read"),
    "long heads",
)
"""Attacks on each of the budgets: bodies, readers, answers, strangers. A soak runs all."""


@pytest.mark.parametrize("name", attackers.ATTACKS if SOAK else IN_CI)
def test_abuse(name: str, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        fill(served, name)
        attack(served, name)


@pytest.mark.skipif(not SOAK, reason="only with HASHRANGE_SOAK: the budgets are the server's own")
@pytest.mark.parametrize("name", attackers.ATTACKS)
def test_abuse_over_postgres(
    name: str, tmp_path: Path, durable_postgres_server: PostgresServer
) -> None:
    """Waits are only printed: the database works on the same cores."""
    with serving(tmp_path, address=durable_postgres_server.new_schema()) as served:
        fill(served, name)
        attack(served, name, waits_count=False)


ATTACKS_MAX = 5
"""On a busy machine, the first attack may not last long enough."""
FAULTS = {
    "answers of 16 MB, not read": "from hashrange.server import budget; "
    "budget.Unsent._limit = lambda self: None",
    "bodies of 16 MB, 600 bytes a second": "from hashrange.server import budget; "
    "budget.Share.take = lambda self, size, client: True",
}


def attacks(served: Served, name: str) -> None:
    """Raises Violation."""
    for _ in range(ATTACKS_MAX):
        attack(served, name)


@pytest.mark.parametrize("name", FAULTS if SOAK else list(FAULTS)[:1])
def test_a_server_without_limits_is_found_out(name: str, tmp_path: Path) -> None:
    with serving(tmp_path, FAULTS[name]) as served:
        fill(served, name)
        with pytest.raises(Violation):
            attacks(served, name)
