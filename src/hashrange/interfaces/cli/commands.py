"""How a command is declared, and how it fails."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def command(commands: "Commands", function: Callable[..., None]) -> argparse.ArgumentParser:
    """A command that calls the function with its arguments; its docstring is the help."""
    assert function.__doc__
    parser = commands.add_parser(
        function.__name__, help=function.__doc__, description=function.__doc__, allow_abbrev=False
    )
    parser.set_defaults(run=function, parser=parser)
    return parser


def fail(message: object) -> NoReturn:
    """One line on stderr that says what is wrong, and exit status 1."""
    sys.exit(f"hashrange: {message}")


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """What a file, a disk or a port does to a command is no traceback."""
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


def existing(path: Path) -> Path:
    """Opening a database would make one that is not there."""
    try:
        if path.is_dir():
            fail(f"{path}: is a directory; name a file")
        if not path.is_file():
            fail(f"{path}: there is no such file")
    except OSError as error:  # its folder may not be looked into
        fail(f"{path}: {error.strerror}")
    return path
