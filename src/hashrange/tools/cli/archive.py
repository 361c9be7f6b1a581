"""hashrange archive list and check"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.commands import command

if TYPE_CHECKING:
    from hashrange.archive import Contents
    from hashrange.objects import Objects
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, archive)
    parser.set_defaults(run=parser.print_help)
    below = parser.add_subparsers(title="commands", metavar="COMMAND")
    for function in (list_, check):
        parser = command(below, function)
        parser.add_argument(
            "place", metavar="ARCHIVE", help="a folder, or s3://BUCKET/PREFIX: see serve --archive"
        )


@contextmanager
def archive_in_one_line() -> "Iterator[Callable[[str], Objects]]":
    """Yield the function that opens the folder or bucket of an archive. An error of the folder, the
    bucket or the archive ends the process with one line."""
    from hashrange.archive import ArchiveError
    from hashrange.objects import ObjectError, open_objects

    with told_in_one_line():
        try:
            yield open_objects
        except (ArchiveError, ObjectError) as error:
            fail(error)


def archive() -> None:
    """Examine an archive that serve --archive has written."""


def list_(place: str) -> None:
    """Print the moments that can be restored."""
    from hashrange.archive import Contents

    with archive_in_one_line() as open_objects:
        _print_spans(Contents(open_objects(place)), place)


def _print_spans(contents: "Contents", place: str) -> None:
    from hashrange.archive.format import written

    before = None
    for span in contents.spans():
        reason = f"({span.generation.reason})"
        if span.first is None:
            print(f"generation {span.number}: no complete copy of the file yet {reason}")
            continue
        if before is not None:
            print(f"  no moments between {written(before)} and {written(span.first.time)} {reason}")
        print(
            f"generation {span.number}: any moment from {written(span.first.time)} to "
            f"{written(span.last.time)}, {span.last.commits:,} commits"
        )
        before = span.last.time
    if before is None:
        fail(f"{place}: there is nothing to restore")


def check(place: str) -> None:
    """Verify every object of an archive, restore its latest moment, and check that database."""
    from tempfile import TemporaryDirectory

    from hashrange.archive import Contents
    from hashrange.archive import restore as build
    from hashrange.database.connecting import connect

    with archive_in_one_line() as open_objects, TemporaryDirectory() as folder:
        objects = open_objects(place)
        verified = Contents(objects).verify()
        path = Path(folder, "restored.db")
        restored = build(objects, str(path))
        with connect(path) as database:
            problems = list(database.check())
    for problem in problems:
        print(problem)
    if problems:
        fail(f"{place}: the database of {restored} is damaged")
    print(f"{place}: {verified:,} objects, no problem found; the latest moment is {restored}")
