"""The toolkit's sub-rooms build on each other in one direction."""

import ast
from collections.abc import Iterator
from pathlib import Path

DESIGN = Path(__file__).parents[2] / "src" / "hashrange" / "design"
BELOW = {
    "declare": {"declare"},
    "plan": {"plan", "declare"},
    "execute": {"execute", "plan", "declare"},
    "tools": {"tools", "streams", "execute", "plan", "declare"},
    "streams": {"streams", "execute", "plan", "declare"},
    "migrate": {"migrate", "tools", "execute", "plan", "declare"},
    "drawing": {"drawing", "tools", "execute", "plan", "declare"},
    "source": {"source", "tools", "execute", "plan", "declare"},
    "inference": {"inference", "source", "tools", "execute", "plan", "declare"},
    "exchange": {"exchange", "inference", "source", "tools", "execute", "plan", "declare"},
}
SHARED = {"declare": {"errors"}, "plan": {"errors"}, "execute": {"errors"}}
"""Modules of the room itself. The tools may also use `table`, which puts the others together."""


def imported(path: Path) -> Iterator[str]:
    """The toolkit's modules that a file imports, as the part after `hashrange.design.`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (n.split(".")[2] for n in names if n.startswith("hashrange.design."))


def test_each_sub_room_imports_only_those_below_it() -> None:
    assert {p.name for p in DESIGN.iterdir() if p.is_dir() and p.name[0] != "_"} == set(BELOW)
    for room, below in BELOW.items():
        allowed = below | SHARED.get(room, {"errors", "table"})
        for path in (DESIGN / room).rglob("*.py"):
            assert set(imported(path)) <= allowed, path
