"""What Query, Scan and SELECT have in common: which attributes of which rows, and their pages."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Raw, Struct, field

from hashrange.engine import fetch, keys, ranges
from hashrange.engine.capacity import Consumed, read_units
from hashrange.engine.decision import Response
from hashrange.engine.fetch import Bounds, Fetch, Row, contents
from hashrange.engine.keys import INVALID
from hashrange.expressions import Condition, Projection
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import PAGE_BYTES_MAX
from hashrange.model.tables import Index, Table, View
from hashrange.model.values import Item
from hashrange.operations.common import outputs

SLOW_CHUNK_ROWS = 32
"""How many rows are read at a time where each takes longer; between chunks others are served."""

Given = requests.Query | requests.Scan


class Reading(Struct, gc=False):
    """The checked part of a request that Query and Scan share."""

    given: Given
    filter: Condition | None
    projection: Projection | None

    @property
    def count_only(self) -> bool:
        return self.given.select == "COUNT"


def check_select(given: Given) -> None:
    """Raises ValidationException where Select does not go with what else is given."""
    select = given.select
    if select is None:
        return
    chosen = None
    if given.projection_expression is not None:
        chosen = "ProjectionExpression"
    elif given.attributes_to_get is not None:
        chosen = "AttributesToGet"
    if select == "SPECIFIC_ATTRIBUTES" and chosen is None:
        raise ValidationException(
            "Must specify the AttributesToGet or ProjectionExpression when choosing "
            "to get SPECIFIC_ATTRIBUTES"
        )
    if chosen and select != "SPECIFIC_ATTRIBUTES":
        raise ValidationException(
            f"Cannot specify the {chosen} when choosing to get "
            f"{'only the Count' if select == 'COUNT' else select}"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and given.index_name is None:
        raise ValidationException(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


def view_of(table: Table, reading: Reading) -> View:
    """The table or the index to read, if it can be read."""
    given = reading.given
    if given.index_name is None:
        return table
    index = table.index(given.index_name)
    if index is None:
        raise ValidationException(
            f"The table does not have the specified index: {given.index_name}"
        )
    if not index.local:
        if given.consistent_read:
            raise ValidationException(
                "Consistent reads are not supported on global secondary indexes"
            )
        if index.building:
            raise ValidationException(
                f"Cannot read from backfilling global secondary index: {index.name}"
            )
    return index


def check_projected(view: View, table: Table, reading: Reading) -> None:
    """Raises ValidationException where a global index lacks what is asked of it."""
    if not isinstance(view, Index) or view.local or view.projection == "ALL":
        return
    index = view
    if reading.given.select == "ALL_ATTRIBUTES":
        raise ValidationException(
            f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
            f"{index.name} because its projection type is not ALL"
        )
    missing = _unprojected(index, table, reading.projection)
    if missing:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )


def check_filter_projected(view: View, table: Table, reading: Reading) -> None:
    """The same of a filter, even where a local index fetches items (ScyllaDB's tests on AWS).

    A Query is refused; to a Scan the attributes are not there.
    """
    if not isinstance(view, Index) or view.projection == "ALL":
        return
    missing = _unprojected(view, table, reading.filter)
    if missing:
        raise ValidationException(
            f"{INVALID}Secondary index {view.name} does not project one or more filter "
            f"attributes: [{', '.join(missing)}]"
        )


def _unprojected(index: Index, table: Table, part: Condition | Projection | None) -> list[str]:
    """What an expression names and the index does not hold, in order."""
    named = part.attributes if part else frozenset()
    return sorted(named - {*table.key, *index.key, *index.include})


def _must_fetch(view: View, table: Table, reading: Reading) -> bool:
    """Whether a local index lacks attributes that the request asks for."""
    if not isinstance(view, Index) or view.projection == "ALL":
        return False
    if reading.given.select == "ALL_ATTRIBUTES":
        return True
    return bool(_unprojected(view, table, reading.projection))


def check_paths(table: Table, reading: Reading) -> None:
    """Raises ValidationException where an expression looks into a key."""
    for part in (reading.projection, reading.filter):
        if part and part.containers:
            keys.check_scalar(table, part.containers)


class Walk(Struct, gc=False):
    """How rows are read, and what is kept of them.

    `fetching`: a local index lacks attributes that are asked for.
    """

    matches: Callable[[Item], bool] | None
    project: Callable[[Item], Item] | None
    fetching: bool
    consistent: bool
    reverse: bool
    count_only: bool = False

    @property
    def as_stored(self) -> bool:
        """Whether every row is kept, and none is looked into."""
        return not (self.matches or self.project or self.fetching or self.count_only)


class Page(Struct):
    """A page as it grows: what was evaluated, what is kept. `last` is a row as stored."""

    items: list[Any] = field(default_factory=list)
    count: int = 0
    scanned: int = 0
    size: int = 0
    units: float = 0.0
    fetched_size: int = 0
    fetched_units: float = 0.0
    last: bytes | None = None

    @property
    def evaluated(self) -> int:
        """The bytes that count towards 1 MB: items that a local index fetches do as well."""
        return self.size + self.fetched_size

    def charge(self, consumed: Consumed, view: View) -> None:
        """Enter what the page's rows cost."""
        consumed.add(self.units, view if isinstance(view, Index) else None)
        if self.fetched_units:
            consumed.add(self.fetched_units)


def page(table: Table, view: View, bounds: Bounds, reading: Reading) -> Fetch[Response]:
    """Read inside the bounds until Limit or 1 MB of evaluated items, and answer."""
    given, filter_, projection = reading.given, reading.filter, reading.projection
    how = Walk(
        matches=filter_.matches if filter_ else None,
        project=projection.project if projection else None,
        fetching=_must_fetch(view, table, reading),
        consistent=bool(given.consistent_read),
        reverse=isinstance(given, requests.Query) and given.scan_index_forward is False,
        count_only=reading.count_only,
    )
    stretches = [bounds]
    if isinstance(given, requests.Scan) and given.return_consumed_capacity:
        stretches = ranges.by_partition(table, view, bounds)
    found = Page()
    left = yield from walk_all(table, view, stretches, how, given.limit, PAGE_BYTES_MAX, found)
    return _respond(table, view, reading, found, ended_by_bound=left is not None)


def walk_all(
    table: Table,
    view: View,
    stretches: Sequence[Bounds],
    how: Walk,
    limit: int | None,
    bytes_max: int,
    found: Page,
) -> Fetch[Bounds | None]:
    """Walk one stretch after the other; what each costs is rounded by itself."""
    for bounds in stretches:
        if found.scanned == limit or found.evaluated >= bytes_max:
            return bounds
        before = found.size
        left = yield from _walk(table, view, bounds, how, limit, bytes_max, found)
        found.units += read_units(found.size - before, how.consistent)
        if left:
            return left
    return None


def _walk(
    table: Table,
    view: View,
    bounds: Bounds,
    how: Walk,
    limit: int | None,
    bytes_max: int,
    found: Page,
) -> Fetch[Bounds | None]:
    """Add rows inside the bounds to a page until it has `limit` or `bytes_max` of evaluated rows.

    Gives the bounds that are left; None: all was read.
    """
    left: Bounds | None = bounds
    while left and found.evaluated < bytes_max and found.scanned != limit:
        start, room = left, bytes_max - found.evaluated
        rows_max = None if limit is None else limit - found.scanned
        if how.matches or how.fetching:
            rows_max = min(rows_max or SLOW_CHUNK_ROWS, SLOW_CHUNK_ROWS)
        stored, left = yield from fetch.stored_rows(view, left, how.reverse, rows_max, room)
        fetched: list[Row] | None = None
        if how.fetching and isinstance(view, Index):
            fetched = yield from _fetch_items(table, view, stored, room)
            if len(fetched) < len(stored):  # the page ends among them
                stored, left = yield from fetch.stored_rows(
                    view, start, how.reverse, len(fetched), None
                )
        if stored:
            found.scanned += len(stored)
            found.last = stored[-1]
        if how.as_stored:
            _keep_as_stored(stored, found)
            continue
        rows = [Row(value) for value in stored]
        found.size += sum([row.size for row in rows])
        if fetched is not None:
            rows = fetched
            found.fetched_size += sum([row.size for row in rows])
            found.fetched_units += sum([read_units(row.size, how.consistent) for row in rows])
        _keep(rows, how, found)
    return left


def _keep_as_stored(stored: Sequence[bytes], found: Page) -> None:
    size, items = contents(stored)
    found.size += size
    found.count += len(items)
    found.items.extend(items)


def _fetch_items(
    table: Table, index: Index, stored: Sequence[bytes], room: int
) -> Fetch[list[Row]]:
    """The items behind entries of a local index, until they and the entries fill the room."""
    entries = [Row(value) for value in stored]
    owners = [(table, ranges.owner(table, index, entry)) for entry in entries]
    items = []
    for entry, row in zip(entries, (yield from fetch.items(owners)), strict=True):
        assert row, "an entry is there as long as its item is"
        items.append(row)
        room -= entry.size + row.size
        if room <= 0:
            break
    return items


def _keep(rows: Sequence[Row], how: Walk, found: Page) -> None:
    """What passes the filter, as stored or projected."""
    matches, project = how.matches, how.project
    if matches:
        rows = [row for row in rows if matches(row.item)]
    found.count += len(rows)
    if how.count_only:
        return
    if project:
        found.items.extend([project(row.item) for row in rows])
    else:
        found.items.extend([Raw(row.json) for row in rows])


def _respond(
    table: Table, view: View, reading: Reading, found: Page, ended_by_bound: bool
) -> Response:
    given = reading.given
    response: Response = {} if reading.count_only else {"Items": found.items}
    response["Count"] = found.count
    response["ScannedCount"] = found.scanned
    if ended_by_bound and found.last:
        response["LastEvaluatedKey"] = ranges.last_key(table, view, found.last)
    if given.return_consumed_capacity:
        consumed = Consumed(table)
        found.charge(consumed, view)
        outputs.add_consumed(response, consumed, given.return_consumed_capacity, given.table_name)
    return response
