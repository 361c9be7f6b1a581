"""Which room may import what: the table of rooms, checked for every module.

A room is a folder or a single module under `src/hashrange`. Imports inside functions and under
`TYPE_CHECKING` count too, so that the table cannot be bypassed.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "hashrange"
SOURCE = Path(__file__).parents[2] / "src" / PACKAGE

SOCKETS = frozenset({"http", "select", "selectors", "socket", "socketserver", "ssl"})
NETWORK = SOCKETS | {"asyncio"}
# fmt: off
FILES = frozenset({
    "concurrent", "ctypes", "fcntl", "glob", "io", "logging", "mmap", "multiprocessing", "os",
    "pathlib", "queue", "shutil", "signal", "sqlite3", "subprocess", "tempfile", "threading",
})
# fmt: on
CLOCK = frozenset({"sched", "time"})
TODAY = re.compile(r"\b(datetime|date)\.(now|today|utcnow)\b")
"""Dates may be computed with in every room; asking for the current one is reading a clock."""
RANDOM = frozenset({"random", "secrets", "uuid.uuid1", "uuid.uuid4"})
PURE = NETWORK | FILES | CLOCK | RANDOM
KEYS = frozenset({"hashrange.engine.keyspace", "hashrange.engine.changes"})
TYPES = frozenset(
    {
        "hashrange.engine.keyspace.bounds.Bounds",
        "hashrange.engine.keyspace.keys.RowKey",
        "hashrange.engine.keyspace.rows.Row",
        "hashrange.engine.keyspace.rows.contents",
    }
)
"""What operations may use of the keyspace, because it builds no keys: types whose values they pass
on, and the items of rows."""
WIRE = "msgspec httptools zlib_ng"
DESIGN = "msgspec pydantic annotated_types"
FORMATS = "pyarrow yaml amazon zstandard"
CLIENTS = "boto3 botocore aiobotocore"
CONSOLE = "starlette jinja2 markupsafe uvicorn"
SHELL = "prompt_toolkit rich"
AGENTS = "mcp mcp_types"


class Room(NamedTuple):
    """`never` wins over the rest: names of modules, or of what is imported from them."""

    may: frozenset[str]
    libraries: frozenset[str]
    never: frozenset[str]


def room(may: str, libraries: str, never: frozenset[str]) -> Room:
    return Room(frozenset(may.split()), frozenset(libraries.split()), never)


# fmt: off
ROOMS = {
    #                   other rooms                            libraries            never
    "model":       room("decoders",                            "msgspec",           PURE),
    "kv":          room("",                                    "msgspec",           PURE),
    "access":      room("model",                               "msgspec",           PURE),
    "forks":       room("",                                    "",                  NETWORK),
    "failing":     room("kv",                                  "",                  NETWORK),
    "amounts":     room("",                                    "",                  PURE),
    "paging":      room("kv",                                  "",                  PURE),
    "decoders":    room("forks",                               "msgspec",           NETWORK),
    "expressions": room("model",                               "msgspec",           PURE),
    "engine":      room("model expressions kv decoders",       "msgspec zlib_ng numpy", PURE),
    "operations":  room("model expressions engine decoders access",
                        "msgspec",                             PURE | KEYS),
    "storage":     room("kv forks paging",                     "apsw asyncpg",      SOCKETS),
    "objects":     room("",                                    "boto3 botocore",    NETWORK),
    "metering":    room("model engine kv",                     "msgspec",           NETWORK),
    "runtime":     room("model kv forks paging operations engine access metering",
                        "msgspec",                             SOCKETS),
    "upkeep":      room("kv forks model engine runtime",       "msgspec",           SOCKETS),
    "archive":     room("kv objects storage runtime",          "msgspec apsw zlib_ng", SOCKETS),
    "formats":     room("model",                               f"msgspec {FORMATS}", NETWORK),
    "wire":        room("model",                               WIRE,                NETWORK),
    "clients":     room("model wire runtime access formats",   f"msgspec {CLIENTS}", frozenset()),
    "transfers":   room("model kv objects runtime formats failing",
                        f"msgspec {CLIENTS} zstandard",        SOCKETS),
    "database":    room("model kv forks access failing engine storage objects archive runtime "
                        "upkeep transfers clients",
                        "msgspec boto3",                       SOCKETS),
    "design":      room("model expressions",                   DESIGN,              SOCKETS),
    "declared":    room("model formats clients design",        "msgspec",           NETWORK),
    "server":      room("model kv access failing wire runtime metering formats transfers clients "
                        "database declared design amounts",
                        "msgspec uvloop prometheus_client",    frozenset()),
    "testing":     room("runtime storage paging kv model",     "hypothesis pytest", SOCKETS),
    "embedded":    room("model access runtime clients database server testing",
                        f"pytest {CLIENTS}",                   frozenset()),
    "tools":       room("model expressions access kv failing objects archive runtime formats "
                        "clients database server declared design testing amounts metering",
                        f"msgspec {CLIENTS} {CONSOLE} {SHELL} {AGENTS}", frozenset()),
    # What `import hashrange` offers is imported when it is asked for.
    "hashrange":   room("database embedded tools model kv failing", "",                  NETWORK),
}
# fmt: on


def room_of(module: str) -> str:
    """`hashrange.engine.fetch` is in the room engine; the package itself is the root's."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else PACKAGE


