"""How the commands that run statements open a database, and how they print remarks."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hashrange.interfaces.failing import fail, told_in_one_line

if TYPE_CHECKING:
    from hashrange.interfaces.target import Target

_OF_THE_EXTRA = ("boto3", "botocore", "prompt_toolkit", "rich")
_PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}


@contextmanager
def opened_target(db: str) -> Iterator["Target"]:
    """The database `db`, or one line that says why it cannot be used."""
    from hashrange.interfaces.target import TargetError, open_target

    try:
        with told_in_one_line(), open_target(db, **_PATIENCE) as target:
            yield target
    except TargetError as error:
        fail(error)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_THE_EXTRA:
            raise
        fail(f"{error.name} is not installed: pip install 'hashrange[shell]'")


def positive(text: str) -> int:
    """A number above 0, for argparse."""
    if not (text.isascii() and text.isdecimal() and int(text[:10])):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text[:10])


def say(text: str) -> None:
    """Print a remark on stderr, below what stdout has got so far."""
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)
