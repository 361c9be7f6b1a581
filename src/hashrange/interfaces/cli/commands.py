"""How commands are declared, and how they fail."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from hashrange.database import Database

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def command(commands: "Commands", function: Callable[..., None]) -> argparse.ArgumentParser:
    """Add a command that calls the function; the function's docstring is the command's help."""
    assert function.__doc__
    name = function.__name__.rstrip("_")  # `import` is a word of Python
    parser = commands.add_parser(
        name, help=function.__doc__, description=function.__doc__, allow_abbrev=False
    )
    parser.set_defaults(run=function, parser=parser)
    return parser


def fail(message: object) -> NoReturn:
    """Print one line on stderr that says what is wrong, and exit with status 1."""
    sys.exit(f"hashrange: {message}")


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Turn errors of files, disks and ports into one line instead of a traceback."""
    from hashrange import StoreError
    from hashrange.interfaces.server.listener import ServerError

    try:
        yield
    except (StoreError, ServerError) as error:
        fail(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error)


def database_name(text: str) -> Path | str:
    """The type of an argument that names a database: a file, or a PostgreSQL address."""
    from hashrange.interfaces.target import kind_of

    return text if kind_of(text) == "postgresql" else Path(text)


def printed(path: Path | str) -> str:
    """The name of a database for a message, without a password."""
    from hashrange.interfaces.target import without_password

    try:
        return str(path) if isinstance(path, Path) else without_password(path)
    except ValueError as error:
        fail(f"the address of the database is not valid: {error}")


@contextmanager
def opened(path: Path | str) -> "Iterator[Database]":
    """Open a database that exists already."""
    import hashrange

    printed(path)  # refuses an address that is none
    found = existing(path) if isinstance(path, Path) else path
    with told_in_one_line(), hashrange.connect(found) as database:
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
