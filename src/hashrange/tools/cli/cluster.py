"""hashrange cluster check"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.database.addresses import printed
from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.commands import command, database_name

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, cluster)
    parser.set_defaults(run=parser.print_help)
    below = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser = command(below, check)
    parser.add_argument("path", metavar="DB", type=database_name, help="postgresql://...")


def cluster() -> None:
    """Check the Citus cluster of a database."""


def check(path: Path | str) -> None:
    """Check each node of a database's Citus cluster, and print one line for each problem.

    The exit status is 1 if there is a problem.
    """
    import asyncio

    from hashrange.database.connecting import check_cluster

    name = printed(path)
    if isinstance(path, Path):
        fail(f"{name}: only a PostgreSQL database can have a cluster")
    with told_in_one_line():
        problems = asyncio.run(check_cluster(path))
    for line in problems:
        print(line)
    if problems:
        sys.exit(1)
    print("no problems found")
