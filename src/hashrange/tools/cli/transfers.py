"""The common parts of the commands that move data: arguments, questions, and failures."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.targets import installed

if TYPE_CHECKING:
    from hashrange.tools.target import Target

REMOTE_THREADS = 4
_THREADS_MAX = 64


def add_speed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--parallel",
        metavar="N",
        type=_threads,
        help=f"number of parallel requests; default: 1 for a file, otherwise {REMOTE_THREADS}",
    )
    parser.add_argument(
        "--rate",
        metavar="UNITS",
        type=_units,
        default=0.0,
        help="read or write at most this many capacity units per second; default: no limit",
    )


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="write to AWS without asking")


def _threads(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _THREADS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {_THREADS_MAX}")
    return int(text)


def _units(text: str) -> float:
    try:
        units = float(text)
    except ValueError:
        units = 0.0
    if not 0 < units < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return units


def threads(target: "Target", wanted: int | None) -> int:
    return wanted or (1 if target.kind == "file" else REMOTE_THREADS)


def ask_before_writing(target: "Target", what: str, yes: bool) -> None:
    """Ask the user before writing to AWS, which costs money and may affect other users."""
    if not target.is_aws or yes:
        return
    if not sys.stdin.isatty():
        fail(f"{target.name}: writing to AWS needs --yes if there is no terminal to ask at")
    question = f"{what} at {target.name}, {target.client.meta.endpoint_url}? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        fail("nothing was written")


@contextmanager
def told(again: str) -> Iterator[None]:
    """Report every failure in one line. `again` describes the effect of a second run."""
    from hashrange.formats.items import DataError
    from hashrange.tools.target import TargetError

    try:
        with installed(), told_in_one_line():
            yield
    except (DataError, TargetError) as error:
        fail(error)
    except KeyboardInterrupt:
        print(f"hashrange: interrupted; {again}", file=sys.stderr)
        raise


def between(began: float, ended: float) -> str:
    """The part of a message that says when the items were read: between `began` and `ended`."""
    return f"each item as it was at some moment between {_time(began)} and {_time(ended)}"


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
