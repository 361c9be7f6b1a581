"""The waist: the small interface between everything above and any store below.

A row is addressed by a *space* and a *key*. Each table and index is a space: an ordered set of
rows, whose id is never used again. A key is sixteen bytes of partition digest, then
order-preserving sort bytes, so one kind of range serves Query and Scan.

    value    crc32 (4) | weight (4) | the engine's own bytes

A store reads only the weight of a value: the size of the item or index entry by DynamoDB's rules.
It knows nothing about items, indexes, streams or expiry.

A store makes two promises:

- All reads of a snapshot, and of a transaction, see the state of one moment.
- The rows that a transaction has read are unchanged when it commits, or `commit` raises `Conflict`.
  This holds for absent rows, ranges and the list of dropped spaces too.

Where these promises would make all writers wait for one hot row, they are weaker:

- A counter is a statistic. Additions commute, and its value may have changed before the commit, so
  a store may keep a counter in several places and add them up. A number that decisions rely on (the
  catalog's version, the number of spaces, the size of an item collection) is a row.
- The clock is either a value that commits raise, which commutes too, or the store's own clock.
- Appended rows are ordered within one slot of one space, not by a counter for the whole store.
- The outcome of a commit may remain unknown, because the connection can be lost during the commit.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from struct import Struct as Layout
from typing import Literal, Protocol, get_args

from msgspec import Struct

Durability = Literal["full", "relaxed", "memory"]
"""How safe an acknowledged commit is. It survives the end of the process; with "full", it survives
a power cut too. With "memory", a power cut may even damage the file."""

PARTITION_BYTES = 16
SLOTS = 1024
SYSTEM_SPACE = 0
"""The space that always exists. It has the catalog, tokens and other rows of the engine."""

CLOCK = b"clock"
"""The name of the only counter that is written with `Max`: the time."""

Key = tuple[int, bytes]
"""(space, key)"""


def slot_of(key: bytes) -> int:
    """The first ten bits of a key. A store on several machines keeps each slot on one of them."""
    return int.from_bytes(key[:2].ljust(2, b"\0"), "big") >> 6


CATALOG: Key = (SYSTEM_SPACE, b"catalog")
"""The key of the row with the version of the table definitions. Every transaction reads this row
first, and few change it, so a store may guard it by a separate lock instead of a row lock."""

HEADER_BYTES = 8
unpack_weight = Layout(">4xI").unpack_from
"""Returns the weight, in bytes, from a stored value's header: `[weight] = unpack_weight(value)`."""

# ---- reads and their answers ----

TOO_LARGE = b""
"""The answer for a row whose value is larger than `bytes_max`. No stored value is empty."""


class Get(Struct, gc=False):
    """The rows that have these keys. Answer: `list[bytes | None]`, in the order of `keys`.

    With `weight_max`, all rows are of one moment, even in a store whose machines share no snapshot.
    When the sum of the rows' weights exceeds `weight_max`, later rows may be cut to their headers.
    With `bytes_max`, which transactions never use, TOO_LARGE replaces each larger value. `then` has
    the keys of the rows that will probably be read next; stores ignore it.
    """

    keys: tuple[Key, ...]
    weight_max: int | None = None
    bytes_max: int | None = None
    then: tuple[Key, ...] = ()


class Range(Struct, gc=False):
    """Rows with start <= key < end (None: to the end of the space). Answer: `Page`.

    The page ends with the row at which the number of rows reaches `rows_max`, or the sum of their
    weights reaches `weight_max`.
    """

    space: int
    start: bytes
    end: bytes | None
    reverse: bool = False
    rows_max: int | None = None
    weight_max: int | None = None


class Page(Struct, gc=False):
    """Some rows. If a bound ended the page, `exhausted` is False, even if no row is left."""

    rows: list[tuple[bytes, bytes]]
    exhausted: bool


class Counters(Struct, gc=False):
    """Counters by name. Answer: `list[int]`; a counter that was never written is 0.

    They are statistics, and may have changed when the transaction commits.
    """

    names: tuple[bytes, ...]


class Head(Struct, gc=False):
    """One row and one counter in one read. Answer: `tuple[bytes | None, int]`.

    Every transaction and snapshot begins with it, so a store answers it with one statement.
    """

    key: Key
    name: bytes


