"""The decision of an operation: changes of items, tables and tokens, and the response."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from msgspec import Raw, Struct

from hashrange import kv
from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.fetch import Read
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row, encode_item
from hashrange.model.backups import Backup
from hashrange.model.errors import ApiError
from hashrange.model.jobs import Job
from hashrange.model.streams import Log, Stream
from hashrange.model.tables import AnyIndex, KinesisDestination, Table
from hashrange.model.values import Item

Response = dict[str, Any]
"""The members of a response; `msgspec.Raw` where stored bytes are spliced in."""

NO_BODY = Raw(b"")
"""The response of an operation for which the service model has no response."""


class ItemChange(Struct, gc=False):
    """The change of one item: `old` is its row, `new` its new image (None: deleted).

    A `check` is read and charged, but writes nothing. `collection_size` is the size in bytes of the
    item's collection before the change, if the table has local indexes. `expired` marks a change
    that the service itself makes, which costs nothing: the deletion of an expired item, or the put
    of an item when a table is restored.
    """

    table: Table
    key: RowKey
    old: Row | None
    new: Item | None
    new_size: int
    check: bool = False
    collection_size: int | None = None
    expired: bool = False
    _json: bytes | None = None

    def json(self) -> bytes:
        """The new image as stored JSON, which is encoded once for all rows that hold it."""
        if self._json is None:
            assert self.new is not None, "the change must have a new image"
            self._json = encode_item(self.new)
        return self._json


class TableChange(NamedTuple):
    """A table's definition before and after a change; None if there is no such table.

    A backup keeps using the spaces `kept`, which the table no longer has.
    """

    old: Table | None
    new: Table | None
    kept: tuple[int, ...] = ()


class Remember(NamedTuple):
    """A transaction token, with the fingerprint of the request that used it.

    `sizes` are the sizes in bytes that a repetition is charged for; None if the transaction was
    cancelled. If the token was used before, that earlier use, at the time `before`, is forgotten.
    """

    token: bytes
    fingerprint: bytes
    sizes: list[int] | None
    now: float
    before: float | None


class Forget(NamedTuple):
    """Tokens that have expired: (milliseconds, token)."""

    tokens: Sequence[tuple[int, bytes]]


class Backfill(Struct, gc=False):
    """One step of building an index: the next items of the table.

    If the index is built from the log, these are items of one slot.
    """

    table: Table
    index: AnyIndex
    items: Sequence[Row]


class Propagate(NamedTuple):
    """Changes of items that go from a table's index log to its global indexes.

    `records` are the first records of their slots, in order, each with its key. `sizes` has the
    sizes of the existing entries that early records concern.
    """

    table: Table
    records: Sequence[tuple[bytes, Row]]
    sizes: dict[kv.Key, int]


class StreamChange(NamedTuple):
    """A stream's definition before and after a change; None if there is no such stream."""

    old: Stream | None
    new: Stream | None


class LogChange(NamedTuple):
    """A change log that is opened (`old` is None), or dropped with its records (`new` is None)."""

    old: Log | None
    new: Log | None


class Trim(NamedTuple):
    """Records of a log that are no longer needed, by their keys in its space."""

    space: int
    keys: Sequence[bytes]


class Recount(NamedTuple):
    """Rows that are counted in another partition of a space from now on.

    `rows` rows, with `size` bytes together, are subtracted from the counters of the partition with
    the number `taken_from` and added to those of the partition with the number `added_to`.
    """

    space: int
    taken_from: int
    added_to: int
    rows: int
    size: int


class Empty(NamedTuple):
    """One step of emptying a dropped space: at most `rows_max` rows are deleted."""

    space: int
    rows_max: int


class Lease(Struct, frozen=True):
    """A lease of a duty to the process `holder` until the time `until`, in epoch seconds. The lease
    may be renewed.

    `asked` is the time at which another process last asked the holder to look for work.
    """

    holder: str
    until: float
    asked: float = 0


class LeaseChange(NamedTuple):
    """A duty and its new lease."""

    duty: str
    lease: Lease


class JobChange(NamedTuple):
    """An import, export or bulk put before and after a change; None if there is no such job."""

    old: Job | None
    new: Job | None


class BackupChange(NamedTuple):
    """A backup before and after a change (None if there is no such backup), and the spaces that the
    change creates (`made`) and drops."""

    old: Backup | None
    new: Backup | None
    made: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()


class CopyRows(NamedTuple):
    """Rows, by their keys, that are copied unchanged into a space (None: the row is deleted)."""

    space: int
    rows: dict[bytes, bytes | None]


class FeedChange(NamedTuple):
    """A Kinesis destination, with its feed, before and after a change; None if there is no such
    destination."""

    old: KinesisDestination | None
    new: KinesisDestination | None


class FeedPosition(NamedTuple):
    """The position of a feed: for each slot of the log, the key to read next."""

    feed: Stream
    positions: dict[int, bytes]


class Checkpoints(NamedTuple):
    """The positions of a stream's readers, by row; None deletes a row."""

    rows: dict[bytes, str | None]


AnyChange = (
    ItemChange
    | TableChange
    | StreamChange
    | FeedChange
    | FeedPosition
    | Checkpoints
    | LogChange
    | Remember
    | Forget
    | Backfill
    | Propagate
    | Trim
    | Recount
    | Empty
    | LeaseChange
    | JobChange
    | BackupChange
    | CopyRows
)


Respond = Callable[[Receipt], Response | Raw]
"""Makes the response from the receipt of the changes. If the request is refused although something
changes, the function raises the error instead."""


class Decision(Struct, gc=False):
    """The changes of an operation, its response, and the receipt of the units it consumed.

    If the response depends on the consumed units, `respond` makes it from the receipt.
    A decision without changes comes with its receipt (None if no caller reads it). The receipt of a
    decision with changes is filled by `transition.derive`. A `note` is for the operator's log.
    """

    changes: Sequence[AnyChange]
    respond: Response | Raw | Respond
    transactional: bool = False
    receipt: Receipt | Charge | None = None
    note: str | None = None

    def response(self) -> Response | Raw:
        """The response to the request. Raises ApiError if the request is refused."""
        if callable(self.respond):
            assert type(self.receipt) is Receipt, "the receipt must exist before the response"
            return self.respond(self.receipt)
        return self.respond


Decide = Generator[Read, Any, Decision]


def answer(response: Response | Raw, receipt: Receipt | Charge | None = None) -> Decision:
    """A decision that changes nothing."""
    return Decision((), response, False, receipt)


def refusal(error: ApiError, changes: Sequence[AnyChange]) -> Decision:
    """A decision that refuses its request with an error, although something changes."""

    def respond(receipt: Receipt) -> Response:
        raise error

    return Decision(changes, respond)