class Import(NamedTuple):
    """`module`, and the names taken from it (none: the module itself)."""

    module: str
    names: tuple[str, ...]
    line: int

    def full_names(self) -> list[str]:
        return [self.module, *(f"{self.module}.{name}" for name in self.names)]


def imports(tree: ast.AST, package: str) -> Iterator[Import]:
    """Every import in the tree; `package` is what a relative one starts from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            parts = [*base, node.module or ""] if node.level else [node.module or ""]
            names = tuple(alias.name for alias in node.names)
            yield Import(".".join(parts).rstrip("."), names, node.lineno)


def targets(found: Import) -> set[str]:
    """The rooms that an import reaches: `from hashrange import kv` reaches kv."""
    if found.module == PACKAGE and found.names:
        return {room_of(f"{PACKAGE}.{name}") for name in found.names}
    return {room_of(found.module)}


def banned(found: Import, never: frozenset[str]) -> bool:
    """A module is banned with all below it; one of its names bans the bare module too."""
    if found.names and TYPES.issuperset(found.full_names()[1:]):
        return False
    if any(
        name == ban or name.startswith(f"{ban}.") for name in found.full_names() for ban in never
    ):
        return True
    return not found.names and any(ban.startswith(f"{found.module}.") for ban in never)


def offence(found: Import, home: str) -> str | None:
    """What is wrong with an import made in the room `home`."""
    rule = ROOMS[home]
    top = found.module.split(".")[0]
    if banned(found, rule.never):
        return f"{found.module} is never imported by {home}"
    if top == PACKAGE:
        strangers = targets(found) - rule.may - {home}
        return f"{home} may not import {', '.join(sorted(strangers))}" if strangers else None
    if top in sys.stdlib_module_names or top in rule.libraries:
        return None
    return f"{home} may not use the library {top}"


def offences(source: str, module: str, package: str) -> list[str]:
    home = room_of(module)
    wrong = ((found.line, offence(found, home)) for found in imports(ast.parse(source), package))
    return [f"{module}:{line}: {text}" for line, text in wrong if text]


def asks_for_today(source: str) -> bool:
    return TODAY.search(source) is not None


def modules() -> Iterator[tuple[str, str, Path]]:
    """(module, its package, its file) of everything in the source tree."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = (PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)
        if parts[-1] == "__init__":
            yield ".".join(parts[:-1]), ".".join(parts[:-1]), path
        else:
            yield ".".join(parts), ".".join(parts[:-1]), path


def test_every_room_keeps_to_the_table() -> None:
    found = [
        line
        for module, package, path in modules()
        for line in offences(path.read_text(), module, package)
    ]
    assert not found, "\n".join(found)


def test_rooms_without_a_clock_do_not_ask_for_today() -> None:
    found = [
        module
        for module, _, path in modules()
        if CLOCK.issubset(ROOMS[room_of(module)].never) and asks_for_today(path.read_text())
    ]
    assert not found, "\n".join(found)
    assert asks_for_today("expires = datetime.now(UTC)")


def test_every_folder_is_a_room() -> None:
    folders = {path.parent.name for path in SOURCE.glob("*/*.py")}
    assert folders <= set(ROOMS)


