"""hashrange design diff: what the change of a model means for stored items."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.failing import fail
from hashrange.tools.cli.design.model_files import tables_of

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    parser.add_argument("old", metavar="OLD", type=Path, help="the model of the stored items")
    parser.add_argument("new", metavar="NEW", type=Path, help="the changed model")
    parser.add_argument(
        "--json", dest="as_json", action="store_true", help="print the changes as JSON"
    )


def diff(old: Path, new: Path, as_json: bool) -> None:
    """Compare two models. Exit status 1 unless all changes are harmless."""
    from hashrange.design import diff as compare
    from hashrange.design.tools.diff import tables_of_both

    before, after = tables_of(old), tables_of(new)
    changes = [compare(one, other) for one, other in tables_of_both(before, after)]
    if not changes:
        names = ", ".join(table.name for table in before)
        fail(f"{new} declares none of the tables {names}")
    gone = sorted(
        {t.name for t in before} - {one.table for one in changes} if len(before) > 1 else ()
    )
    for name in gone:
        print(f"breaking: {name}: {new} does not declare it", file=sys.stderr)
    for one in changes:
        print(one.json() if as_json else one)
    if gone or not all(one.safe for one in changes):
        sys.exit(1)
