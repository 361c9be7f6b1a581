"""Checks keys of requests against a table's schema, with DynamoDB's messages."""

from collections.abc import Container, Iterable, Mapping, Set

from hashrange.engine.keyspace.keys import RowKey, length_bytes, table_key
from hashrange.engine.vectors import written
from hashrange.model.errors import ValidationException
from hashrange.model.limits import (
    GLOBAL_KEY_ATTRIBUTES_MAX,
    PARTITION_KEY_BYTES_MAX,
    SORT_KEY_BYTES_MAX,
)
from hashrange.model.tables import Index, Table
from hashrange.model.values import AttributeValue, Item

INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
NO_MATCH = "The provided key element does not match the schema"
HASH_TOO_LONG = (
    f"{INVALID}Size of hashkey has exceeded the maximum size limit "
    f"of{PARTITION_KEY_BYTES_MAX} bytes"
)
RANGE_TOO_LONG = (
    f"{INVALID}Aggregated size of all range keys has exceeded the size limit of "
    f"{SORT_KEY_BYTES_MAX} bytes"
)
_UPDATED = "The update expression attempted to update "
UPDATED_TO_WRONG_TYPE = f"{_UPDATED}the secondary index key to unsupported type"
UPDATED_TOO_LONG = f"{_UPDATED}the secondary index key beyond allowed size limits"
_KINDS = {"S": "string", "B": "binary"}
_SHORT = SORT_KEY_BYTES_MAX // GLOBAL_KEY_ATTRIBUTES_MAX // 4
"""A value in an index key is short if it has at most this many characters. A key with only short
values cannot be too long in bytes."""


def invalid_parameter(fault: str) -> ValidationException:
    """The error for an invalid parameter. `fault` is the rest of the message."""
    return ValidationException(INVALID + fault)


def is_key_value(type_: str, value: AttributeValue) -> bool:
    return bool(value.get(type_))


def check_not_empty(name: str, value: AttributeValue) -> None:
    if _is_empty(value):
        raise ValidationException(f"{NOT_VALID}{_not_empty(value)} Key: {name}")


def _is_empty(value: AttributeValue) -> bool:
    return "" in value.values()


def _not_empty(value: AttributeValue) -> str:
    [type_] = value
    kind = _KINDS[type_]
    return f"The AttributeValue for a key attribute cannot contain an empty {kind} value."


def _checked(table: Table, key: Item) -> RowKey:
    """The row key of a key with all key attributes, of the right types. Checks their lengths."""
    row_key = table_key(table, key)
    if len(row_key.raw) > SORT_KEY_BYTES_MAX:  # otherwise neither part can be too long
        _check_lengths(table, key)
    return row_key


def _check_lengths(table: Table, key: Item) -> None:
    if length_bytes(key[table.hash[0]]) > PARTITION_KEY_BYTES_MAX:
        raise ValidationException(HASH_TOO_LONG)
    if table.range and length_bytes(key[table.range[0]]) > SORT_KEY_BYTES_MAX:
        raise ValidationException(RANGE_TOO_LONG)


def of_key(table: Table, key: Item) -> RowKey:
    """The row key of a `Key` parameter, which must have exactly the table's key attributes.

    Empty values must have been refused already.
    """
    names = table.key
    if len(key) != len(names):
        raise ValidationException(NO_MATCH)
    types = table.types
    for name in names:
        if name not in key or types[name] not in key[name]:
            raise ValidationException(NO_MATCH)
    return _checked(table, key)


def check_scalar(table: Table, containers: Set[str]) -> None:
    """Raises ValidationException if a key attribute is among the `containers`.

    These are the attributes that an expression looks into, as in `a.b` or `a[0]`.
    """
    names = [("Key", name) for name in table.key]
    names += [("IndexKey", name) for index in table.indexes for name in index.key]
    for kind, name in names:
        if name in containers:
            raise ValidationException(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
                f"not allowed: {kind}: {name}"
            )


def check_none_empty(table: Table, item: Item) -> None:
    """Raises ValidationException if a key attribute of an item to be put is empty.

    Key attributes of the table's indexes are checked too.
    """
    for name in table.key:
        if name in item:
            check_not_empty(name, item[name])
    for index in table.sorted_indexes:
        for name in index.key:
            if name in item:
                _check_put_not_empty(index, name, item[name])


