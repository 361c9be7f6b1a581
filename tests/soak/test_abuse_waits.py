"""Beside any attack, a well-behaved client is answered as promised. See `abuse`."""

import time
from pathlib import Path

import pytest

from . import abuse
from .abuse import ATTACKS
from .runs import SOAK, Violation

P99_MS = 25
LONGEST_MS = 250
MEMORY_MB = 400

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not SOAK, reason="waits are measured by make soak, on an idle machine"),
]


def check(name: str, path: Path, *patch: str) -> None:
    """Raises Violation if the promise does not hold beside this attack."""
    with abuse.served(path, *patch) as (port, server):
        abuse.fill(port)
        with abuse.attacked(name, port):
            time.sleep(1)
            found = abuse.behave(port, max(10, 60 * SOAK))
        resident, _ = abuse.memory_mb(server.pid)
    for operation, waits in found.items():
        if waits.p99 > P99_MS or waits.longest > LONGEST_MS:
            raise Violation(f"{operation} beside {name}: {waits}")
    if resident > MEMORY_MB:
        raise Violation(f"{resident} MB beside {name}")


@pytest.mark.parametrize("name", ATTACKS)
def test_a_well_behaved_client_is_answered_as_promised(name: str, tmp_path: Path) -> None:
    check(name, tmp_path / "db")


def test_a_server_without_prices_is_caught(tmp_path: Path) -> None:
    """The planted fault: nothing is costly."""
    patch = "from hashrange.runtime import batch, decisions; batch.UNITS_MAX = 1 << 60; "
    with pytest.raises(Violation):
        check(
            "filtered Scan of large items", tmp_path / "db", patch + "decisions.UNITS_MAX = 1 << 60"
        )
