"""A server for each client, started as users start it, and fixtures to build and run clients.

Modules that need another language's runtime are marked `foreign`: `make test-clients` runs them,
`make test` does not.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILT = HERE.parents[1] / ".clients"
"""Programs are built in a copy, so that no output lands among the sources. The copy is kept."""

KEYS = {
    "AWS_ACCESS_KEY_ID": "example",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}
SERVE = ("-m", "hashrange", "serve", "--port", "0")
STEPS = ["tables", "items", "conditions", "query", "batches", "transactions", "expiry"]
STEPS += ["streams", "end"]
"""The steps that the program of an SDK prints, one on each line."""

BUILD_SECONDS_MAX = 3600
RUN_SECONDS_MAX = 300


@contextmanager
def serving(*command: str | Path, **variables: str) -> Iterator[str]:
    """The URL that `python COMMAND` prints in its first line, and at which it serves.

    `variables` are added to its environment.
    """
    server = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    with server:
        try:
            assert server.stdout
            greeting = server.stdout.readline()
            url = re.search(r"http://\S+", greeting)
            assert url, greeting
            yield url[0]
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server on a new file, which verifies signatures."""
    keys = f"{KEYS['AWS_ACCESS_KEY_ID']} {KEYS['AWS_SECRET_ACCESS_KEY']}"
    path = tmp_path_factory.mktemp("database") / "app.db"
    with serving(*SERVE, path, HASHRANGE_KEYS=keys) as url:
        yield url


@pytest.fixture(scope="module")
def environment(endpoint: str) -> dict[str, str]:
    """The environment of a client's program.

    `AWS_ENDPOINT_URL` is what AWS's own SDKs look for, `ENDPOINT` is for programs that say it in
    code. Nothing of the user's own configuration is found.
    """
    nowhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    mine = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**mine, **nowhere, **KEYS, "AWS_ENDPOINT_URL": endpoint, "ENDPOINT": endpoint}


Run = Callable[..., list[str]]


@pytest.fixture(scope="module")
def build() -> Callable[..., Path]:
    """`build("go", "go", "build")` runs the command in a copy of tests/clients/go, whose path it
    returns.

    It skips the test if there is no such command.
    """

    def building(folder: str, *command: str, env: Mapping[str, str] | None = None) -> Path:
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        shutil.copytree(HERE / folder, BUILT / folder, dirs_exist_ok=True)
        environment = {**os.environ, **(env or {})}
        _succeed(command, BUILT / folder, environment, BUILD_SECONDS_MAX)
        return BUILT / folder

    return building


@pytest.fixture(scope="module")
def run(environment: dict[str, str]) -> Run:
    """`run(folder, "node", "smoke.mjs")` runs a command that must succeed, and returns the
    lines of its output.

    A program prints a line for each step that succeeds. At the first step that fails it ends with
    a status other than 0. `env` is added to its environment.
    """

    def running(folder: Path, *command: str, env: Mapping[str, str] | None = None) -> list[str]:
        added = {**environment, **(env or {})}
        return _succeed(command, folder, added, RUN_SECONDS_MAX).splitlines()

    return running


def _succeed(
    command: tuple[str, ...], folder: Path, env: Mapping[str, str], seconds_max: float
) -> str:
    """Run a command that must succeed, and return its output."""
    ended = subprocess.run(
        command,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds_max,
        check=False,
    )
    said = f"{' '.join(command)}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    assert ended.returncode == 0, said
    return ended.stdout
