"""Checks an ExclusiveStartKey, and finds the rows that a Query or Scan still has to read.

The messages and the order of the checks were observed on the service. A Query checks the partition
key of a start key, then its own key condition, then the rest of the start key. A Scan checks the
types of index keys first, with the same message as a write.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from hashrange.engine import keys, ranges
from hashrange.engine.keys import is_key_value
from hashrange.engine.keyspace import bounds as bound
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import start_key
from hashrange.expressions import KeyQuery
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.model.validation.attribute_values import BAD_START
from hashrange.model.values import Item, equal

OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
OUTSIDE_OF_RANGE = "The query can return at most one row and cannot be restarted"
"""The message for a start key in another partition if the key condition tests a sort key."""
NOT_IN_RANGE = "The provided starting key does not match the range key predicate"
OTHER_ITEM = "The provided exclusive start key is invalid"
"""The message for a start key with another partition key if the table has no sort key."""


def check_index_types(table: Table, source: TableOrIndex, key: Item) -> None:
    """Checks the types of the index keys in a start key. This is the first check of a Scan."""
    for index in [source] if isinstance(source, Index) else table.sorted_indexes:
        for name in dict.fromkeys((*index.key, *table.key)):
            if name in key and table.types[name] not in key[name]:
                [type_] = key[name]
                raise keys.index_type_mismatch(table, index, name, type_)


def check_partition(table: Table, source: TableOrIndex, key: Item) -> None:
    """Checks the number of attributes in a start key, and the partition key of `source` in it."""
    if len(key) != _length(table, source):
        raise ValidationException(BAD_START)
    _check(table, source.hash, key)


def check_sort(table: Table, source: TableOrIndex, key: Item) -> None:
    """Checks the sort key of `source` in a start key."""
    _check(table, source.range, key)


def check_table(table: Table, source: TableOrIndex, key: Item) -> None:
    """Checks the table's key in a start key, and the number of attributes of the start key."""
    if len(key) != _length(table, source) or not all(
        name in key and is_key_value(table.types[name], key[name]) for name in table.key
    ):
        raise ValidationException(BAD_START)


def _length(table: Table, source: TableOrIndex) -> int:
    return len({*table.key, *source.key})


def _check(table: Table, names: Sequence[str], key: Item) -> None:
    for name in names:
        if name not in key or table.types[name] not in key[name]:
            raise ValidationException(BAD_START)
        keys.check_not_empty(name, key[name])
        if not is_key_value(table.types[name], key[name]):
            raise ValidationException(BAD_START)


def resume_query(
    table: Table, source: TableOrIndex, query: KeyQuery, bounds: Bounds, key: Item, reverse: bool
) -> Bounds:
    """The rest of a Query's bounds after a start key whose types have been checked.

    Raises ValidationException if the key is not within the bounds.
    """
    at = start_key(table, source, key)
    pairs = zip(source.hash, query.hash_values, strict=True)
    others = [name for name, value in pairs if not equal(key[name], value)]
    if any(name != source.hash[-1] for name in others):
        raise ValidationException(OUTSIDE_OF_RANGE)
    ranged = query.operator is not None or bool(query.range_equals)
    alike = replace(query, hash_values=[key[name] for name in source.hash])
    if ranged and not bound.holds(ranges.of_query(source, alike), at):
        raise ValidationException(NOT_IN_RANGE)
    if others:
        if source is table and not table.range:
            raise ValidationException(OTHER_ITEM)
        raise ValidationException(OUTSIDE_OF_RANGE if ranged else OUTSIDE)
    return bound.resume(bounds, at, reverse)


def resume_scan(
    table: Table,
    source: TableOrIndex,
    bounds: Bounds,
    key: Item,
    segment: int | None,
    total: int | None,
) -> Bounds:
    """The rest of the bounds of a Scan's segment after a start key that has been checked.

    Raises ValidationException if the key is not in the segment.
    """
    at = start_key(table, source, key)
    if not bound.holds(bounds, at):
        raise ValidationException(
            f"{BAD_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct "
            f"Segment. TotalSegments: {total} Segment: {segment}"
        )
    return bound.resume(bounds, at, reverse=False)


def resume(table: Table, source: TableOrIndex, bounds: Bounds, key: Item, reverse: bool) -> Bounds:
    """Check a start key, and return the rest of the bounds after it.

    Raises ValidationException if the key is invalid or outside the bounds.
    """
    check_partition(table, source, key)
    check_sort(table, source, key)
    check_table(table, source, key)
    at = start_key(table, source, key)
    if not bound.holds(bounds, at):
        raise ValidationException(OUTSIDE)
    return bound.resume(bounds, at, reverse)
