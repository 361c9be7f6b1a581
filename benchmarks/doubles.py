"""`python -m benchmarks.doubles`: a suite of tests on hashrange, and the same suite on moto.

The suite has 200 tests. Each makes a table, puts 20 items, and scans them. The fixture for moto is
the one of its documentation. The two suites take turns, each in a run of pytest of its own, in one
environment (`.peers/doubles`), with the same boto3. The figures are the times that pytest reports,
the medians of the rounds. The command fails if moto takes less than six times as long.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import MOTO, PEERS, ROOT, run

TESTS = 200
TIMES_MIN = 6

SUITE = """
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_a_table(number, client):
    client.create_table(
        TableName="Things",
        AttributeDefinitions=[{{"AttributeName": "pk", "AttributeType": "S"}}],
        KeySchema=[{{"AttributeName": "pk", "KeyType": "HASH"}}],
        BillingMode="PAY_PER_REQUEST",
    )
    for count in range(20):
        item = {{"pk": {{"S": f"thing-{{count}}"}}, "count": {{"N": str(count)}}}}
        client.put_item(TableName="Things", Item=item)
    assert client.scan(TableName="Things")["Count"] == 20
"""

FIXTURES = {
    "hashrange": """
import pytest

@pytest.fixture
def client(hashrange_client):
    return hashrange_client
""",
    "moto": """
import boto3
import pytest
from moto import mock_aws

@pytest.fixture
def client(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    with mock_aws():
        yield boto3.client("dynamodb")
""",
}


def environment() -> Path:
    """The interpreter of an environment with hashrange, moto and pytest."""
    folder = PEERS / "doubles"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        run(sys.executable, "-m", "venv", "--clear", str(folder))
        requirements = (f"moto[dynamodb]=={MOTO}", "pytest", "-e", f"{ROOT}[boto3]")
        run(str(python), "-m", "pip", "install", "-q", *requirements)
        (folder / ".ready").touch()
    return python


def seconds(python: Path, name: str) -> float:
    """How long a run of pytest says that the suite took."""
    folder = Path(tempfile.mkdtemp(prefix="doubles-"))
    try:
        (folder / "conftest.py").write_text(FIXTURES[name])
        (folder / "test_suite.py").write_text(SUITE.format(tests=TESTS))
        told = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            check=True,
        ).stdout
    finally:
        shutil.rmtree(folder)
    passed = re.search(rf"{TESTS} passed.* in ([\d.]+)s", told)
    assert passed, told
    return float(passed[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    rounds = parser.parse_args().rounds
    python = environment()
    measured: dict[str, list[float]] = {name: [] for name in FIXTURES}
    for _ in range(rounds):
        for name, times in measured.items():
            times.append(seconds(python, name))
    ours, theirs = (statistics.median(times) for times in measured.values())
    print(f"{TESTS} tests, each with a table, 20 puts and a scan; the median of {rounds} runs\n")
    for name, times in measured.items():
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{name:<10} {statistics.median(times):6.2f} s  ({spread})")
    print(f"\nmoto takes {theirs / ours:.1f} times as long (needed: {TIMES_MIN})")
    return int(theirs / ours < TIMES_MIN)


if __name__ == "__main__":
    sys.exit(main())
