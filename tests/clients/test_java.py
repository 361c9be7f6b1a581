"""The AWS SDK for Java v2, and its enhanced client."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import STEPS, Run

pytestmark = pytest.mark.foreign


def test_smoke(build: Callable[..., Path], run: Run) -> None:
    folder = build("java", "mvn", "-q", "-B", "package")
    classes = "target/classes:target/dependency/*"
    assert run(folder, "java", "-cp", classes, "smoke.Main") == [*STEPS, "enhanced"]
