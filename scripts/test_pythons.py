"""Run tests on every other Python that hashrange supports and this machine has.

`make test-pythons` runs the fast tests; `ARGS="tests/model tests/wire"` chooses some. A Python is
found on PATH or among the versions of pyenv. Each has an environment of its own beside the first.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PYENV = Path.home() / ".pyenv" / "versions"


def find_python(version: str) -> str | None:
    """The newest interpreter of a version."""
    built = [path / "bin" / "python" for path in PYENV.glob(f"{version}.*")]
    candidates = [shutil.which(f"python{version}"), *map(str, sorted(built, reverse=True))]
    return next((path for path in candidates if path and starts(path)), None)


def starts(python: str) -> bool:
    """False for a shim of pyenv that leads nowhere."""
    return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0


def environment(python: str, folder: Path, constraints: str) -> str:
    """The interpreter of an environment with the libraries that the tests need."""
    uv = Path(sys.executable).with_name("uv")
    inside = str(folder / "bin" / "python")
    exact = ["-c", f"{constraints}/dev.txt"] if constraints else []
    subprocess.run([uv, "venv", "-q", "--clear", "-p", python, folder], check=True)
    subprocess.run([uv, "pip", "install", "-q", "-p", inside, *exact, "-e", ".[dev]"], check=True)
    return inside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", default="")
    arguments, pytest_arguments = parser.parse_known_args()
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    failed = []
    for version in VERSIONS:
        if version == own:
            continue
        python = find_python(version)
        if python is None:
            print(f"Python {version}: not on this machine", flush=True)
            continue
        folder = Path(sys.prefix) / "pythons" / version
        inside = environment(python, folder, arguments.constraints)
        print(f"Python {version}:", flush=True)
        if subprocess.run([inside, "-m", "pytest", *pytest_arguments], check=False).returncode:
            failed.append(version)
    if failed:
        sys.exit(f"Tests fail on Python {' and '.join(failed)}.")


if __name__ == "__main__":
    main()
