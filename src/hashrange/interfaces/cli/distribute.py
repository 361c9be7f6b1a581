"""hashrange distribute"""

from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.interfaces.cli.commands import command, database_name
from hashrange.interfaces.failing import fail, printed, told_in_one_line

if TYPE_CHECKING:
    from hashrange.interfaces.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, distribute)
    parser.add_argument("path", metavar="DB", type=database_name, help="postgresql://...")


def distribute(path: Path | str) -> None:
    """Spread a PostgreSQL database over the nodes of its Citus cluster, in place."""
    import asyncio

    from hashrange.database import distribute

    name = printed(path)
    if isinstance(path, Path):
        fail(f"{name}: only a PostgreSQL database can be distributed; copy it there first")
    with told_in_one_line():
        for line in asyncio.run(distribute(path)):
            print(line)
