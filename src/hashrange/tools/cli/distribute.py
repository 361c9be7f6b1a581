"""hashrange distribute"""

from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.database.addresses import printed
from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.commands import command, database_name

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, distribute)
    parser.add_argument("path", metavar="DB", type=database_name, help="postgresql://...")


def distribute(path: Path | str) -> None:
    """Spread a PostgreSQL database over the nodes of its Citus cluster, in place."""
    import asyncio

    from hashrange.database.connecting import distribute

    name = printed(path)
    if isinstance(path, Path):
        fail(f"{name}: only a PostgreSQL database can be distributed; copy it there first")
    with told_in_one_line():
        for line in asyncio.run(distribute(path)):
            print(line)
