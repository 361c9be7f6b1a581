"""hashrange tables: create the tables that a template, a plan or a model declares."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.targets import opened_target
from hashrange.tools.cli.transfers import add_yes, ask_before_writing, told

if TYPE_CHECKING:
    from hashrange.declared.tables import Description
    from hashrange.tools.cli.commands import Commands

FILE_HELP = (
    "a template of CloudFormation, SAM or CDK (or the folder cdk.out), serverless.yml, Terraform's "
    "plan as JSON, a model of NoSQL Workbench, or the answer of DescribeTable"
)


def add(commands: "Commands") -> None:
    about = "Create the tables that a file of another tool declares."
    tables = commands.add_parser("tables", help=about, description=about, allow_abbrev=False)
    tables.set_defaults(run=tables.print_help, parser=tables)
    tools = tables.add_subparsers(title="commands", metavar="COMMAND")
    parser = command(tools, create)
    parser.add_argument(
        "db", metavar="DB", help=f"{DB_HELP}; a file is created if it does not exist"
    )
    parser.add_argument("file", metavar="FILE", type=Path, help=FILE_HELP)
    add_yes(parser)


def create(db: str, file: Path, yes: bool) -> None:
    """Create each table that a file declares and the database does not have."""

    from hashrange.database.addresses import kind_of
    from hashrange.declared.creating import create_missing
    from hashrange.declared.reading import read

    with told("run the same command again to continue"):
        declared = read(file)
        for remark in declared.remarks:
            print(f"hashrange: {remark}", file=sys.stderr)
        if kind_of(db) == "file" and not Path(db).exists():
            _try_to_create(declared.tables)
        with opened_target(db, create=True) as target:
            names = ", ".join(declared.tables)
            ask_before_writing(target, f"Create the tables {names}", yes)
            with closing(target.connection(1)) as asking:
                for line in create_missing(asking, target.name, declared.tables):
                    print(line)


def _try_to_create(declared: "dict[str, Description]") -> None:
    """Create the tables in memory first, so that a refused table does not leave behind a new file
    with an empty database."""
    from hashrange.clients.connection import connection_of
    from hashrange.database.connecting import connect
    from hashrange.declared.creating import create_missing

    with connect() as database:
        for _ in create_missing(connection_of(database.runtime, 1), "memory", declared):
            pass
