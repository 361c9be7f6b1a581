"""How a command fails: one line on stderr that says what is wrong, and exit status 1."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer


def fail(message: object) -> NoReturn:
    typer.echo(f"hashrange: {message}", err=True)
    raise typer.Exit(1)


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """What a file, a disk or a port does to a command is no traceback."""
    from hashrange import StoreError
    from hashrange.interfaces.entrance import ServerError

    try:
        yield
    except (StoreError, ServerError) as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error)


def existing(path: Path) -> Path:
    """Opening a database would make one that is not there."""
    if not path.is_file():
        fail(f"{path}: there is no such file")
    return path
