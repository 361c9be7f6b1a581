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
"""The members of a response. A value is `msgspec.Raw` if it is stored JSON, inserted unchanged."""

NO_BODY = Raw(b"")
"""The response of an operation for which the service model has no response."""


class ItemChange(Struct, gc=False):
    """The change of one item: `old` is its row, `new` its new image; None if there is no item.

    `new_size` is the size of the new image in bytes. A `check` consumes units, but writes nothing.
    `collection_size` is the size in bytes of the item's collection before the change; None if the
    table has no local indexes. An `expired` change is made by the service itself, and consumes no
    units: it deletes an expired item, or puts an item into a table that is being restored.
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
        """The new image as stored JSON. It is encoded once, for all rows that contain it."""
        if self._json is None:
            assert self.new is not None, "the change must have a new image"
            self._json = encode_item(self.new)
        return self._json


class TableChange(NamedTuple):
    """A table's definition before and after a change; None if there is no such table.

    If the change deletes the table, the spaces `kept` are not dropped, because a backup uses them.
    """

    old: Table | None
    new: Table | None
    kept: tuple[int, ...] = ()


class Remember(NamedTuple):
    """A transaction token, with the fingerprint of the request that used it.

    If the request is repeated, it is charged for `sizes`, in bytes; None if the transaction was
    cancelled. `before` is the time of an earlier use of the token, which is forgotten; None if
    there is none. Times are in epoch seconds.
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

    For an index that is built from the log, all items of a step are in one slot.
    """

    table: Table
    index: AnyIndex
    items: Sequence[Row]


class Propagate(NamedTuple):
    """Changes of items that are carried over from a table's index log to its global indexes.

    `records` are the first records of their slots, in order, each with its key. `sizes` has the
    sizes in bytes of the existing entries that early records may change, by space and key.
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
    """Records that are to be deleted from a log, by their keys in the space of the log."""

    space: int
    keys: Sequence[bytes]


class Recount(NamedTuple):
    """Rows that are counted in another partition of their space from now on.

    `rows`, their number, and `size`, in bytes, are subtracted from the counters of the partition
    number `taken_from`, and added to those of the partition number `added_to`.
    """

    space: int
    taken_from: int
    added_to: int
    rows: int
    size: int


class Empty(NamedTuple):
    """One step of emptying a dropped space: it deletes at most `rows_max` rows."""

    space: int
    rows_max: int


class Lease(Struct, frozen=True):
    """A lease: the process `holder` has a duty until the time `until`, unless it renews the lease.

    `asked` is the time at which another process last asked the holder to look for work. Times are
    in epoch seconds.
    """

    holder: str
    until: float
    asked: float = 0


class LeaseChange(NamedTuple):
    """The name of a duty, and its new lease."""

    duty: str
    lease: Lease


class JobChange(NamedTuple):
    """An import, export or bulk put before and after a change; None if there is no such job."""

    old: Job | None
    new: Job | None


class BackupChange(NamedTuple):
    """A backup before and after a change; None if there is no such backup.

    The change creates the spaces `made`, and drops the spaces `dropped`.
    """

    old: Backup | None
    new: Backup | None
    made: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()


class CopyRows(NamedTuple):
    """Rows to be copied unchanged into a space: the value for each key; None deletes the row."""

    space: int
    rows: dict[bytes, bytes | None]


class FeedChange(NamedTuple):
    """A Kinesis destination, with its feed, before and after a change; None if there is none."""

    old: KinesisDestination | None
    new: KinesisDestination | None


class FeedPosition(NamedTuple):
    """The position of a feed: for each slot of the log, the key at which to read on."""

    feed: Stream
    positions: dict[int, bytes]


class Checkpoints(NamedTuple):
    """Checkpoints to be stored: a sequence number for each row key; None deletes the row."""

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
"""Makes the response from the receipt of the changes, or raises the error of a refused request."""


class Decision(Struct, gc=False):
    """The changes of an operation, its response, and the receipt of the units it consumed.

    `respond` is the response, or a function that makes the response from the receipt. A decision
    without changes comes with its receipt, or with None if no caller reads it. If there are
    changes, `transition.derive` makes the receipt. A `note` is for the operator's log.
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
    """A decision that makes changes although it refuses its request with an error."""

    def respond(receipt: Receipt) -> Response:
        raise error

    return Decision(changes, respond)
