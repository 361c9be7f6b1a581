"""Pages of items: the code with which Query, Scan and SELECT read a table or an index."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Raw, Struct, field

from hashrange.engine import fetch, ranges
from hashrange.engine.capacity import Receipt
from hashrange.engine.cost import PAUSE_BYTES
from hashrange.engine.fetch import Fetch, StoredRow
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row, contents
from hashrange.model.limits import PAGE_BYTES_MAX
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.model.values import Item
from hashrange.operations.common import outputs
from hashrange.operations.common.outputs import LARGE_BYTES

SLOW_CHUNK_ROWS = 32
"""The number of rows that are read at once if each row takes longer, because it is filtered or
its item is fetched. Other requests run between such chunks."""


class PageOptions(Struct, gc=False):
    """How the rows of a page are read, filtered and projected.

    `matches` is None if every row is kept, and `project` is None if rows are kept unchanged.
    `weight` is the number of times that these two functions together process a row (see
    `engine.cost`). With `fetching`, attributes that a local index lacks are read from the table.
    `limit` is the largest number of rows to evaluate. With `scanning`, each partition is charged
    separately, because a Scan has no partition key.
    """

    table: Table
    source: TableOrIndex
    matches: Callable[[Item], bool] | None = None
    project: Callable[[Item], Item] | None = None
    weight: int = 1
    fetching: bool = False
    consistent: bool = False
    reverse: bool = False
    limit: int | None = None
    count_only: bool = False
    scanning: bool = False


class ItemPage(Struct):
    """The items of a page, and the numbers of rows and bytes evaluated for it.

    `ended_in` is the number of the range in which the page ended; None if all ranges were read to
    their ends. `between` tells that the page ended between two ranges: before the first row of the
    range `ended_in`. `last` is the key
    of the last row evaluated, and `full` says whether the page has reached its limit.
    """

    items: list[Any] = field(default_factory=list)
    count: int = 0
    scanned: int = 0
    size: int = 0
    ended_in: int | None = None
    between: bool = False
    full: bool = False
    last: bytes | None = None


def read(options: PageOptions, every: Sequence[Bounds], receipt: Receipt | None) -> Fetch[ItemPage]:
    """Read one range after another, until the limit or 1 MB of evaluated items is reached.

    If a local index's items are read from the table, both its entries and the items count towards
    the 1 MB. All evaluated rows are charged to `receipt`, unless it is None.
    """
    page = ItemPage()
    for number, bounds in enumerate(every):
        if page.full:
            page.ended_in, page.between = number, True
            break
        left = yield from _read_range(options, bounds, page, receipt)
        page.full = page.scanned == options.limit or page.size >= PAGE_BYTES_MAX
        if left:
            page.ended_in = number
            break
    return page


def _read_range(
    options: PageOptions, bounds: Bounds, page: ItemPage, receipt: Receipt | None
) -> Fetch[bool]:
    """Add the rows of one range to a page. Returns whether the range may have more rows."""
    limit, slow = options.limit, options.matches is not None or options.fetching
    left: Bounds | None = bounds
    keys: list[bytes] = []
    sizes: list[int] = []
    while left and page.scanned != limit and page.size < PAGE_BYTES_MAX:
        start, room = left, PAGE_BYTES_MAX - page.size
        rows_max = None if limit is None else limit - page.scanned
        if slow:
            rows_max = min(rows_max or SLOW_CHUNK_ROWS, SLOW_CHUNK_ROWS)
        stored, left = yield from fetch.stored_rows(
            options.source, left, options.reverse, rows_max, room
        )
        fetched: list[Row] | None = None
        if options.fetching:
            fetched = yield from _fetch_items(options, stored, page, receipt, room)
            if len(fetched) < len(stored):  # the page ends among them
                stored, left = yield from fetch.stored_rows(
                    options.source, start, options.reverse, len(fetched), None
                )
        if not stored:
            break
        if options.matches or options.project:
            chunk_sizes = yield from _evaluate(options, stored, fetched, page)
        else:
            chunk_sizes = _keep(options, stored, fetched, page)
        page.scanned += len(stored)
        page.size += sum(chunk_sizes)
        page.last = stored[-1][1]
        if receipt is not None:
            keys += [key for key, _ in stored]
            sizes += chunk_sizes
    if receipt is None:
        return left is not None
    if options.scanning:
        _charge_partitions(options, bounds, keys, sizes, receipt, ended=left is not None)
    else:
        table, source = options.table, options.source
        raw = ranges.partition_raw(source, page.last) if sizes and page.last else b""
        receipt.add_range(table, source, bounds.start, sum(sizes), options.consistent, raw)
    return left is not None


def _keep(
    options: PageOptions, stored: Sequence[StoredRow], fetched: list[Row] | None, page: ItemPage
) -> list[int]:
    """Add rows to a page without a filter or projection. Returns the sizes of `stored`.

    If `stored` has index entries, `fetched` may have their items, which are then added instead.
    """
    sizes, items = contents(stored)
    page.count += len(items)
    if not options.count_only:
        page.items += items if fetched is None else [Raw(row.json) for row in fetched]
    return sizes


def _evaluate(
    options: PageOptions, stored: Sequence[StoredRow], fetched: list[Row] | None, page: ItemPage
) -> Fetch[list[int]]:
    """Add the rows that pass the filter to a page, with pauses for other requests. Returns the
    sizes of `stored`.

    If `stored` has index entries, `fetched` may have their items, which are then evaluated instead.
    """
    matches, project, counts = options.matches, options.project, options.count_only
    entries = [Row(value) for _, value in stored]
    bytes_max = PAUSE_BYTES // options.weight
    looked_at = 0
    for row in entries if fetched is None else fetched:
        looked_at += row.stored_bytes
        if looked_at > bytes_max:
            yield from fetch.pause()
            looked_at = 0
        if not matches or matches(row.item):
            page.count += 1
            if not counts:
                page.items.append(outputs.projected(row, project) if project else Raw(row.json))
        if row.size > LARGE_BYTES:
            row.forget()
    return [entry.size for entry in entries]


def _fetch_items(
    options: PageOptions,
    stored: Sequence[StoredRow],
    page: ItemPage,
    receipt: Receipt | None,
    room: int,
) -> Fetch[list[Row]]:
    """The items of a local index's entries, until entries and items fill the page. `room` is the
    number of bytes left in the page."""
    table, index = options.table, options.source
    assert isinstance(index, Index)
    entries = [Row(value) for _, value in stored]
    owners: list[tuple[Table, RowKey]] = [
        (table, ranges.owner(table, index, entry)) for entry in entries
    ]
    rows = yield from fetch.items(owners)
    items = []
    for entry, (_, key), row in zip(entries, owners, rows, strict=True):
        assert row, "the item of an index entry must exist"
        items.append(row)
        page.size += row.size
        if receipt is not None:
            receipt.add_read(table, key, row.size, options.consistent)
        room -= entry.size + row.size
        if room <= 0:
            break
    return items


def _charge_partitions(
    options: PageOptions,
    bounds: Bounds,
    keys: list[bytes],
    sizes: list[int],
    receipt: Receipt,
    ended: bool,
) -> None:
    """Charge a Scan for each partition that it reached. The units of each partition are rounded up
    separately.

    So a scan of the smallest table on demand, which has four partitions, costs 2 units, or 4 with
    strongly consistent reads. With `ended`, the page ended within the bounds, at the last of
    `keys`.
    """
    starts = ranges.partition_starts(options.table, options.source)
    first = bisect_right(starts, bounds.start) - 1
    read_to = keys[-1] if ended else bounds.end
    at = 0
    for number in range(first, len(starts)):
        start = starts[number]
        if number > first and read_to is not None and start >= read_to:
            break
        following = starts[number + 1 : number + 2]
        end = bisect_left(keys, following[0], at) if following else len(keys)
        size = sum(sizes[at:end])
        receipt.add_range(options.table, options.source, start, size, options.consistent)
        at = end
