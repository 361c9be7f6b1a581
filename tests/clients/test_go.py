"""The AWS SDK for Go v2."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clients.conftest import Run

pytestmark = pytest.mark.foreign


def test_smoke(build: Callable[..., Path], run: Run) -> None:
    folder = build("go", "go", "build", "-o", "smoke", ".")
    assert run(folder, "./smoke") == [
        "tables",
        "items",
        "conditions",
        "query",
        "batches",
        "transactions",
        "expiry",
        "streams",
        "end",
    ]