def test_rooms_import_each_other_in_one_direction() -> None:
    order: list[str] = []
    while len(order) < len(ROOMS):
        free = {
            name for name, rule in ROOMS.items() if name not in order and rule.may <= set(order)
        }
        assert free, f"a cycle among the rooms outside {order}"
        order += sorted(free)


def imported_modules() -> dict[str, set[str]]:
    """The modules of the package that each of them imports, wherever in it."""
    known = {module: (package, path) for module, package, path in modules()}
    return {
        module: {
            full if full in known else found.module
            for found in imports(ast.parse(path.read_text()), package)
            for full in found.full_names()[1:] or [found.module]
            if full in known or found.module in known
        }
        for module, (package, path) in known.items()
    }


def test_no_modules_import_each_other_in_a_circle() -> None:
    left = imported_modules()
    while ends := {
        *(module for module, uses in left.items() if not uses & left.keys()),
        *(left.keys() - set().union(*left.values())),
    }:
        for module in ends:
            del left[module]
    assert not left, f"they import each other in a circle: {sorted(left)}"


WITHOUT_OTHERS = """
import importlib, pkgutil, sys

class Hidden:
    def find_spec(self, name, path, target=None):
        if name.startswith("hashrange.") and name.split(".")[1] not in ROOMS:
            raise ModuleNotFoundError(f"{name} is hidden")

sys.meta_path.insert(0, Hidden())
for room in PART:
    path = importlib.import_module(f"hashrange.{room}").__path__
    for module in pkgutil.walk_packages(path, f"hashrange.{room}."):
        importlib.import_module(module.name)
"""


def reached(part: Iterable[str]) -> set[str]:
    """The rooms of a part of the package, and all that they may import, directly or not."""
    rooms = set(part)
    while more := {name for room in rooms for name in ROOMS[room].may} - rooms:
        rooms |= more
    return rooms


def run_without_others(part: Iterable[str], rooms: Iterable[str]) -> str:
    """Import all modules of a part while only `rooms` exist. Returns what is on stderr."""
    program = f"PART, ROOMS = {sorted(part)}, {sorted(rooms)}{WITHOUT_OTHERS}"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("part", [("database", "server"), ("tools",), ("design",)], ids=str)
def test_a_part_needs_only_the_rooms_that_it_may_import(part: tuple[str, ...]) -> None:
    assert run_without_others(part, reached(part)) == ""
    assert "embedded" not in reached(part)


def test_a_missing_room_would_be_seen() -> None:
    assert "hashrange.model" in run_without_others(["design"], reached(["design"]) - {"model"})


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hashrange.model.values", "import time"),
        ("hashrange.model.values", "def f():\n    from time import monotonic"),
        ("hashrange.model.values", "from hashrange.kv import Put"),
        ("hashrange.model.values", "import boto3"),
        ("hashrange.kv", "from hashrange.model import errors"),
        ("hashrange.forks", "from hashrange import kv"),
        ("hashrange.engine.fetch", "import os.path"),
        ("hashrange.engine.fetch", "from uuid import uuid4"),
        ("hashrange.engine.fetch", "import uuid"),
        ("hashrange.engine.fetch", "from ..storage import sqlite"),
        ("hashrange.operations.items.put_item", "from hashrange.engine import changes"),
        (
            "hashrange.operations.items.put_item",
            "from hashrange.engine.keyspace.sort import encode",
        ),
        ("hashrange.operations.items.put_item", "from hashrange import kv"),
        ("hashrange.wire.http", "import asyncio"),
        ("hashrange.server", "from hashrange.storage.sqlite import SqliteStore"),
    ],
)
def test_the_table_catches(module: str, source: str) -> None:
    assert len(offences(source, module, module.rpartition(".")[0])) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hashrange.engine.fetch", "from uuid import UUID"),
        ("hashrange.engine.fetch", "from hashrange import kv"),
        ("hashrange.engine.fetch", "from . import writes"),
        ("hashrange.engine.fetch", "from ..kv import Get"),
        ("hashrange.operations.items.put_item", "from hashrange.engine import fetch, writes"),
        ("hashrange.wire.http", "import httptools"),
    ],
)
def test_the_table_allows(module: str, source: str) -> None:
    assert offences(source, module, module.rpartition(".")[0]) == []
