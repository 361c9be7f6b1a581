"""hashrange import"""

import argparse
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.amounts import counted
from hashrange.failing import fail
from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.export_ import FORMATS
from hashrange.tools.cli.transfers import (
    add_speed,
    add_yes,
    ask_before_writing,
    threads,
    told,
)

if TYPE_CHECKING:
    from hashrange.declared.tables import Description, TableInfo
    from hashrange.tools.cli.commands import Commands
    from hashrange.tools.target import Target

    Wanted = Callable[[], Description]

_KINDS = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")


def add(commands: "Commands") -> None:
    parser = command(commands, import_)
    parser.add_argument("db", metavar="DB", help=DB_HELP)
    parser.add_argument("table", metavar="TABLE", help="the table to write to")
    parser.add_argument(
        "path",
        metavar="FILE",
        type=Path,
        help="a file, the folder of a DynamoDB export, or - for standard input",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="by default, the name and the first bytes of FILE decide",
    )
    parser.add_argument(
        "--types",
        metavar="NAME:TYPE,...",
        type=_types,
        default={},
        help="types of the columns of a CSV file whose header has no types, e.g. zip:S,count:N",
    )
    parser.add_argument(
        "--create",
        metavar="DESCRIPTION",
        nargs="?",
        type=Path,
        const=Path(),
        help="create the table if it does not exist, as described in a file that `tables "
        "create` accepts; default: FILE.table.json, which export writes",
    )
    parser.add_argument(
        "--key",
        metavar="NAME[:TYPE],...",
        help="with --create: the key of the table, instead of a description, e.g. customer,sk:N; "
        "default type: S",
    )
    add_speed(parser)
    add_yes(parser)


def _types(text: str) -> dict[str, str]:
    kinds = {}
    for part in text.split(","):
        name, colon, kind = part.rpartition(":")
        if not colon or not name or kind not in _KINDS:
            raise argparse.ArgumentTypeError(f"{part!r} is not NAME:TYPE")
        kinds[name] = kind
    return kinds


def import_(
    db: str,
    table: str,
    path: Path,
    format: str | None,
    types: dict[str, str],
    create: Path | None,
    key: str | None,
    parallel: int | None,
    rate: float,
    yes: bool,
) -> None:
    """Write the items of a file to a table; each replaces an item with the same key.

    To continue an interrupted import, run it again. The same file may be imported twice.
    """
    from hashrange.database.addresses import kind_of
    from hashrange.formats import formats
    from hashrange.formats.csv_columns import Hints
    from hashrange.tools.moving import importing
    from hashrange.tools.moving.standard_streams import named_file
    from hashrange.tools.target import open_target

    with told("run the same command again to continue"), named_file(path) as (source, name):
        chosen = formats.for_input(source, format, name)
        if key is not None and create is None:
            fail("--key describes a new table, so it needs --create")
        wanted = None if create is None else _wanted(table, path, create, key)
        if kind_of(db) == "file" and not Path(db).exists():
            if wanted is None:
                fail(f"{db}: no such file; --create creates it")
            _try_to_create(table, wanted)
        with open_target(db, create=wanted is not None) as target:
            ask_before_writing(target, f"Write the items of {name} to {table}", yes)
            info = _table(target, table, wanted)
            if key is not None:
                _expect_key(info, key)
            done = importing.import_(
                target,
                info,
                source,
                chosen,
                Hints(info.types | types, info.key),
                threads(target, parallel),
                rate,
                name,
            )
    again = f" ({done.resumed:,} of them before the interruption)" if done.resumed else ""
    print(f"{table}: {counted(done.items)}{again} of {name} {done.speed}")


def _wanted(name: str, path: Path, create: Path, key: str | None) -> "Wanted":
    """A function that returns the description of the table to create. It is called only if the
    table is missing."""
    from hashrange.declared import reading, tables

    if key is not None:
        if create != Path():
            fail("--key cannot be combined with a DESCRIPTION")
        by_key = tables.of_key(key)
        return lambda: by_key
    where = create if create != Path() else tables.beside(path)

    def described() -> "Description":
        if not where.exists():
            fail(f"{where}: no such file; --create needs a description of the table, or --key")
        return reading.described(where, name)

    return described


def _expect_key(info: "TableInfo", key: str) -> None:
    from hashrange.declared import tables

    wanted = tables.of_key(key).table["AttributeDefinitions"]
    columns = [(each["AttributeName"], each["AttributeType"]) for each in wanted]
    if columns != [(name, info.types[name]) for name in info.key]:
        there = ",".join(f"{name}:{info.types[name]}" for name in info.key)
        fail(f"{info.name} exists already, with the key {there}: omit --key to write to it")


def _table(target: "Target", name: str, wanted: "Wanted | None") -> "TableInfo":
    """The table to write to, which is created if that is requested and it does not exist."""
    from hashrange.clients.connection import Refused
    from hashrange.declared import tables

    try:
        return tables.describe(target.client, target.name, name)
    except Refused as refusal:
        if refusal.code != "ResourceNotFoundException":
            raise
    if wanted is None:
        fail(f"{target.name}: no table {name}; --create creates it")
    _create(target, name, wanted)
    return tables.describe(target.client, target.name, name)


def _create(target: "Target", name: str, wanted: "Wanted") -> None:

    from hashrange.declared import tables

    with closing(target.connection(1)) as asking:
        tables.create(asking, target.name, wanted(), name)


def _try_to_create(name: str, wanted: "Wanted") -> None:
    """Create the table in memory first, so that a wrong description does not leave behind a new
    file with an empty database."""
    from hashrange.database.connecting import connect
    from hashrange.tools.target import target_of

    with connect() as database:
        _create(target_of(database, name), name, wanted)
