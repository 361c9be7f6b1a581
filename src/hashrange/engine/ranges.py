"""Turns key conditions and segments into the bounds of the rows that a Query or Scan reads."""

from typing import Any

from hashrange.engine.keys import check_not_empty
from hashrange.engine.keyspace import bounds as bound
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import (
    RowKey,
    component,
    first_of_raw,
    key_item,
    owner_raw,
    parse_raw,
    partition,
    raw_key,
    table_key,
)
from hashrange.engine.keyspace.rows import Row
from hashrange.expressions import KeyQuery
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.model.values import Item


def of_query(source: TableOrIndex, query: KeyQuery) -> Bounds:
    """The bounds of the rows that a key condition selects. Refuses empty key values."""
    for name, value in zip(source.key, query.hash_values + query.range_equals, strict=False):
        if "" in value.values():
            check_not_empty(name, value)
    prefix = partition(query.hash_values)
    if query.range_equals:
        prefix += b"".join(map(component, query.range_equals))
    if query.operator is None:
        return bound.everything(prefix)
    operator: Any = bound.SORT_BOUNDS[query.operator]
    bounds: Bounds = operator(prefix, *query.operands)
    return bounds


def raw_of_query(query: KeyQuery) -> bytes:
    """The raw partition key of the rows that a key condition selects."""
    return raw_key(query.hash_values)


def of_scan(segment: int | None, total: int | None) -> Bounds:
    """The bounds of one segment of a parallel Scan, or of all rows if `total` is None."""
    return bound.segment(segment or 0, total or 1)


def partition_starts(table: Table, source: TableOrIndex) -> tuple[bytes, ...]:
    """The keys at which the partitions begin. A local index has the partitions of its table."""
    owner = source if isinstance(source, Index) and not source.local else table
    return owner.partition_starts


def last_key(table: Table, source: TableOrIndex, stored: bytes) -> Item:
    """The LastEvaluatedKey of a page that ends with the row whose stored value is `stored`."""
    return key_item(table, source, Row(stored).raw)


def partition_raw(source: TableOrIndex, stored: bytes) -> bytes:
    """The raw partition key of the row whose stored value is `stored`."""
    return first_of_raw(Row(stored).raw, len(source.hash))


def owner(table: Table, index: Index, row: Row) -> RowKey:
    """The row key of the item to which an index entry belongs."""
    values = parse_raw(owner_raw(index, row.raw))
    return table_key(table, dict(zip(table.key, values, strict=True)))
