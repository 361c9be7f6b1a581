"""Checks the attributes that a write gives to an item, for the table's vector indexes.

A write is refused if a vector, a HASH attribute or a filter attribute has an unsuitable value. An
absent attribute is no error, but an item without a vector or a HASH attribute is not indexed. For
an update, only changed attributes are checked. The messages were captured on the service in August
2026.
"""

from collections.abc import Container
from operator import attrgetter

from hashrange.engine.keyspace.keys import length_bytes
from hashrange.model import floats
from hashrange.model.errors import ValidationException
from hashrange.model.limits import PARTITION_KEY_BYTES_MAX, SEARCH_FILTER_BYTES_MAX
from hashrange.model.numbers import to_decimal
from hashrange.model.tables import Table, VectorIndex
from hashrange.model.values import AttributeValue, Item

INVALID = "One or more parameter values were invalid"
_NOT_VALID = "One or more parameter values are not valid. "
_EMPTY = {
    "S": "The AttributeValue for a key attribute cannot contain an empty string value.",
    "B": "The AttributeValue for a key attribute cannot contain an empty binary value.",
}


def check(table: Table, item: Item, touched: Container[str]) -> None:
    """Raises ValidationException if a `touched` attribute does not fit a vector index."""
    for index in sorted(table.vector_indexes, key=attrgetter("name")):
        if index.attribute in touched and index.attribute in item:
            _check_vector(index, item[index.attribute])
        for name in (*index.hash, *index.filters):
            if name in touched and name in item:
                _check_scalar(table, index, name, item[name])


def _check_vector(index: VectorIndex, value: AttributeValue) -> None:
    name, [(kind, elements)] = index.attribute, value.items()
    if kind != "L":
        raise _refused(index, f"Invalid type for parameter {name}, Expected: L, Actual: {kind}")
    if len(elements) != index.dimensions:
        raise _refused(
            index,
            f"Invalid size for parameter {name}, Expected: {index.dimensions}, "
            f"Actual: {len(elements)}",
        )
    numbers = floats.numbers_of(value)
    if numbers is None:
        at, actual = next((at, *each) for at, each in enumerate(elements) if "N" not in each)
        raise ValidationException(
            f"{INVALID}. Invalid type for parameter {name}[{at}], Expected: 32-bit floating point "
            f"number, Actual: {actual}. IndexName: {index.name}"
        )
    if not floats.fits(numbers):
        at = next(at for at, number in enumerate(numbers) if not floats.fits([number]))
        written = to_decimal(elements[at]["N"]).normalize()
        raise _refused(
            index,
            f"Invalid value for parameter {name}[{at}], Value: {written} is outside valid range "
            "[-3.4028235E38, 3.4028235E38]",
        )


def _check_scalar(table: Table, index: VectorIndex, name: str, value: AttributeValue) -> None:
    """Raises ValidationException if the value of a HASH attribute or a filter is not allowed."""
    [(kind, content)] = value.items()
    if kind != table.types[name]:
        raise ValidationException(
            f"{INVALID}. Attribute '{name}' type mismatch. Expected: {table.types[name]}, "
            f"Actual: {kind}. IndexName: {index.name}"
        )
    if name not in index.hash:
        if length_bytes(value) > SEARCH_FILTER_BYTES_MAX:
            raise ValidationException(
                f"{INVALID}: Size of filter attribute {name} has exceeded the maximum size limit "
                f"of {SEARCH_FILTER_BYTES_MAX} bytes. IndexName: {index.name}"
            )
    elif not content:
        raise ValidationException(
            f"{_NOT_VALID}A value specified for a secondary index key is not supported. "
            f"{_EMPTY[kind]} IndexName: {index.name}, IndexKey: {name}"
        )
    elif length_bytes(value) > PARTITION_KEY_BYTES_MAX:
        raise ValidationException(
            f"{INVALID}: Size of hashkey has exceeded the maximum size limit "
            f"of{PARTITION_KEY_BYTES_MAX} bytes"
        )


def _refused(index: VectorIndex, fault: str) -> ValidationException:
    return ValidationException(f"{_NOT_VALID}{INVALID} . {fault}. IndexName: {index.name}")
