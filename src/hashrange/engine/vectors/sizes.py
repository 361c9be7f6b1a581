"""The size of an item as its table stores it: an indexed vector has four bytes per dimension.

Writes and TableSizeBytes use this size. For reads, and for the limit of 400 KB, a vector has the
size of a list of numbers. Seen on the service in October 2026.
"""

from collections.abc import Iterator

from hashrange.model import floats
from hashrange.model.tables import FormerVectors, Table
from hashrange.model.values import Item, text_size, value_size


def stored_size(table: Table, item: Item, key: bytes | None = None) -> int:
    """The size in bytes of an item, or of the attributes of its index entry.

    `key` is the key of the item's row. An index that is being built affects the size only if the
    build has passed this row. Without a key, every index affects the size.
    """
    size = sum(text_size(name) + value_size(value) for name, value in item.items())
    counted: dict[str, int] = {}
    for vectors in _all_vectors(table):
        reached = key is None or vectors.built_to is None or key < vectors.built_to
        if reached and _has_entry(vectors, item):
            counted[vectors.attribute] = vectors.dimensions
    for name, dimensions in counted.items():
        size += floats.BYTES * dimensions - value_size(item[name])
    return size


def former(table: Table, name: str) -> tuple[FormerVectors, ...]:
    """The deleted vector indexes that still affect sizes after the index `name` is deleted too."""
    left = [each for index, each in _of_indexes(table) if index == name]
    return tuple(dict.fromkeys((*table.former_vectors, *left)))


def _of_indexes(table: Table) -> Iterator[tuple[str, FormerVectors]]:
    for index in table.vector_indexes:
        types = tuple((each, table.types[each]) for each in index.hash)
        built_to = index.built_to if index.building else None
        yield (
            index.name,
            FormerVectors(
                attribute=index.attribute,
                dimensions=index.dimensions,
                hash=types,
                built_to=built_to,
            ),
        )


def _all_vectors(table: Table) -> Iterator[FormerVectors]:
    yield from table.former_vectors
    for _, each in _of_indexes(table):
        yield each


def _has_entry(vectors: FormerVectors, item: Item) -> bool:
    """Whether the item has an entry in the vector index that `vectors` describes.

    If the index was deleted: whether the item had an entry.
    """
    elements = item.get(vectors.attribute, {}).get("L", ())
    return len(elements) == vectors.dimensions and all(
        item.get(name, {}).get(kind) for name, kind in vectors.hash
    )
