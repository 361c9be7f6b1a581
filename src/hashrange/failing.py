"""Failures of commands and servers: one line on stderr, and status 1."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class Failure(Exception):
    """A failure that the user can remedy. The message is one line that says what is wrong."""


def fail(message: object) -> NoReturn:
    """Print one line on stderr that says what is wrong, and exit with status 1."""
    sys.exit(f"hashrange: {message}")


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """Turn errors of files, disks and ports into one line instead of a traceback."""
    from hashrange.kv import StoreError  # imported late: parsing a command line does not need it

    try:
        yield
    except (StoreError, Failure) as error:
        fail(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error)


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """If a library is missing, add to the error the command that installs hashrange with
    `extra`."""
    try:
        yield
    except ModuleNotFoundError as error:
        error.add_note(f"Install it with: pip install 'hashrange[{extra}]'")
        raise
