"""The errors of calls that are mistakes: a wrong name, a closed database, the wrong thread."""

from hashrange import kv
from hashrange.model.errors import UnknownOperationException
from hashrange.operations import OPERATIONS

API = frozenset(OPERATIONS)
"""The operations of the API. Outside callers cannot use those of upkeep."""


class Closed(kv.StoreError):
    """The database has been closed, and is still used."""


class WouldBlock(RuntimeError):
    """A method that waits was called on the event loop that it waits for."""


def closed() -> Closed:
    return Closed("the database is closed; connect to it again")


def check_database(function: str, given: object) -> None:
    """Raise TypeError unless a database or None was given; some callers give a file's name."""
    if given is not None and not hasattr(given, "runtime"):
        raise TypeError(f"hashrange.{function}() takes a database of hashrange, not {given!r}")


def unknown(name: object) -> UnknownOperationException:
    from difflib import get_close_matches  # imported only for a caller's mistake

    close = get_close_matches(str(name), API, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return UnknownOperationException(f"{name!r} is not an operation of DynamoDB{hint}")
