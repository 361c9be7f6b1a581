"""ExclusiveStartKey: checks it, and finds what a Query or Scan has left to read after it.

Messages and the order of the checks were observed on the service. A Query checks the partition
key before its key condition, and the rest of the key after it. A Scan of an index checks the
index's key before Select, and the table's key after it.
"""

from collections.abc import Sequence

from hashrange.engine import ranges
from hashrange.engine.keys import NO_MATCH, is_key_value
from hashrange.engine.keyspace import bounds as bound
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.keys import start_key
from hashrange.expressions import KeyQuery
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table, TableOrIndex
from hashrange.model.values import Item

BAD_START = "The provided starting key is invalid"
OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
OUTSIDE_OF_RANGE = "The query can return at most one row and cannot be restarted"
"""The message for a key in another partition if the key condition also tests a sort key."""
NOT_IN_RANGE = "The provided starting key does not match the range key predicate"


def check_partition(table: Table, source: TableOrIndex, key: Item) -> None:
    """Checks the number of attributes, and the partition key of the table or index."""
    if len(key) != _length(table, source):
        raise ValidationException(BAD_START)
    _check(table, source.hash, key)


def check_sort(table: Table, source: TableOrIndex, key: Item) -> None:
    """Checks the sort key of the table or index."""
    _check(table, source.range, key)


def check_table(table: Table, source: TableOrIndex, key: Item) -> None:
    """Checks the key of the table, beside which only the key of the index may stand."""
    if len(key) != _length(table, source) or not all(
        name in key and is_key_value(table.types[name], key[name]) for name in table.key
    ):
        raise ValidationException(f"{BAD_START}: {NO_MATCH}")


def _length(table: Table, source: TableOrIndex) -> int:
    return len({*table.key, *source.key})


def _check(table: Table, names: Sequence[str], key: Item) -> None:
    for name in names:
        if name not in key:
            raise ValidationException(BAD_START)
        if table.types[name] not in key[name]:
            raise ValidationException(NO_MATCH)
        if not is_key_value(table.types[name], key[name]):
            raise ValidationException(BAD_START)


def resume_query(
    table: Table, source: TableOrIndex, query: KeyQuery, bounds: Bounds, key: Item, reverse: bool
) -> Bounds:
    """What is left of a Query's bounds after a checked key, which must lie within them."""
    at = start_key(table, source, key)
    ranged = query.operator is not None or bool(query.range_equals)
    alike = query._replace(hash_values=[key[name] for name in source.hash])
    if ranged and not bound.holds(ranges.of_query(source, alike), at):
        raise ValidationException(NOT_IN_RANGE)
    if not bound.same_partition(bounds, at):
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
    """The same for a segment of a Scan."""
    at = start_key(table, source, key)
    if not bound.holds(bounds, at):
        raise ValidationException(
            f"{BAD_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct "
            f"Segment. TotalSegments: {total} Segment: {segment}"
        )
    return bound.resume(bounds, at, reverse=False)


def resume(table: Table, source: TableOrIndex, bounds: Bounds, key: Item, reverse: bool) -> Bounds:
    """The same for any bounds, with all checks of the key. Raises ValidationException."""
    check_partition(table, source, key)
    check_sort(table, source, key)
    check_table(table, source, key)
    at = start_key(table, source, key)
    if not bound.holds(bounds, at):
        raise ValidationException(OUTSIDE)
    return bound.resume(bounds, at, reverse)
