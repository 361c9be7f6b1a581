"""hashrange backup, restore and compact"""

from argparse import ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.database.addresses import printed
from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.archive import archive_in_one_line
from hashrange.tools.cli.commands import command, database_name, existing

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, backup)
    parser.add_argument("path", metavar="DB", type=_file, help="the database file")
    parser.add_argument(
        "target", metavar="TARGET", type=_file, help="the copy, a file that does not exist yet"
    )
    parser.add_argument(
        "--compact", action="store_true", help="leave out unused space; takes longer"
    )
    parser = command(commands, restore)
    parser.add_argument(
        "source",
        metavar="SOURCE",
        type=_source,
        help="a file that backup made, or the archive of serve --archive: a folder, or "
        "s3://BUCKET/PREFIX",
    )
    parser.add_argument("path", metavar="DB", type=_file, help="the database file")
    parser.add_argument(
        "--replace", action="store_true", help="replace DB, which must not be in use"
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        type=moment,
        help="from an archive: the state after the last commit at or before this time, e.g. "
        "2026-01-31T12:00:00Z; default: after the latest commit in the archive",
    )
    parser = command(commands, compact)
    parser.add_argument("path", metavar="DB", type=_file, help="the database file, not in use")


def _file(text: str) -> Path:
    """The type of an argument that names a file. An address is refused, and its password is not
    shown."""
    path = database_name(text)
    if isinstance(path, str):
        fail(
            f"{printed(path)}: not a file; back up PostgreSQL with pg_dump, or with pgBackRest or "
            "WAL-G, which can restore any moment"
        )
    return path


def _source(text: str) -> Path | str:
    """The type of an argument that names a backup, or an archive in a bucket."""
    return text if text.startswith("s3://") else _file(text)


def moment(text: str) -> float:
    """The type of an argument that is a time: ISO 8601, in UTC unless it has an offset."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is not a time; write for example 2026-01-31T12:00:00Z"
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def backup(path: Path, target: Path, compact: bool) -> None:
    """Copy a database as of one moment, even while a server uses it."""
    from hashrange.database.connecting import connect

    with told_in_one_line(), connect(existing(path)) as database:
        database.backup(target, compact=compact)
        print(f"copied {path} to {target}", flush=True)


def restore(source: Path | str, path: Path, replace: bool, at: float | None) -> None:
    """Verify a backup and make it the database DB, or build DB from an archive."""
    from hashrange.database.connecting import restore as put_back

    if isinstance(source, str) or source.is_dir():
        if replace:
            fail("--replace is only for a backup; from an archive, DB must be a new file")
        _restore_from_archive(str(source), path, at)
        return
    if at is not None:
        fail(f"{source}: --at is only for an archive; a backup holds one moment")
    with told_in_one_line():
        put_back(existing(source), path, replace=replace)
    print(f"restored {path} from {source}")


def _restore_from_archive(source: str, path: Path, at: float | None) -> None:
    from hashrange import archive

    with archive_in_one_line() as open_objects:
        restored = archive.restore(open_objects(source), str(path), at)
    print(f"restored {path} from {source}: {restored}")


def compact(path: Path) -> None:
    """Shrink a database file to the size of its content, while no server uses it."""
    from hashrange.database.connecting import compact as rewrite

    with told_in_one_line():
        before, after = rewrite(existing(path))
    print(f"{path}: {before:,} bytes, now {after:,}")
