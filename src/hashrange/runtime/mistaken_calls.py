"""Errors for mistaken calls: an unknown operation, a closed database, or the wrong thread."""

from hashrange import kv
from hashrange.model.errors import UnknownOperationException
from hashrange.operations import OPERATIONS

API = frozenset(OPERATIONS)
"""The operations of the API. The operations of upkeep are not open to callers."""


class Closed(kv.StoreError):
    """A closed database was used."""


class WouldBlock(RuntimeError):
    """A method that waits for an event loop was called on this loop."""


def closed() -> Closed:
    return Closed("the database is closed; connect to it again")


def check_database(function: str, database: object) -> None:
    """Raise TypeError unless `database` is a database or None, because some callers pass the name
    of a file."""
    if database is not None and not hasattr(database, "runtime"):
        raise TypeError(
            f"hashrange.{function}() takes a database that hashrange.connect() has opened, "
            f"not {database!r}"
        )


def unknown(name: object) -> UnknownOperationException:
    from difflib import get_close_matches  # imported only for a caller's mistake

    close = get_close_matches(str(name), API, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return UnknownOperationException(f"{name!r} is not an operation of DynamoDB{hint}")
