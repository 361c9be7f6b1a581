"""How commands are declared, and how they open a database."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.database.addresses import printed
from hashrange.failing import fail, told_in_one_line

if TYPE_CHECKING:
    from hashrange.database.database import Database
    from hashrange.model.settings import Settings

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

PORT_MAX = 65535

DB_HELP = "a database file, http(s)://..., postgresql://..., or aws[:profile][@region]"
"""The help text for the argument DB of commands that use a database through boto3."""

STORE_HELP = "a database file, or postgresql://..."
"""The help text for the argument DB of commands that open a database in their own process."""


def command(commands: "Commands", function: Callable[..., None]) -> argparse.ArgumentParser:
    """Add a command that calls the function.

    The function's docstring describes the command; its first paragraph is shown in lists.
    """
    assert function.__doc__
    # `import` is a keyword, so its function is called `import_`
    name = function.__name__.rstrip("_").replace("_", "-")
    summary = function.__doc__.partition("\n\n")[0]
    parser = commands.add_parser(
        name, help=summary, description=function.__doc__, allow_abbrev=False
    )
    parser.set_defaults(run=function, parser=parser)
    return parser


def database_name(text: str) -> Path | str:
    """The type of an argument that names a database: a file, or a PostgreSQL address."""
    from hashrange.database.addresses import kind_of

    if kind_of(text) == "server":
        fail(f"{printed(text)} is the address of a server; DB must be a file or postgresql://...")
    return text if kind_of(text) == "postgresql" else Path(text)


def port_number(text: str) -> int:
    """The type of an argument that is a TCP port; 0 takes any free one."""
    if not text.isdecimal() or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {PORT_MAX}")
    return int(text)


@contextmanager
def opened(path: Path | str | None, settings: "Settings | None" = None) -> "Iterator[Database]":
    """Open an existing database. Without a path, open an empty database in memory."""
    from hashrange.database.connecting import connect
    from hashrange.model.settings import Settings

    if path is not None:
        printed(path)  # refuses an address that is not valid
    name = existing(path) if isinstance(path, Path) else path
    checked_settings = settings or Settings()
    with told_in_one_line(), connect(name, settings=checked_settings) as database:
        yield database


def existing(path: Path) -> Path:
    """Check that the file exists, because opening a database would create it."""
    try:
        if path.is_dir():
            fail(f"{path}: is a directory; name a file")
        if not path.is_file():
            fail(f"{path}: no such file")
    except OSError as error:  # its folder may not be searched
        fail(f"{path}: {error.strerror}")
    return path
