"""Errors for mistaken calls: of an unknown operation, on a closed database, in the wrong thread."""

from hashrange import kv
from hashrange.model.errors import UnknownOperationException
from hashrange.operations import OPERATIONS

API = frozenset(OPERATIONS)
"""The operations of the API. The operations of upkeep are not open to callers."""


class Closed(kv.StoreError):
    """The database has been closed, and is still used."""


class WouldBlock(RuntimeError):
    """A method that waits was called on the event loop that it waits for."""


def closed() -> Closed:
    return Closed("the database is closed; connect to it again")


def check_database(function: str, database: object) -> None:
    """Raise TypeError unless `database` is a database or None. The check is there because some
    callers pass the name of a file."""
    if database is not None and not hasattr(database, "runtime"):
        raise TypeError(f"hashrange.{function}() takes a database of hashrange, not {database!r}")


def unknown(name: object) -> UnknownOperationException:
    from difflib import get_close_matches  # imported only for a caller's mistake

    close = get_close_matches(str(name), API, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return UnknownOperationException(f"{name!r} is not an operation of DynamoDB{hint}")
