"""hashrange export"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.amounts import counted
from hashrange.failing import fail
from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.transfers import add_speed, between, threads, told

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands

FORMATS = ("dynamodb-json", "json", "json-lines", "csv", "yaml", "parquet", "ion", "s3-export")


def add(commands: "Commands") -> None:
    parser = command(commands, export_)
    parser.add_argument("db", metavar="DB", help=DB_HELP)
    parser.add_argument("table", metavar="TABLE", help="the table to read")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help="a file that does not exist yet, which is compressed if its name ends in .gz; - "
        "is standard output",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="by default, the end of FILE's name decides: .jsonl (DynamoDB JSON lines), .json (an "
        "array), .csv, .yaml or .parquet; s3-export writes a folder like that of a DynamoDB "
        "export",
    )
    add_speed(parser)


def export_(
    db: str, table: str, output: Path, format: str | None, parallel: int | None, rate: float
) -> None:
    """Write the items of a table to a file, and its description to FILE.table.json beside it.

    If other programs write to the table meanwhile, each item is exported as it was at some moment
    during the export; two items may be of different moments. To continue an interrupted export, run
    it again.
    """
    from hashrange.formats import formats
    from hashrange.tools.moving.exporting import export
    from hashrange.tools.moving.standard_streams import STANDARD, printed_file
    from hashrange.tools.target import open_target

    to_stdout = output == STANDARD
    if to_stdout and format == formats.S3_EXPORT:
        fail("a folder cannot be written to standard output; name a folder")
    with told("run the same command again to continue"), printed_file(output) as file:
        chosen = formats.for_output(file, format or (FORMATS[0] if to_stdout else None))
        with open_target(db) as target:
            done = export(target, table, file, chosen, threads(target, parallel), rate)
    again = f" ({done.resumed:,} of them before the interruption)" if done.resumed else ""
    print(
        f"{'standard output' if to_stdout else output}: {counted(done.items)}{again} of {table} "
        f"{done.speed}, {between(done.began, done.ended)}",
        file=sys.stderr if to_stdout else sys.stdout,
    )
