"""The operations that callers may name, and what they are told of a name that is not among them."""

from hashrange import kv
from hashrange.model.errors import UnknownOperationException
from hashrange.operations import OPERATIONS

API = frozenset(OPERATIONS)
"""The operations of the API. Those of upkeep are not for callers from outside."""


class Closed(kv.StoreError):
    """The database has been closed, and is still used."""


def closed() -> Closed:
    return Closed("the database is closed; connect to it again")


def unknown(name: object) -> UnknownOperationException:
    from difflib import get_close_matches  # imported only for a caller's mistake

    close = get_close_matches(str(name), API, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return UnknownOperationException(f"{name!r} is no operation of DynamoDB{hint}")
