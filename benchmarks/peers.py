"""The other implementations: how each is installed (once, into .peers/) and started."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from benchmarks.servers import Server
from hashrange.testing.postgres_cluster import find_programs_with_citus
from hashrange.testing.postgres_server import NoPostgres, find_programs

HERE = Path(__file__).parent
ROOT = HERE.parent
PEERS = ROOT / ".peers"
RUNS = PEERS / "runs"
"""Where databases are while they are measured: on the disk of the project, not in memory."""

DYNAMODB_LOCAL = "3.3.1"  # as in dynamodb-local.pom.xml
DYNALITE = "4.0.0"
DYNOXIDE = "3.2.0"
MOTO = "5.2.5"


class UnavailableError(Exception):
    """This implementation cannot be installed here; the message says what is missing."""


def run(*command: str) -> None:
    if not shutil.which(command[0]):
        raise UnavailableError(f"{command[0]} is not installed")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise UnavailableError(f"{command[0]} failed: {' '.join(last)}")


def hashrange() -> list[Server]:
    relaxed = checkout(ROOT, "hashrange", "relaxed")
    return [relaxed, checkout(ROOT, "hashrange", "full")._replace(reads=False)]


def workers() -> list[Server]:
    """The server with two processes on one file."""
    alone = checkout(ROOT, "hashrange, 2 workers", "relaxed")
    return [alone._replace(command=[*alone.command, "--workers", "2"])]


def over_postgresql() -> list[Server]:
    """The servers over a PostgreSQL on the same machine: one process, without and with syncs, and
    two processes without syncs."""
    try:
        find_programs()
    except NoPostgres as error:
        raise UnavailableError(str(error)) from None
    command = [sys.executable, "-m", "benchmarks.over_postgresql", "0", "--port", "{port}"]
    relaxed, full = ([*command, "--durability", each] for each in ("relaxed", "full"))
    one = Server("hashrange, PostgreSQL", version("hashrange"), "relaxed", relaxed, ROOT)
    two = [*relaxed, "--workers", "2"]
    return [
        one,
        one._replace(durability="full", command=full, reads=False),
        one._replace(implementation="hashrange, PostgreSQL, 2 workers", command=two),
    ]


def over_citus() -> list[Server]:
    """The server with one process over a cluster of four nodes on the same machine."""
    try:
        find_programs_with_citus()
    except NoPostgres as error:
        raise UnavailableError(str(error)) from None
    command = [sys.executable, "-m", "benchmarks.over_postgresql", "4", "--port", "{port}"]
    command += ["--durability", "relaxed"]
    return [Server("hashrange, Citus, 4 nodes", version("hashrange"), "relaxed", command, ROOT)]


def checkout(folder: Path, name: str, durability: str) -> Server:
    """The server of a checkout of this project, under a name of its own."""
    command = [sys.executable, "-m", "hashrange", "serve", "{folder}/bench.db"]
    command += ["--port", "{port}", "--durability", durability]
    return Server(name, version("hashrange"), durability, command, ROOT, source=folder / "src")


def bare() -> list[Server]:
    command = [sys.executable, "-m", "benchmarks.bare", "{folder}/bare.db", "--port", "{port}"]
    return [
        Server("bare server", "", "relaxed", [*command, "--durability", "relaxed"], ROOT),
        Server("bare server", "", "full", [*command, "--durability", "full"], ROOT, reads=False),
    ]


def dynamodb_local() -> list[Server]:
    folder = PEERS / "dynamodb-local"
    if not shutil.which("java"):
        raise UnavailableError("java is not installed")
    if not (folder / f"DynamoDBLocal-{DYNAMODB_LOCAL}.jar").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(
            "mvn", "-q", "-B", "-f", str(HERE / "dynamodb-local.pom.xml"),
            "dependency:copy-dependencies", "-DincludeScope=runtime",
            f"-DoutputDirectory={folder}",
        )  # fmt: skip
    command = ["java", "-Djava.library.path=.", "-cp", "*"]
    command += ["software.amazon.dynamodb.services.local.main.ServerRunner"]
    command += ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", "{port}"]
    return [Server("DynamoDB Local", DYNAMODB_LOCAL, "memory", command, folder)]


def dynalite() -> list[Server]:
    folder = PEERS / f"dynalite-{DYNALITE}"
    program = folder / "node_modules" / ".bin" / "dynalite"
    if not program.exists():
        run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder),
            f"dynalite@{DYNALITE}")  # fmt: skip
    command = [str(program), "--host", "127.0.0.1", "--port", "{port}", "--createTableMs", "0"]
    return [Server("dynalite", DYNALITE, "memory", command, ROOT)]


def dynoxide() -> list[Server]:
    folder = PEERS / f"dynoxide-{DYNOXIDE}"
    program = folder / "bin" / "dynoxide"
    if not program.exists():
        run("cargo", "install", "dynoxide-rs", "--version", DYNOXIDE, "--locked",
            "--no-default-features", "--features", "native-sqlite,http-server,cli",
            "--root", str(folder))  # fmt: skip
    command = [str(program), "serve", "--log", "quiet", "--port", "{port}"]
    durable = [*command, "--db-path", "{folder}/dynoxide.db"]
    return [
        Server("dynoxide", DYNOXIDE, "memory", command, ROOT),
        Server("dynoxide", DYNOXIDE, "full", durable, ROOT, reads=False),
    ]


def moto() -> list[Server]:
    folder = PEERS / f"moto-{MOTO}"
    program = folder / "bin" / "moto_server"
    if not program.exists():
        run(sys.executable, "-m", "venv", "--clear", str(folder))
        run(str(folder / "bin" / "pip"), "install", "-q", f"moto[server,dynamodb]=={MOTO}")
    command = [str(program), "-H", "127.0.0.1", "-p", "{port}"]
    return [Server("moto", MOTO, "memory", command, ROOT)]


OURS: list[Callable[[], list[Server]]] = [hashrange, workers, over_postgresql, over_citus, bare]
OTHERS: list[Callable[[], list[Server]]] = [dynamodb_local, dynalite, dynoxide]
