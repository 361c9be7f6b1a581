"""The AWS SDK for Rust."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import STEPS, Run

pytestmark = pytest.mark.foreign


def test_smoke(build: Callable[..., Path], run: Run) -> None:
    folder = build("rust", "cargo", "build", "--locked", env={"CARGO_BUILD_JOBS": "1"})
    assert run(folder, "target/debug/smoke") == STEPS
