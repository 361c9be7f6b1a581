"""`import hashrange` costs a program only what the database itself needs."""

import re
import subprocess
import sys

import pytest
from waiting import SECONDS_MAX

HEAVY = ("boto3", "botocore", "httptools", "pydantic", "pytest", "rich", "uvloop")
NOT_TO_SERVE = {
    *("boto3", "botocore", "pydantic", "pytest", "rich"),
    *("hashrange.design", "hashrange.clients.boto", "hashrange.testing"),
    *("email.utils", "importlib.metadata", "importlib.resources", "json", "tempfile", "zipfile"),
}


def loaded_by(statement: str) -> set[str]:
    """The heavy libraries that a new interpreter has loaded after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS_MAX,
    )
    return set(run.stdout.split()) & set(HEAVY)


def test_a_server_does_not_load_libraries_that_it_does_not_need() -> None:
    """It should answer within 300 ms of its start, most of which is spent on imports."""
    command = [sys.executable, "-X", "importtime", "-m", "hashrange", "serve"]
    with subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert "Serving" in process.stdout.readline()
        process.terminate()
        _, timed = process.communicate(timeout=SECONDS_MAX)
    loaded = set(re.findall(r"\| +(\S+)$", timed, re.MULTILINE))
    assert {"hashrange.runtime.threaded.runtime", "hashrange.server"} <= loaded
    assert loaded & NOT_TO_SERVE == set()


def test_the_package_is_light() -> None:
    assert loaded_by("import hashrange") == set()


@pytest.mark.parametrize("library", ["rich", "httptools"])
def test_a_heavy_library_would_be_seen(library: str) -> None:
    assert library in loaded_by(f"import {library}")
