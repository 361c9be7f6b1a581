"""Limits how much of a Parquet file is in memory at once. A small file can hold huge values."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hashrange.formats.items import ITEM_JSON_BYTES_MAX
from hashrange.model.limits import ITEM_BYTES_MAX

_READ_ROWS = 1_000
_READ_BYTES = 16 * 1024 * 1024
_REPEATING_ROWS = 8
"""The largest number of rows that are read at once if a column has a large dictionary. A few bytes
of the file may then become a large text in each row."""


def opened(arrow: Any, path: Path) -> Any:
    """Open a file. Dictionaries of strings stay dictionaries if they are small enough: if they were
    expanded, a long string that a column repeats would be copied for each row."""
    with arrow.parquet.ParquetFile(path, pre_buffer=False) as file:
        kept = {
            chunk.path_in_schema
            for chunk in _chunks(file.metadata)
            if _repeats(chunk) and chunk.total_uncompressed_size <= _READ_BYTES
        }
    return arrow.parquet.ParquetFile(path, pre_buffer=False, read_dictionary=sorted(kept))


def _chunks(metadata: Any) -> Iterator[Any]:
    for at in range(metadata.num_row_groups):
        group = metadata.row_group(at)
        yield from (group.column(number) for number in range(group.num_columns))


def _repeats(chunk: Any) -> bool:
    """Whether a column chunk has a dictionary, so that its values may be larger in memory than in
    the file."""
    return bool(chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page)


def rows_at_once(metadata: Any, ours: bool) -> int:
    """The number of rows to read at once. It is smaller for large rows, to limit the memory.

    `ours` says that hashrange wrote the file, so that its maps are JSON. Raises ValueError if rows
    are larger than an item can be, because pyarrow would decompress whole pages of them.
    """
    size_max = ITEM_JSON_BYTES_MAX if ours else 2 * ITEM_BYTES_MAX
    widest = 1
    for at in range(metadata.num_row_groups):
        group = metadata.row_group(at)
        columns = [group.column(number) for number in range(group.num_columns)]
        # In a run of equal values, each takes almost no bytes in the file, but about eight in
        # memory.
        mean = sum(each.total_uncompressed_size for each in columns) // max(group.num_rows, 1)
        if mean > size_max:
            raise ValueError(f"its rows have {mean:,} bytes on average, more than an item can have")
        size = sum(max(each.total_uncompressed_size, 8 * each.num_values) for each in columns)
        widest = max(widest, size // max(group.num_rows, 1))
    if any(
        _repeats(chunk) and chunk.total_uncompressed_size > _READ_BYTES
        for chunk in _chunks(metadata)
    ):
        widest = max(widest, _READ_BYTES // _REPEATING_ROWS)
    return max(1, min(_READ_ROWS, _READ_BYTES // widest))


def pieces(arrow: Any, batch: Any) -> Iterator[Any]:
    """The batch in pieces that are small even with expanded dictionaries.

    Raises ValueError if a row is larger than an item can be.
    """
    size = sum(_bytes(arrow, column) for column in batch.columns)
    if size <= _READ_BYTES:
        yield batch
    elif batch.num_rows == 1:
        if size > ITEM_JSON_BYTES_MAX:
            raise ValueError(f"a row has {size:,} bytes, more than an item can have")
        yield batch
    else:
        half = batch.num_rows // 2
        yield from pieces(arrow, batch.slice(0, half))
        yield from pieces(arrow, batch.slice(half))


def _bytes(arrow: Any, array: Any) -> int:
    """The size in bytes of the values of an array. A dictionary's value counts each time it
    occurs."""
    kind = array.type
    if arrow.types.is_dictionary(kind):
        import pyarrow.compute as compute

        lengths = compute.binary_length(array.dictionary)
        return int(compute.sum(lengths.take(array.indices)).as_py() or 0)
    if arrow.types.is_struct(kind):
        return sum(_bytes(arrow, array.field(at)) for at in range(kind.num_fields))
    if arrow.types.is_map(kind):
        return _bytes(arrow, array.keys) + _bytes(arrow, array.items)
    if arrow.types.is_nested(kind):
        return _bytes(arrow, array.flatten())
    return int(array.nbytes)
