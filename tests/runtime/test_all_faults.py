"""Tests of indexes, streams and transactions hold while each request may have any of the faults."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hashrange.model.faults import FAULTS

pytestmark = pytest.mark.deep

HERE = Path(__file__).parent
SUITES = (
    *("conformance/test_indexes.py", "conformance/test_index_updates.py"),
    *("conformance/test_update_index_keys.py", "conformance/test_batches.py"),
    "conformance/test_transactions.py",
    *("operations/test_streams.py", "operations/test_stream_pages.py"),
    *("operations/test_stream_requests.py", "operations/test_change_log.py"),
    *("design/execute/test_index_maintenance.py", "design/streams/test_streams.py"),
)
IN_PROCESS = "not http and not awaited and not postgresql and not citus and not policed"
OF_ONE_ANSWER = "not at_most_16_mb"
"""It measures the first answer of a batch, and the plugin adds the rest to it."""


def test_the_tests_of_indexes_and_streams_hold_with_all_faults() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "all_faults"]
    command += ["-k", f"{IN_PROCESS} and {OF_ONE_ANSWER}"]
    command += [str(HERE.parent / suite) for suite in SUITES]
    path = os.pathsep.join([str(HERE), *sys.path])
    run = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert all(f"fault {fault}: " in run.stdout for fault in FAULTS), run.stdout
