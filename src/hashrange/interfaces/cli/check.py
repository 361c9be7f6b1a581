"""hashrange check"""

from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.interfaces.cli.commands import command, existing, fail, told_in_one_line

if TYPE_CHECKING:
    from hashrange.interfaces.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, check)
    parser.add_argument("path", metavar="DB", type=Path, help="the database file")


def check(path: Path) -> None:
    """Verify every row's checksum and recompute every index and counter."""
    import hashrange

    problems = 0
    with told_in_one_line(), hashrange.connect(existing(path)) as database:
        for problem in database.check():
            problems += 1
            print(problem)
    if problems:
        fail(f"{path}: {problems} {'problem' if problems == 1 else 'problems'} found")
    print(f"{path}: no problem found")
