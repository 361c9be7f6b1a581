"""What Query and Scan have in common: which attributes of which rows, and a page of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Raw

from hashrange.engine import fetch, ranges
from hashrange.engine.capacity import Consumed, read_units
from hashrange.engine.decision import Response
from hashrange.engine.fetch import Bounds, Fetch, Row
from hashrange.engine.keys import INVALID
from hashrange.expressions import Condition, Expressions, Projection
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import PAGE_BYTES_MAX, PAGE_INCLUDES_CROSSING_ITEM
from hashrange.model.tables import Index, Table, View
from hashrange.operations import inputs, outputs

Given = requests.Query | requests.Scan


class Reading(NamedTuple):
    """The checked part of a request that Query and Scan share."""

    given: Given
    filter: Condition | None
    projection: Projection | None
    count_only: bool


def parse(given: Given, placeholders: Expressions | None, filter_: Condition | None) -> Reading:
    projection = inputs.projection(given, placeholders)
    _check_select(given)
    return Reading(given, filter_, projection, given.select == "COUNT")


def _check_select(given: Given) -> None:
    select = given.select
    chosen = next(
        (
            name
            for name in ("ProjectionExpression", "AttributesToGet")
            if getattr(given, inputs.FIELDS[name]) is not None
        ),
        None,
    )
    if select == "SPECIFIC_ATTRIBUTES" and chosen is None:
        raise ValidationException(
            "Must specify the AttributesToGet or ProjectionExpression when choosing "
            "to get SPECIFIC_ATTRIBUTES"
        )
    if chosen and select not in (None, "SPECIFIC_ATTRIBUTES"):
        raise ValidationException(
            f"Cannot specify the {chosen} when choosing to get "
            f"{'only the Count' if select == 'COUNT' else select}"
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and given.index_name is None:
        raise ValidationException(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


def view_of(table: Table, reading: Reading) -> View:
    """The table or the index to read, if it can be read in this way."""
    given = reading.given
    if given.index_name is None:
        return table
    index = table.index(given.index_name)
    if index is None:
        raise ValidationException(
            f"The table does not have the specified index: {given.index_name}"
        )
    if not index.local:
        _check_global(index, table, reading)
    return index


def _check_global(index: Index, table: Table, reading: Reading) -> None:
    if reading.given.consistent_read:
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    if index.building:
        raise ValidationException(
            f"Cannot read from backfilling global secondary index: {index.name}"
        )
    if index.projection == "ALL":
        return
    if reading.given.select == "ALL_ATTRIBUTES":
        raise ValidationException(
            f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index "
            f"{index.name} because its projection type is not ALL"
        )
    missing = sorted(_unprojected(index, table, reading))
    if missing:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )


def _unprojected(index: Index, table: Table, reading: Reading) -> set[str]:
    wanted: set[str] = set()
    if reading.projection:
        wanted |= reading.projection.attributes
    return wanted - {*table.key, *index.key, *index.include}


def _must_fetch(view: View, table: Table, reading: Reading) -> bool:
    """Whether a local index lacks attributes that the request asks for."""
    if not isinstance(view, Index) or view.projection == "ALL":
        return False
    if reading.given.select == "ALL_ATTRIBUTES":
        return True
    return bool(_unprojected(view, table, reading))


class _Page:
    """A page as it grows: what was evaluated, what is kept."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.count = 0
        self.scanned = 0
        self.size = 0
        self.fetched_units = 0.0
        self.last: Row | None = None


def page(table: Table, view: View, bounds: Bounds, reading: Reading) -> Fetch[Response]:
    """Read inside the bounds until Limit or 1 MB of evaluated items, and answer."""
    given = reading.given
    reverse = isinstance(given, requests.Query) and given.scan_index_forward is False
    left: Bounds | None = bounds
    fetching = _must_fetch(view, table, reading)
    found = _Page()
    while left and found.size < PAGE_BYTES_MAX and found.scanned != given.limit:
        rows_max = None if given.limit is None else given.limit - found.scanned
        rows, left = yield from fetch.rows(
            view, left, reverse, rows_max, PAGE_BYTES_MAX - found.size
        )
        if (
            not PAGE_INCLUDES_CROSSING_ITEM
            and found.size + sum(r.size for r in rows) > PAGE_BYTES_MAX
        ):
            rows = rows[:-1]
        for row in rows:
            found.size += row.size
        if rows:
            found.scanned += len(rows)
            found.last = rows[-1]
        if fetching and isinstance(view, Index):
            rows = yield from _fetch_items(table, view, rows, found, bool(given.consistent_read))
        _keep(rows, reading, found)
    return _respond(table, view, reading, found, ended_by_bound=left is not None)


def _fetch_items(
    table: Table, index: Index, entries: Sequence[Row], found: _Page, consistent: bool
) -> Fetch[list[Row]]:
    """The items behind entries of a local index; each is charged by itself, before the filter."""
    keys = [(table, ranges.owner(table, index, entry)) for entry in entries]
    items = [row for row in (yield from fetch.items(keys)) if row]
    found.fetched_units += sum(read_units(row.size, consistent) for row in items)
    return items


def _keep(rows: Sequence[Row], reading: Reading, found: _Page) -> None:
    """What passes the filter, as stored or projected."""
    if reading.filter:
        matches = reading.filter.matches
        rows = [row for row in rows if matches(row.item)]
    found.count += len(rows)
    if reading.count_only:
        return
    if reading.projection:
        project = reading.projection.project
        found.items.extend([project(row.item) for row in rows])
    else:
        found.items.extend([Raw(row.json) for row in rows])


def _respond(
    table: Table, view: View, reading: Reading, found: _Page, ended_by_bound: bool
) -> Response:
    given = reading.given
    response: Response = {} if reading.count_only else {"Items": found.items}
    response["Count"] = found.count
    response["ScannedCount"] = found.scanned
    if ended_by_bound and found.last:
        response["LastEvaluatedKey"] = ranges.last_key(table, view, found.last)
    if given.return_consumed_capacity:
        consumed = Consumed(table)
        units = read_units(found.size, bool(given.consistent_read))
        consumed.add(units, view if isinstance(view, Index) else None)
        if found.fetched_units:
            consumed.add(found.fetched_units)
        outputs.add_consumed(response, consumed, given.return_consumed_capacity, given.table_name)
    return response
