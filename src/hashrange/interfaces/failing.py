"""How a command or a server fails: with one line on stderr, and status 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NoReturn

NO_CONSOLE = "the console is not installed (no {}): pip install 'hashrange[console]'"


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


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Add to the error of a missing library how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        error.add_note(f"Install it with: pip install 'hashrange[{extra}]'")
        raise


def printed(path: Path | str) -> str:
    """The name of a database for a message, without a password."""
    from hashrange.interfaces.target import without_password

    try:
        return str(path) if isinstance(path, Path) else without_password(path)
    except ValueError as error:
        fail(f"the address of the database is not valid: {error}")


def console_room() -> ModuleType:
    """The console's package; ends the process with one line if its libraries are missing."""
    try:
        from hashrange.interfaces import console as room
    except ModuleNotFoundError as missing:
        fail(NO_CONSOLE.format(missing.name))
    return room