def check_none_emptied(table: Table, literals: Iterable[tuple[str, AttributeValue]]) -> None:
    """Raises ValidationException if an update gives an index's key attribute an empty value.

    `literals` has the attributes whose new values are literals of the update, with these values.
    """
    for name, value in literals:
        if name in table.index_keys:
            _check_updated_not_empty(value)


def check_present(table: Table, item: Item) -> None:
    """Raises ValidationException unless an item has all key attributes, of the right types.

    BatchWriteItem makes this check before the other checks of a key.
    """
    for name in table.key:
        if name not in item or table.types[name] not in item[name]:
            raise ValidationException(NO_MATCH)


def of_item(table: Table, item: Item) -> RowKey:
    """The row key of an item to be put. Also checks the key attributes of indexes."""
    for name in table.key:
        value = item.get(name)
        if value is None:
            raise ValidationException(f"{INVALID}Missing the key {name} in the item")
        if not value.get(table.types[name]):
            _check_key_type(table, name, value)
            check_not_empty(name, value)
    row_key = _checked(table, item)
    if table.indexes:
        check_index_keys(table, item, item)
    if table.vector_indexes:
        written.check(table, item, item)
    return row_key


def _check_key_type(table: Table, name: str, value: AttributeValue) -> None:
    [type_] = value
    if type_ != table.types[name]:
        raise ValidationException(
            f"{INVALID}Type mismatch for key {name} expected: {table.types[name]} actual: {type_}"
        )


def check_index_types(table: Table, types: Mapping[str, str]) -> None:
    """Raises ValidationException if an update gives an index's key attribute a wrong type.

    `types` are the types of new values, as far as they are known before the update is evaluated.
    """
    for index in table.sorted_indexes:
        for name in index.key:
            if name in types and types[name] != table.types[name]:
                raise index_type_mismatch(table, index, name, types[name])


def check_index_keys(
    table: Table,
    item: Item,
    touched: Container[str],
    computed: Container[str] = (),
) -> None:
    """Raises ValidationException if an attribute of an item has a value that no index key may have.

    Only the `touched` attributes are checked. The messages for attributes that an update expression
    has `computed` are different.
    """
    types = table.types
    for index in table.sorted_indexes:
        short = True
        for name in index.key:
            if name not in touched or name not in item:
                continue
            text = item[name].get(types[name])
            short = short and text is not None and len(text) <= _SHORT
            if not text and name not in table.key:
                if name in computed:
                    _check_computed(table, name, item[name])
                else:
                    _check_index_key(table, index, name, item[name])
        if not short:
            _check_index_lengths(index, item, touched, computed)


def index_type_mismatch(table: Table, index: Index, name: str, type_: str) -> ValidationException:
    """The error for an attribute whose type is not that of the index key."""
    return ValidationException(
        f"{INVALID}Type mismatch for Index Key {name} "
        f"Expected: {table.types[name]} Actual: {type_} IndexName: {index.name}"
    )


def _check_index_key(table: Table, index: Index, name: str, value: AttributeValue) -> None:
    [type_] = value
    if type_ != table.types[name]:
        raise index_type_mismatch(table, index, name, type_)
    _check_put_not_empty(index, name, value)


def _check_computed(table: Table, name: str, value: AttributeValue) -> None:
    if table.types[name] not in value:
        raise ValidationException(UPDATED_TO_WRONG_TYPE)
    _check_updated_not_empty(value)


def _check_put_not_empty(index: Index, name: str, value: AttributeValue) -> None:
    if _is_empty(value):
        raise ValidationException(
            f"{NOT_VALID}A value specified for a secondary index key is not supported. "
            f"{_not_empty(value)} IndexName: {index.name}, IndexKey: {name}"
        )


def _check_updated_not_empty(value: AttributeValue) -> None:
    if _is_empty(value):
        raise ValidationException(
            f"{NOT_VALID}{_UPDATED}a secondary index key to a value that is not supported. "
            f"{_not_empty(value)}"
        )


def _check_index_lengths(
    index: Index, item: Item, touched: Container[str], computed: Container[str]
) -> None:
    for name in index.hash:
        if name in touched and name in item and length_bytes(item[name]) > PARTITION_KEY_BYTES_MAX:
            raise ValidationException(UPDATED_TOO_LONG if name in computed else HASH_TOO_LONG)
    if any(name in touched for name in index.range):
        total = sum(length_bytes(item[name]) for name in index.range if name in item)
        if total > SORT_KEY_BYTES_MAX:
            is_computed = any(name in computed for name in index.range)
            raise ValidationException(UPDATED_TOO_LONG if is_computed else RANGE_TOO_LONG)
