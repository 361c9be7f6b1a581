"""Which rows a Query or Scan reads, and where it goes on: between key values and bounds."""

from typing import Any

from hashrange.engine.keys import check_not_empty, is_key_value
from hashrange.engine.keyspace import bounds as bound
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import (
    RowKey,
    component,
    key_item,
    owner_raw,
    parse_raw,
    partition,
    start_key,
    table_key,
)
from hashrange.engine.keyspace.rows import Row
from hashrange.expressions import KeyQuery
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Index, Table, View
from hashrange.model.values import Item

BAD_START = "The provided starting key is invalid"
START_OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"


def of_query(view: View, query: KeyQuery) -> Bounds:
    """The rows that a key condition of these types names. Empty keys are refused."""
    for name, value in zip(view.key, query.hash_values + query.range_equals, strict=False):
        check_not_empty(name, value)
    prefix = partition(query.hash_values) + b"".join(map(component, query.range_equals))
    if query.operator is None:
        return bound.everything(prefix)
    operator: Any = bound.SORT_BOUNDS[query.operator]
    bounds: Bounds = operator(prefix, *query.operands)
    return bounds


def of_scan(segment: int | None, total: int | None) -> Bounds:
    """All rows, or those of one segment of a parallel Scan."""
    return bound.segment(segment or 0, total or 1)


def check_start(table: Table, view: View, key: Item) -> None:
    """An ExclusiveStartKey has the key attributes of the table and the index, and no others."""
    names = {*table.key, *view.key}
    if key.keys() != names or not all(
        is_key_value(table.types[name], value) for name, value in key.items()
    ):
        raise ValidationException(BAD_START)


def query_start(table: Table, view: View, bounds: Bounds, key: Item, reverse: bool) -> Bounds:
    """What is left of a Query's bounds behind an ExclusiveStartKey, which must lie in them."""
    check_start(table, view, key)
    at = start_key(table, view, key)
    if not bound.same_partition(bounds, at):
        raise ValidationException(START_OUTSIDE)
    if not bound.holds(bounds, at):
        raise ValidationException(
            "The provided starting key does not match the range key predicate"
        )
    return bound.resume(bounds, at, reverse)


def scan_start(
    table: Table, view: View, bounds: Bounds, key: Item, segment: int | None, total: int | None
) -> Bounds:
    """The same of a Scan's segment."""
    check_start(table, view, key)
    at = start_key(table, view, key)
    if not bound.holds(bounds, at):
        raise ValidationException(
            f"{BAD_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct "
            f"Segment. TotalSegments: {total} Segment: {segment}"
        )
    return bound.resume(bounds, at, reverse=False)


def last_key(table: Table, view: View, row: Row) -> Item:
    """The LastEvaluatedKey of a page that ends with this row."""
    return key_item(table, view, row.raw)


def owner(table: Table, index: Index, row: Row) -> RowKey:
    """Where in its table the item of an index entry is."""
    values = parse_raw(owner_raw(index, row.raw))
    return table_key(table, dict(zip(table.key, values, strict=True)))
