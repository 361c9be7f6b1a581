"""hashrange check"""

from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.database.addresses import printed
from hashrange.failing import fail
from hashrange.tools.cli.commands import STORE_HELP, command, database_name, opened

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, check)
    parser.add_argument("path", metavar="DB", type=database_name, help=STORE_HELP)


def check(path: Path | str) -> None:
    """Verify every row's checksum and recompute every index and counter."""
    problems, name = 0, printed(path)
    with opened(path) as database:
        for problem in database.check():
            problems += 1
            print(problem)
    if problems:
        fail(f"{name}: {problems} {'problem' if problems == 1 else 'problems'} found")
    print(f"{name}: no problem found")
