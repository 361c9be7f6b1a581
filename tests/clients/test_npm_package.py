"""The package for JavaScript tests: its own tests, with the server of this environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.foreign
FOLDER = Path(__file__).parents[2] / "clients/npm"


def test_the_package_starts_resets_and_ends_a_server() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        (node, "--test"),
        cwd=FOLDER,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
