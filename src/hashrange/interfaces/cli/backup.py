"""hashrange backup"""

from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.interfaces.cli.commands import command, existing, told_in_one_line

if TYPE_CHECKING:
    from hashrange.interfaces.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, backup)
    parser.add_argument("path", metavar="DB", type=Path, help="the database file")
    parser.add_argument(
        "target", metavar="TARGET", type=Path, help="the copy: a file that does not exist yet"
    )


def backup(path: Path, target: Path) -> None:
    """Copy a database as of one moment, also while a server uses it."""
    import hashrange

    with told_in_one_line(), hashrange.connect(existing(path)) as database:
        database.backup(target)
    print(f"copied {path} to {target}")