class Dropped(Struct, gc=False):
    """Dropped spaces that still have rows. Answer: `list[int]`."""


Read = Get | Range | Counters | Head | Dropped
Answer = list[bytes | None] | Page | list[int] | tuple[bytes | None, int]


# ---- writes ----


class Put(Struct, gc=False):
    space: int
    key: bytes
    value: bytes


class Delete(Struct, gc=False):
    space: int
    key: bytes


class Add(Struct, gc=False):
    """Add to a counter, which may become negative.

    Additions commute, so they cause no conflicts, and none is lost.
    """

    name: bytes
    delta: int


class Max(Struct, gc=False):
    """Raise a counter to at least `value`; it never decreases. Only `CLOCK` is written in this way.

    These writes commute, like additions. A store with a clock of its own, in milliseconds since the
    epoch, may ignore the write and answer reads with its own time. `Add` is never used for `CLOCK`.
    """

    name: bytes
    value: int


class Append(Struct, gc=False):
    """Put a row whose key is `prefix` and eight big-endian bytes, a number that the store assigns.

    Within one slot of one space, the numbers increase strictly in the order of commits, and none is
    used twice: a reader that resumes after its last number misses no record. If the slot has a row
    with a later prefix, that prefix is used instead, so that keys increase too. `prefix` must name
    the slot, so that keys of two slots differ. A transaction need not see its own appended rows.
    """

    space: int
    slot: int
    prefix: bytes
    value: bytes


class CreateSpace(Struct, gc=False):
    space: int


class DropSpace(Struct, gc=False):
    """Remove a space at once, whatever its size. Its rows wait for `Purge`."""

    space: int


class Purge(Struct, gc=False):
    """Delete at most `rows_max` rows of a dropped space; forget the space when it is empty."""

    space: int
    rows_max: int


Write = Put | Delete | Add | Max | Append | CreateSpace | DropSpace | Purge


# ---- the store ----


class Snapshot(Protocol):
    """The store at one moment, for one run of an operation. It must be closed, in any thread."""

    def read(self, read: Read, /) -> Answer: ...
    def close(self) -> None: ...


class Transaction(Protocol):
    """Reads see the transaction's own writes. Several threads may use it, but only one at a time.

    `commit` or `rollback` ends it. If `commit` raises an exception, the transaction has ended too,
    and wrote nothing, except that after `OutcomeUnknown` it may have written everything.
    """

    def read(self, read: Read, /) -> Answer: ...
    def write(self, writes: Sequence[Write], /) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class Store(Protocol):
    """One database. Its methods may be called from any thread."""

    @property
    def slow_commits(self) -> bool:
        """Whether `commit` may wait for a disk, so that an event loop must not call it."""

    def snapshot(self, brief: bool = False, /) -> Snapshot:
        """Take a snapshot. A `brief` snapshot costs less but may keep writers waiting: close it
        before its thread begins a transaction or waits for anything."""

    def glance(self, one: Key, other: Key, /) -> tuple[bytes | None, bytes | None]:
        """Two rows as of one moment, read as cheaply as possible, for GetItem."""

    def begin(self, wait: bool = True, /) -> Transaction:
        """Start a transaction.

        A store with a single writer raises `Busy` while another process or thread is writing: at
        once or, with `wait`, after the store's time limit.
        """

    def backup(self, path: str, /, compact: bool = False) -> None:
        """Copy the database as of one moment to the new file `path`, while it is in use. A
        `compact` copy may omit unused space, at a higher cost. Raises `StoreError` if `path`
        exists, or if the store has no file to copy."""

    def verify(self) -> Iterator[str]:
        """Yield one line for each problem in the stored data, such as a wrong checksum."""

    def scrub(self, seconds: float, /) -> Iterator[list[str]]:
        """Search for damage in parts of about `seconds` each, and yield the problems of each part.

        Each part is checked as of its own moment, and nothing is locked between two parts.
        """

    def elected(self) -> bool:
        """Whether this process does the work that only one of all processes may do.

        It stays elected until it closes the store or ends. Then another process can be elected.
        """

    def figures(self) -> dict[str, int]:
        """Statistics for monitoring, by name: sizes in bytes, and counts since the store was
        opened. Each store has its own. Any thread may call this method."""

    def close(self) -> None: ...


