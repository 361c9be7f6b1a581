"""The reads of operations. Each function is a generator that yields reads and returns the result.

Besides the reads of `kv`, an operation may yield `TableNamed` and `Admit`. The runtime answers the
first from its cache of the catalog, as of the same snapshot, and the second from its meter.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from hashrange import kv
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.bounds import Bounds, resume
from hashrange.engine.keyspace.keys import RowKey, collection_key
from hashrange.engine.keyspace.rows import Row, row_at
from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.errors import ResourceNotFoundException
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.model.tables import Table, TableOrIndex

T = TypeVar("T")


class TableNamed(NamedTuple):
    """A question for the definition of a table. The answer is `Table | None`."""

    name: str


class Admit(Struct, gc=False):
    """A question whether a read or write of the row `key` is admitted.

    The answer is the sequence of limits (`hashrange.engine.throughput.Limit`) that have been
    reached. For a write, it includes limits of the table's global indexes. `units` is the least
    that the read or write will consume. The members of a batch are admitted one after another: each
    admitted member counts as having consumed its `units` before the next question is answered.
    `raw` is the raw key of the row or, if several rows are read, their raw partition key; empty if
    it is not known.
    """

    table: Table
    source: TableOrIndex
    key: bytes
    written: bool
    units: float = 0
    raw: bytes = b""


Read = kv.Read | TableNamed | Admit
Fetch = Generator[Read, Any, T]

StoredRow = tuple[bytes, bytes]
"""The key and the value of a row."""

CHUNK_ROWS = 128
"""The number of rows in a chunk of a long read. Between chunks, other requests are served."""

FIRST_KEYS = 4
STEP_BYTES = 1024 * 1024
"""If many rows are read by key, the first step reads `FIRST_KEYS` rows. Each later step reads about
this many bytes, estimated from the average size of the rows read so far."""

PAUSE = kv.Get(())
"""A read of nothing, which lets other requests run in the middle of a long evaluation."""


class Views(Protocol):
    """Keeps vector views in memory for later searches: see `engine.vectors.views`.

    A view never changes.
    """

    def kept(self, place: kv.Key, /) -> Sequence[Any]:
        """The views kept for a group of rows, the newest first.

        `place` is the space of the rows, and the start of their keys.
        """
        ...

    def keep(self, place: kv.Key, view: Any, /) -> None: ...

    def reserve(self) -> AbstractContextManager[Callable[[int], bool]]:
        """Reserve memory for a view while it is loaded.

        The context manager gives a function that takes the view's present size in bytes. The
        function returns whether the view may be kept.
        """
        ...


class _NoViews:
    """An implementation of `Views` that keeps nothing."""

    def kept(self, place: kv.Key, /) -> Sequence[Any]:
        return ()

    def keep(self, place: kv.Key, view: Any, /) -> None:
        pass

    def reserve(self) -> AbstractContextManager[Callable[[int], bool]]:
        return nullcontext(lambda size_bytes: False)


NO_VIEWS = _NoViews()


class Moment(Struct, gc=False):
    """Everything that an operation knows about the world outside the database.

    `now` is in epoch seconds and never decreases, even across restarts and processes. `entropy` is
    16 random bytes, which stay the same if the request is run again. A decision is committed at
    most `commit_seconds` after `now`; until then, decisions with a later `now` may be committed
    before it. If `indexes_follow`, the global indexes of a new table are updated from a log. With
    `asks_admission`, the operation yields an `Admit` before each read and write of items. `views`
    is a cache of rows that vector searches have read.

    Unless `settings.throughput` is "off", the meter reads the receipt of every request, even if the
    request does not ask for ConsumedCapacity.
    """

    now: float
    entropy: bytes = b""
    caller: Caller = DEFAULT_CALLER
    settings: Settings = DEFAULT_SETTINGS
    commit_seconds: float = 0.0
    indexes_follow: bool = False
    asks_admission: bool = False
    views: "Views" = NO_VIEWS


def plain_name(name_or_arn: str) -> str:
    """The name of a table, from a TableName, which may be its name or its ARN."""
    return name_or_arn.rpartition(":table/")[2]


def find_table(name_or_arn: str) -> Fetch[Table | None]:
    table: Table | None = yield TableNamed(plain_name(name_or_arn))
    return table


def table(name_or_arn: str, moment: Moment) -> Fetch[Table]:
    """The table with this name or ARN, if it is usable (see `usable`)."""
    definition: Table | None = yield TableNamed(plain_name(name_or_arn))
    return usable(definition, moment)


def usable(table: Table | None, moment: Moment) -> Table:
    """The table. Raises ResourceNotFoundException if it is missing or still being created."""
    if table is None or moment.now < table.active_at:
        raise ResourceNotFoundException("Requested resource not found")
    return table


def described_table(name_or_arn: str) -> Fetch[Table]:
    """The table in any state. Raises ResourceNotFoundException, with its name, if it is missing."""
    definition = yield from find_table(name_or_arn)
    if definition is None:
        name = plain_name(name_or_arn)
        raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
    return definition


def item(table: Table, key: RowKey) -> Fetch[Row | None]:
    [value] = yield kv.Get(((table.space, key.key),))
    return row_at(key, value)


def pause() -> Fetch[None]:
    """Let other requests run."""
    yield PAUSE


def some_items(keys: Sequence[tuple[Table, RowKey]]) -> Fetch[list[Row | None]]:
    """The rows with these keys, in one read. A row that does not exist is None."""
    values = yield kv.Get(tuple([(table.space, key.key) for table, key in keys]))
    return [row_at(key, value) for (_, key), value in zip(keys, values, strict=True)]


def items(
    keys: Sequence[tuple[Table, RowKey]],
    check: Callable[[int], None] = lambda size: None,
    then: Sequence[kv.Key] = (),
) -> Fetch[list[Row | None]]:
    """The rows with these keys, read in steps. A row that does not exist is None.

    After each step, `check` is called with the sum of the items' sizes in bytes so far. It may
    raise an error. `then` has the keys of other rows that the caller will read next.
    """
    rows: list[Row | None] = []
    places = [(table.space, key.key) for table, key in keys]
    size = stored_bytes = 0
    while len(rows) < len(keys):
        done = len(rows)
        end = done + keys_per_step(done, stored_bytes)
        later = () if done else (*places[end:], *then)
        values = yield kv.Get(tuple(places[done:end]), then=later)
        wanted = zip(keys[done:end], values, strict=True)
        some = [row_at(key, value) for (_, key), value in wanted]
        rows += some
        for row in some:
            if row is not None:
                size += row.size
                stored_bytes += row.stored_bytes
        check(size)
    return rows


def items_of_one_moment(
    keys: Sequence[tuple[Table, RowKey]], size_max: int, check: Callable[[int], None]
) -> Fetch[list[Row | None]]:
    """The rows with these keys, in one read, which is as of one moment on every store.

    `check` is called with the sum of the items' sizes in bytes, and raises an error if this sum is
    above `size_max`.
    """
    places = tuple([(table.space, key.key) for table, key in keys])
    values: list[bytes | None] = yield kv.Get(places, size_max)
    check(sum(kv.unpack_weight(value)[0] for value in values if value is not None))
    return [row_at(key, value) for (_, key), value in zip(keys, values, strict=True)]


def keys_per_step(read: int, stored_bytes: int) -> int:
    """The number of rows to read next, after `read` rows with a total of `stored_bytes`."""
    return max(1, STEP_BYTES * read // max(1, stored_bytes)) if read else FIRST_KEYS


def rows(
    source: TableOrIndex, bounds: Bounds, reverse: bool, rows_max: int | None, bytes_max: int | None
) -> Fetch[tuple[list[Row], Bounds | None]]:
    """The next chunk of rows within the bounds, and the remaining bounds; None at the end."""
    stored, left = yield from stored_rows(source, bounds, reverse, rows_max, bytes_max)
    return [Row(value) for _, value in stored], left


def stored_rows(
    source: TableOrIndex, bounds: Bounds, reverse: bool, rows_max: int | None, bytes_max: int | None
) -> Fetch[tuple[Sequence[StoredRow], Bounds | None]]:
    """Like `rows`, but returns the key and the stored value of each row."""
    limit = CHUNK_ROWS if rows_max is None else min(rows_max, CHUNK_ROWS)
    page: kv.Page = yield kv.Range(
        source.space, bounds.start, bounds.end, reverse, limit, bytes_max
    )
    chunk = page.rows
    return chunk, None if page.exhausted else resume(bounds, chunk[-1][0], reverse)


def counters(names: Sequence[bytes]) -> Fetch[list[int]]:
    values: list[int] = yield kv.Counters(tuple(names))
    return values


def system_row(key: bytes, type_: type[T]) -> Fetch[T | None]:
    [value] = yield kv.Get(((kv.SYSTEM_SPACE, key),))
    return None if value is None else system.decode(value, type_)


def statistics(sources: Sequence[TableOrIndex]) -> Fetch[list[tuple[int, int]]]:
    """For each of these tables and indexes, its ItemCount and its size in bytes."""
    by_partition = yield from partition_statistics(sources)
    return [
        (sum(items for items, _ in counts), sum(size for _, size in counts))
        for counts in by_partition
    ]


def partition_statistics(sources: Sequence[TableOrIndex]) -> Fetch[list[list[tuple[int, int]]]]:
    """For each of these tables and indexes, the (number, size in bytes) of the rows per
    partition."""
    names: list[bytes] = []
    for source in sources:
        for partition in source.partitions:
            names.append(system.item_count(source.space, partition.number))
            names.append(system.size_bytes(source.space, partition.number))
    values = iter((yield from counters(names)))
    return [[(next(values), next(values)) for _ in source.partitions] for source in sources]


def item_and_collection(table: Table, key: RowKey) -> Fetch[tuple[Row | None, int]]:
    """The row with this key, and the size in bytes of its item collection.

    The table must have local indexes.
    """
    value, number = yield kv.Get(((table.space, key.key), collection_key(table, key)))
    return row_at(key, value), system.decode_number(number)


def items_and_collections(
    keys: Sequence[tuple[Table, RowKey]], check: Callable[[int], None] = lambda size: None
) -> Fetch[list[tuple[Row | None, int | None]]]:
    """The rows that have these keys, each with the size in bytes of its item collection.

    The size is None for a table without local indexes, which has no collections. `check` is called
    with the sum of the items' sizes in bytes so far. It may raise an error.
    """
    places = [collection_key(table, key) for table, key in keys if table.has_local_indexes]
    rows = yield from items(keys, check, places)
    sizes = iter((yield kv.Get(tuple(places))) if places else ())
    return [
        (row, system.decode_number(next(sizes)) if table.has_local_indexes else None)
        for row, (table, _) in zip(rows, keys, strict=True)
    ]


def table_names(after: str, limit: int) -> Fetch[list[str]]:
    """The names of at most `limit` tables after the name `after`, in order."""
    start = system.table_row(after) + b"\x00" if after else system.TABLES
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, start, system.AFTER_TABLES, rows_max=limit)
    return [key[len(system.TABLES) :].decode() for key, _ in page.rows]


def all_tables() -> Fetch[list[Table]]:
    """The definitions of all tables."""
    page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, system.TABLES, system.AFTER_TABLES)
    return [system.decode(value, Table) for _, value in page.rows]


def dropped_spaces() -> Fetch[list[int]]:
    spaces: list[int] = yield kv.Dropped()
    return spaces


def new_spaces(count: int) -> Fetch[list[int]]:
    """The next ids of spaces, none of which has been used before."""
    [value] = yield kv.Get((system.SPACES,))
    made = system.decode_number(value)
    return list(range(made + 1, made + 1 + count))
