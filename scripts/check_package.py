"""Build the wheel and the sdist in `dist/`, and show that users can install them: `make package`.

Both are checked by twine. The wheel is installed in an empty environment, from wheels alone and
without a compiler, and the sdist in another one. In each, the version, the command, the typing
marker, the pytest plugin and a database in a file must work.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"

PROGRAM = """
import sys
from importlib import resources
import hashrange
from hashrange import design

CONSOLE = "templates/base.html", "static/console.css", "static/htmx.min.js"

files = resources.files("hashrange")
for name in ("py.typed", *(f"tools/console/{name}" for name in CONSOLE)):
    assert files.joinpath(name).is_file(), name
with hashrange.connect(sys.argv[1]) as database:
    client = database.boto3_session().client("dynamodb")
    client.create_table(
        TableName="Things",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="Things", Item={"pk": {"S": "a"}})
    assert client.scan(TableName="Things")["Count"] == 1
"""

TEST = """
def test_it(hashrange_client):
    assert hashrange_client.list_tables()["TableNames"] == []
"""


def run(*command: str | Path, **variables: str) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **variables},
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_version() -> str:
    """The version of pyproject.toml, which the changelog describes, as a version or as the next."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heading = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    if heading is None or heading[1] not in (version, "Unreleased"):
        sys.exit(f"CHANGELOG.md begins with {heading and heading[1]}, not with {version}")
    return version


def check_installed(package: Path, version: str, folder: Path) -> None:
    """Install a package in a new environment, and use it there."""
    run(sys.executable, "-m", "venv", folder)
    scripts = folder / "bin"
    pip = (scripts / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check")
    built = () if package.suffix == ".whl" else ("--no-binary", "hashrange")
    # Whatever would have to be compiled fails.
    run(
        *pip,
        "--only-binary",
        ":all:",
        *built,
        f"{package}[boto3]",
        "pytest",
        CC="false",
        CXX="false",
    )
    told = run(scripts / "hashrange", "--version").strip()
    if told != f"hashrange {version}":
        sys.exit(f"{package.name}: --version prints {told!r}")
    run(scripts / "python", "-I", "-c", PROGRAM, folder / "things.db")
    test = folder / "test_it.py"
    test.write_text(TEST)
    run(scripts / "python", "-I", "-m", "pytest", "-q", "-p", "no:cacheprovider", test)


def main() -> None:
    version = check_version()
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    packages = sorted(DIST.iterdir())
    print(run(sys.executable, "-m", "twine", "check", "--strict", *packages), end="")
    with tempfile.TemporaryDirectory() as folder:
        for number, package in enumerate(packages):
            check_installed(package, version, Path(folder) / str(number))
            print(f"{package.name}: {package.stat().st_size // 1024} KB, installs and works")


if __name__ == "__main__":
    main()
