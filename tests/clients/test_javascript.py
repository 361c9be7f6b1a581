"""Clients in JavaScript: the AWS SDKs, mappers, and tools that expect DynamoDB Local."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import HERE, SERVE, Run, serving

pytestmark = pytest.mark.foreign

NODE_MAJOR_MIN = 20
"""The version of node that the AWS SDK needs."""

BIN = Path(sys.executable).parent
"""The folder with the command `hashrange`."""


@pytest.fixture(scope="module")
def folder(build: Callable[..., Path]) -> Path:
    """The folder of the programs and their packages."""
    built = build("javascript", "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
    version = subprocess.run(("node", "--version"), capture_output=True, text=True, check=True)
    if int(version.stdout.lstrip("v").partition(".")[0]) < NODE_MAJOR_MIN:
        pytest.skip(f"node {version.stdout.strip()} is older than {NODE_MAJOR_MIN}")
    return built


@pytest.fixture(scope="module")
def open_endpoint() -> Iterator[str]:
    """The URL of a server without keys."""
    with serving(*SERVE) as url:
        yield url


@pytest.fixture(scope="module")
def short_shards_endpoint() -> Iterator[str]:
    with serving(HERE / "short_shards.py", "1") as url:
        yield url


@pytest.fixture(scope="module")
def limited_endpoint() -> Iterator[str]:
    """The URL of a server whose partitions serve 20 units a second."""
    with serving(HERE / "limited.py", "20") as url:
        yield url


@pytest.mark.parametrize(
    ("program", "server"),
    [
        ("sdk", "endpoint"),
        ("document", "endpoint"),
        ("streams", "short_shards_endpoint"),
        ("retries", "limited_endpoint"),
        ("sdk2", "endpoint"),
        ("electrodb", "endpoint"),
        ("toolbox", "endpoint"),
        ("dynamoose", "endpoint"),
        ("admin", "open_endpoint"),
        ("local", "open_endpoint"),
    ],
)
def test_every_part_of_a_program_passes(
    folder: Path, run: Run, request: pytest.FixtureRequest, program: str, server: str
) -> None:
    env = {
        "ENDPOINT": request.getfixturevalue(server),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "NODE_NO_WARNINGS": "1",
    }
    said = run(folder, "node", "--test-reporter=tap", f"{program}.mjs", env=env)
    passed = [match[1] for line in said if (match := re.match(r"ok \d+ - (.+)", line))]
    written = re.findall(r'^test\("(.+)", ', (folder / f"{program}.mjs").read_text(), re.M)
    assert written
    assert passed == written
