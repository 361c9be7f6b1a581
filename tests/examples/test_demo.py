"""`make demo` from its start to its end: a real server on a file, over HTTP."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import SECONDS_MAX

pytestmark = pytest.mark.deep

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_reports_eight_access_patterns_and_ends() -> None:
    environment = {**os.environ, "EXIT": "1"}
    command = [sys.executable, str(DEMO)]
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=True
    )
    rows = re.findall(r"([\d,]+) +(\d+) +([\d.]+) *$", ran.stdout, re.MULTILINE)
    assert rows == [
        ("1", "1", "0.5"),
        ("5", "1", "0.5"),
        ("5", "1", "0.5"),
        ("50", "1", "1.5"),
        ("10", "1", "0.5"),
        ("2", "1", "0.5"),
        ("1", "1", "0.5"),
        ("10,000", "2", "137.0"),
    ]
    [path] = re.findall(r"file +(\S+)", ran.stdout)
    assert not Path(path).exists()


def test_the_demo_changes_a_key_under_a_running_program() -> None:
    demo = DEMO.parent / "migrate" / "demo_migrate.py"
    environment = {**os.environ, "HOURS": "30"}
    command = [sys.executable, str(demo)]
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=True
    )
    assert "every answer was right, and nothing is lost" in ran.stdout