# ---- asynchronous stores ----

READ_BYTES_MAX = 8 * 1024 * 1024
"""The size of a round trip's rows above which a store may leave further reads unanswered. The first
two reads are always answered."""


class AsyncSnapshot(Protocol):
    """The store at one moment, for reads. It must be closed."""

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        """Answer several reads in one round trip: all, or the first ones (`READ_BYTES_MAX`)."""

    async def close(self) -> None: ...


class AsyncTransaction(Protocol):
    """Reads as of one moment, followed by writes that are committed together.

    Reads do not see the transaction's own writes, which are known only when it commits. `commit`,
    `confirm` or `rollback` ends it. If `commit` raises an exception, the transaction has ended too,
    and wrote nothing, except that after `OutcomeUnknown` it may have written everything.
    """

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        """Answer several reads in one round trip, as a snapshot does. Later calls may raise
        `Conflict` if something that was read before has changed; after this error too, call
        `rollback`."""

    async def commit(self, writes: Sequence[Write], /) -> None:
        """Commit the writes in order. Raises `Conflict` if anything that was read has changed."""

    async def confirm(self) -> None:
        """End without writes. Raises `Conflict` unless all reads are of one moment."""

    async def rollback(self) -> None: ...


class AsyncStore(Protocol):
    """One database. Its methods are awaited on one event loop; many transactions may be open.

    Calls raise `StoreError` if the database cannot be reached, or exceeds the store's time limits.
    When the database can be reached again, later calls reconnect.
    """

    @property
    def connections_max(self) -> int:
        """How many snapshots and transactions each machine serves at once; others wait."""

    @property
    def commit_seconds_max(self) -> float:
        """The longest delay, in seconds, between a transaction's reading of the clock and its
        commit. It is 0 if transactions commit in the order of these times."""

    @property
    def indexes_follow(self) -> bool:
        """Whether slots are on several machines, so that global indexes are updated from a log."""

    def machine_of(self, key: bytes, /) -> int | None:
        """The machine that keeps the slot of a key; None if there is only one."""

    def now(self) -> float:
        """The time of `CLOCK` in epoch seconds, as far as this process knows it."""

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        """Answer several reads, or the first ones, as of one moment, as cheaply as possible."""

    async def snapshot(self) -> AsyncSnapshot: ...

    async def begin(self, locking: bool = False, /) -> AsyncTransaction:
        """Start a transaction. With `locking`, if the store has locks, no other transaction can
        change the rows of its first `read` call until this transaction ends."""

    async def place(self) -> str:
        """An identifier of the database: the same for all its addresses, and unique."""

    async def backup(self, path: str, /, compact: bool = False) -> None:
        """See `Store`."""

    def verify(self) -> AsyncIterator[str]:
        """See `Store`. Writes can continue during the check."""

    def figures(self) -> dict[str, int]:
        """Numbers for monitoring, by name. Any thread may call this method."""

    async def close(self) -> None: ...


def check_durability(durability: str) -> None:
    """Check the name of a durability. Raises ValueError unless it is one of `Durability`."""
    if durability not in get_args(Durability):
        raise ValueError(f"durability must be one of {get_args(Durability)}, not {durability!r}")


class StoreError(Exception):
    """The store cannot carry out a call; the message is one line for the operator."""


class Conflict(StoreError):
    """A row that was read has changed before the commit. Run the decision again."""


class OutcomeUnknown(StoreError):
    """The commit has written everything or nothing, but it is unknown which: a sync failed, or the
    connection was lost. Do not repeat it, because the writes might be made twice, and do not report
    failure or success to any caller."""


class Busy(StoreError):
    """Another process or thread holds the write lock."""


class Locked(Busy):
    """A row remained locked by another transaction."""


class Full(StoreError):
    """The disk is full. Nothing was written; later attempts may succeed."""


class ReadOnly(StoreError):
    """No writes are possible: the database is read-only, or an I/O error has made the content of
    the disk unknown until the database is reopened."""


class Damaged(StoreError):
    """The file belongs to another program, is newer than this program, or has been damaged."""
