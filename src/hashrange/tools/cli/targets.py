"""How the commands that run statements open a database, and how they print remarks."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hashrange.failing import fail, told_in_one_line

if TYPE_CHECKING:
    from hashrange.tools.target import Target

_EXTRAS = {"boto3": "boto3", "botocore": "boto3", "prompt_toolkit": "shell", "rich": "shell"}
_PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}


@contextmanager
def opened_target(db: str, *, create: bool = False) -> Iterator["Target"]:
    """Open the database `db`, or print the reason on one line and end the process.

    With `create`, a file that does not exist is created.
    """
    from hashrange.tools.target import TargetError, open_target

    try:
        with installed(), told_in_one_line(), open_target(db, create=create, **_PATIENCE) as target:
            yield target
    except TargetError as error:
        fail(error)


@contextmanager
def installed() -> Iterator[None]:
    """Turn the error of a missing library into one line that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        fail(f"{error.name} is not installed: pip install 'hashrange[{extra}]'")


def positive(text: str) -> int:
    """A number above 0, for argparse."""
    if not (text.isascii() and text.isdecimal() and int(text[:10])):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text[:10])


def say(text: str) -> None:
    """Print a remark on stderr, after the earlier output on stdout."""
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)
