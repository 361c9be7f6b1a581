"""hashrange backup, restore and compact"""

from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.interfaces.cli.commands import command, database_name, existing
from hashrange.interfaces.failing import fail, printed, told_in_one_line

if TYPE_CHECKING:
    from hashrange.interfaces.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, backup)
    parser.add_argument("path", metavar="DB", type=_file, help="the database file")
    parser.add_argument(
        "target", metavar="TARGET", type=_file, help="the copy: a file that does not exist yet"
    )
    parser.add_argument("--compact", action="store_true", help="leave out free space; takes longer")
    parser = command(commands, restore)
    parser.add_argument("source", metavar="BACKUP", type=_file, help="a file that backup made")
    parser.add_argument("path", metavar="DB", type=_file, help="the database file")
    parser.add_argument(
        "--replace", action="store_true", help="replace DB, which must not be in use"
    )
    parser = command(commands, compact)
    parser.add_argument("path", metavar="DB", type=_file, help="the database file, not in use")


def _file(text: str) -> Path:
    """The type of an argument that names a file. An address is refused, without its password."""
    path = database_name(text)
    if isinstance(path, str):
        fail(f"{printed(path)}: not a file; PostgreSQL has backups of its own, such as pg_dump")
    return path


def backup(path: Path, target: Path, compact: bool) -> None:
    """Copy a database as of one moment, also while a server uses it."""
    import hashrange

    with told_in_one_line(), hashrange.connect(existing(path)) as database:
        database.backup(target, compact=compact)
        print(f"copied {path} to {target}", flush=True)


def restore(source: Path, path: Path, replace: bool) -> None:
    """Verify a backup and make it the database DB."""
    from hashrange.database import restore as put_back

    with told_in_one_line():
        put_back(existing(source), path, replace=replace)
    print(f"restored {path} from {source}")


def compact(path: Path) -> None:
    """Make a database file as small as its content, while no server uses it."""
    from hashrange.database import compact as rewrite

    with told_in_one_line():
        before, after = rewrite(existing(path))
    print(f"{path}: {before:,} bytes, now {after:,}")
