"""Modules and lines are short enough to read, and every module says what it is."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "examples", "benchmarks", "scripts")
DOCUMENTED = ("src", "examples", "benchmarks", "scripts")

LINES_MAX = 400
LINE_CHARS_MAX = 100
GENERATED = "Written by scripts/"
"""In the first lines of a module that nobody writes by hand, and so nobody reads by the page."""


def sources(folders: tuple[str, ...]) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def generated(text: str) -> bool:
    return GENERATED in "\n".join(text.splitlines()[:5])


def faults(text: str) -> list[str]:
    """The lines and modules that are too long."""
    lines = text.splitlines()
    if generated(text):
        return []
    wide = [
        f"line {number} has {len(line)} characters"
        for number, line in enumerate(lines, 1)
        if len(line) > LINE_CHARS_MAX
    ]
    return wide + ([f"it has {len(lines)} lines"] if len(lines) > LINES_MAX else [])


def test_modules_and_lines_are_short() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {fault}"
        for path in sources(FOLDERS)
        for fault in faults(path.read_text())
    ]
    assert not found, "\n".join(found)


def test_every_module_has_a_docstring() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources(DOCUMENTED)
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent, "\n".join(silent)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x = 1\n" * LINES_MAX, 0),
        ("x = 1\n" * (LINES_MAX + 1), 1),
        ("x" * (LINE_CHARS_MAX + 1), 1),
        (f'"""{GENERATED}generate_shapes.py."""\n' + "x = 1\n" * LINES_MAX, 0),
    ],
)
def test_the_limits_are_held(text: str, count: int) -> None:
    assert len(faults(text)) == count
