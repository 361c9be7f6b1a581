"""hashrange distribute, hashrange cluster check, hashrange cluster restore-point"""

import sys
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
    parser = command(commands, cluster)
    parser.set_defaults(run=parser.print_help)
    below = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser = command(below, check)
    parser.add_argument("path", metavar="DB", type=database_name, help="postgresql://...")
    parser = command(below, restore_point)
    parser.add_argument("path", metavar="DB", type=database_name, help="postgresql://...")
    parser.add_argument("name", metavar="NAME", help="the name of the restore point")


def distribute(path: Path | str) -> None:
    """Spread a PostgreSQL database over the nodes of its Citus cluster, in place."""
    import asyncio

    from hashrange.database.connecting import distribute

    if isinstance(path, Path):
        name = printed(path)
        fail(f"{name}: only a PostgreSQL database can be distributed; copy it there first")
    with told_in_one_line():
        for line in asyncio.run(distribute(path)):
            print(line)


def cluster() -> None:
    """Check the Citus cluster of a database, or make a restore point in it."""


def check(path: Path | str) -> None:
    """Check each node of a database's Citus cluster, and print one line for each problem.

    The exit status is 1 if there is a problem.
    """
    import asyncio

    from hashrange.database.connecting import check_cluster

    with told_in_one_line():
        problems = asyncio.run(check_cluster(_address(path)))
    for line in problems:
        print(line)
    if problems:
        sys.exit(1)
    print("no problems found")


def restore_point(path: Path | str, name: str) -> None:
    """Make a restore point at each node of a Citus cluster, without splitting a transaction.

    Prints the log position of each node. Writers wait until all nodes have the point.
    """
    import asyncio

    from hashrange.database.connecting import make_restore_point

    with told_in_one_line():
        for line in asyncio.run(make_restore_point(_address(path), name)):
            print(line)


def _address(path: Path | str) -> str:
    if isinstance(path, Path):
        fail(f"{printed(path)}: only a PostgreSQL database can be on a cluster")
    return path
