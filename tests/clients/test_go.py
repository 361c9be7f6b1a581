"""The AWS SDK for Go v2."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import STEPS, Run

pytestmark = pytest.mark.foreign


def test_smoke(build: Callable[..., Path], run: Run) -> None:
    folder = build("go", "go", "build", "-o", "smoke", ".")
    assert run(folder, "./smoke") == STEPS
