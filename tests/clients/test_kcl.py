"""The Kinesis Client Library, in Java, with the adapter for DynamoDB Streams."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import HERE, Run, serving

pytestmark = pytest.mark.foreign

SHARD_SECONDS = 15
"""The library looks for leases to take every few seconds; the writer writes for 40."""


def test_every_change_is_read_once_and_in_order(build: Callable[..., Path], run: Run) -> None:
    folder = build("kcl", "mvn", "-q", "-B", "package")
    classes = "target/classes:target/dependency/*"
    with serving(HERE / "short_shards.py", str(SHARD_SECONDS)) as url:
        [line] = run(folder, "java", "-cp", classes, "kcl.Main", env={"AWS_ENDPOINT_URL": url})
    report = re.fullmatch(r"(\d+) of \1 changes, 0 out of order, \d+ shards, (\d+) ended", line)
    assert report, line
    assert int(report[1]) > 100
    assert int(report[2]) >= 2, line
