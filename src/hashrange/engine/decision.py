"""What an operation decides: changes of items, tables and tokens, and how to answer."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from hashrange.engine.capacity import Receipt
from hashrange.engine.entries import Entry
from hashrange.engine.fetch import Read
from hashrange.engine.writes import Change
from hashrange.model.tables import Index, Table

Response = dict[str, Any]
"""The members of a response; `msgspec.Raw` where stored bytes are spliced in."""


class TableChange(NamedTuple):
    """A table's definition before and after: None where it does not exist."""

    old: Table | None
    new: Table | None


class Remember(NamedTuple):
    """A transaction token, with the fingerprint of the request that used it first."""

    token: bytes
    fingerprint: bytes
    now: float


class Forget(NamedTuple):
    """Tokens that are past their time: (milliseconds, token)."""

    tokens: Sequence[tuple[int, bytes]]


class Backfill(NamedTuple):
    """One step of an index build: entries that are still missing, and where to go on.

    `resume` is the first key of the table that was not looked at; None: that was the end.
    """

    target: Index
    entries: Sequence[Entry]
    resume: bytes | None


class Empty(NamedTuple):
    """One step of emptying a dropped space."""

    space: int
    rows_max: int


AnyChange = Change | TableChange | Remember | Forget | Backfill | Empty


class Decision(NamedTuple):
    """`respond` is called once, with what the changes consumed, after they were derived."""

    changes: Sequence[AnyChange]
    respond: Callable[[Receipt], Response]
    transactional: bool = False


Decide = Generator[Read, Any, Decision]


def answer(response: Response) -> Decision:
    """A decision that changes nothing."""
    return Decision((), lambda _: response)
