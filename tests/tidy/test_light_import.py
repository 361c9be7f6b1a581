"""`import hashrange` costs a program only what the database itself needs."""

import subprocess
import sys

import pytest

HEAVY = ("boto3", "botocore", "httptools", "pydantic", "pytest", "rich", "typer", "uvloop")


def loaded_by(statement: str) -> set[str]:
    """Those of the heavy libraries that a fresh interpreter has loaded after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split()) & set(HEAVY)


def test_the_package_is_light() -> None:
    assert loaded_by("import hashrange") == set()


@pytest.mark.parametrize("library", ["rich", "httptools"])
def test_a_heavy_library_would_be_seen(library: str) -> None:
    assert library in loaded_by(f"import {library}")
