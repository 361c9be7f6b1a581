"""Turns a PartiQL statement into a write of one item, or into the key of an item to read.

Source: developer guide, "PartiQL - a SQL-compatible query language for Amazon DynamoDB". The
messages were observed on the service.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from msgspec import Raw

from hashrange.engine import keys, ranges, writes
from hashrange.engine.decision import ItemChange
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.writes import ItemWrite
from hashrange.expressions import Condition, KeyQuery, partiql
from hashrange.expressions.partiql import (
    Delete,
    Exists,
    Insert,
    Select,
    Statement,
    Update,
    Write,
)
from hashrange.expressions.partiql import keys as partiql_keys
from hashrange.expressions.tree import Node, Operation, Path, walk
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table, TableOrIndex
from hashrange.model.values import AttributeValue, Item, normalize
from hashrange.operations.common import inputs

_MULTIPLE_KEYS = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or "
    "multi-attribute RANGE keys."
)

AnyWrite = Write | Exists


@inputs.legacy_validation
def bind(text: str, parameters: Sequence[AttributeValue] | None) -> Statement:
    """Parse a statement and bind its parameters, which are converted to canonical form in place.

    A fault of a parameter is reported before any fault of the text.
    """
    normalize_all(parameters)
    return partiql.bind(partiql.parse(text), parameters or ())


@inputs.legacy_validation
def normalize_all(parameters: Sequence[AttributeValue] | None) -> int:
    """Convert the values to canonical form in place, and return their total size in bytes.

    A parameter may be nested one level deeper than an attribute.
    """
    return sum(normalize(parameter, 0) for parameter in parameters or ())


_AFTER_ALL = b"\xff" * 64
"""A bound after every row key: a row key begins with a digest of 16 bytes, and practically no
digest has only bytes of 255."""


def table_name(statement: Statement) -> str:
    """The name or ARN of the table in a statement."""
    return statement.select.table_name if isinstance(statement, Exists) else statement.table_name


def weight(statement: Statement) -> int:
    """The number of times that a statement processes each row that it reads (see `engine.cost`)."""
    total = 1
    where = statement.select.where if isinstance(statement, Exists) else None
    where = getattr(statement, "where", where)
    if where is not None:
        total += sum(isinstance(node, Operation) for node in walk(where))
    if isinstance(statement, Update):
        total += statement.changes.operators
    return total


def target(statement: AnyWrite, table: Table) -> tuple[Item, Node | None]:
    """The item that a statement writes, and the conditions of its WHERE clause that are not on its
    key.

    The item is complete for an INSERT. For other statements, it has only the key. Raises
    ValidationException if the statement does not name a single item.
    """
    if isinstance(statement, Insert):
        return statement.item, None
    where = statement.select.where if isinstance(statement, Exists) else statement.where
    key = where and partiql_keys.one_key(where, table.key)
    if isinstance(statement, Exists) and (not key or key[1] is None):
        raise ValidationException(
            "EXISTS() must contain a single item read with additional condition"
        )
    if not key:
        raise ValidationException(partiql.MANDATORY_KEY)
    return key


def item_write(statement: AnyWrite, table: Table, return_old: bool) -> ItemWrite:
    """The write that a statement makes of one item. Raises ValidationException if the statement
    does not fit the table."""
    key, rest = target(statement, table)
    partiql_keys.check_key(key, table.key, table.types)
    keys.check_none_empty(table, key)
    path = (Path((table.hash[0],)),)
    exists, absent = Operation("attribute_exists", path), Operation("attribute_not_exists", path)
    there = Condition.of(exists if rest is None else Operation("AND", (exists, rest)))
    match statement:
        case Insert():
            return writes.insert(table, key, inputs.item(key))
        case Update():
            return writes.update(table, key, statement.changes, there, return_old)
        case Delete():
            # If there is no item, there is nothing to delete, and the statement succeeds.
            allowed = None if rest is None else Condition.of(Operation("OR", (absent, rest)))
            write = writes.delete(table, key, allowed, return_old)
            write.failed_if_absent = rest is not None
            return write
        case Exists():
            return writes.condition_check(table, key, there, return_old)


def returned(statement: Statement, change: ItemChange) -> Any:
    """The item that the RETURNING clause returns. None if there is no such clause, or nothing to
    return."""
    returning = getattr(statement, "returning", None)
    if returning is None:
        return None
    old, new = change.old, change.new
    if tuple(returning) == ("ALL", "OLD"):
        return Raw(old.json) if old else None
    assert isinstance(statement, Update), "only an UPDATE can have another RETURNING clause"
    assert new is not None, "an UPDATE must leave an item"
    if returning.which == "ALL":
        return new
    if returning.image == "NEW":
        return statement.changes.new_values(new) or None
    assert old, "an UPDATE must change an existing item"
    return statement.changes.old_values(old.item) or None


def single_key(select: Select, table: Table, operation: str) -> Item:
    """The key of the single item that a SELECT must name in a batch or transaction.

    IN with a list of one value counts as an equality. Raises ValidationException if the SELECT does
    not name a single item.
    """
    check_index_keys(select, table)
    select.check_columns()
    if select.index_name is None and select.where is not None:
        key = partiql_keys.one_key(select.where, table.key)
        if key and key[1] is None:
            return key[0]
        range_name = table.range[0] if table.range else None
        plan = partiql_keys.plan(select.where, table.hash[0], range_name, table.types)
        queries = plan.queries or []
        check_disjoint(table, queries)
        if len(queries) == 1 and plan.filter is None:
            values = [*queries[0].hash_values, *queries[0].range_equals]
            if len(values) == len(table.key):
                return dict(zip(table.key, values, strict=True))
    raise ValidationException(
        f"Select statements within {operation} must specify the primary key in the where clause."
    )


def check_disjoint(source: TableOrIndex, queries: Sequence[KeyQuery]) -> None:
    """Raises ValidationException if the ranges of two queries overlap."""
    every = [ranges.of_query(source, query) for query in queries]
    spans = sorted(
        (bounds.start, end)
        for bounds in every
        if bounds.start < (end := _AFTER_ALL if bounds.end is None else bounds.end)
    )
    if any(following < end for (_, end), (following, _) in pairwise(spans)):
        raise ValidationException(
            "Overlapping conditions with range keys are not supported in where clause"
        )


def row_key(table: Table, key: Item) -> RowKey:
    """The row key for a key that `single_key` has returned. Raises ValidationException if the key
    does not fit the table."""
    partiql_keys.check_key(key, table.key, table.types)
    keys.check_none_empty(table, key)
    return keys.of_key(table, key)


def check_index_keys(select: Select, table: Table) -> None:
    """Raises ValidationException if the SELECT reads an index with a multi-attribute key."""
    index = table.index(select.index_name) if select.index_name else None
    if index and (len(index.hash) > 1 or len(index.range) > 1):
        raise ValidationException(_MULTIPLE_KEYS)
