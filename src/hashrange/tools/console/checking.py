"""Finds the reasons why the service would refuse an item, before the item is sent."""

from hashrange.model import limits, values
from hashrange.model.errors import ApiError
from hashrange.tools.console.shapes import Item, Source, TableShape
from hashrange.tools.console.values import TYPES, Value, plain

KEY_BYTES_MAX = (limits.PARTITION_KEY_BYTES_MAX, limits.SORT_KEY_BYTES_MAX)
WHOLE = ""
"""The key for a fault of the whole item. Other keys are names of attributes."""


def faults_of(shape: TableShape, item: Item) -> dict[str, str]:
    """The faults of an item by attribute. Each fault is a sentence that begins with the attribute's
    name."""
    faults: dict[str, str] = {}
    size = 0
    for name, value in item.items():
        try:
            size += len(name.encode()) + values.normalize(plain(value))
        except ApiError as error:
            faults[name] = f"{name}: {error.message}"
        except UnicodeEncodeError:
            faults[name] = f"{name}: half of a surrogate pair is not a character"
    for source in shape.sources:
        faults |= _of_keys(shape, source, item)
    if size > limits.ITEM_BYTES_MAX:
        faults.setdefault(WHOLE, f"An item has at most 400 KB; this one has {size:,} bytes")
    return faults


def _of_keys(shape: TableShape, source: Source, item: Item) -> dict[str, str]:
    """Faults of the key attributes of a table or an index. Key attributes of an index may be
    missing."""
    faults = {}
    of = f"of the index {source.name}" if source.name else "of the table"
    for name, most in zip(source.keys, KEY_BYTES_MAX, strict=False):
        if name in item:
            if fault := _of_key(item[name], shape.types[name], most):
                faults[name] = f"{name}: is a key {of}, and {fault}"
        elif not source.name:
            faults[name] = f"{name}: is a key {of}, and must be present"
    return faults


def _of_key(value: Value, kind: str, most: int) -> str:
    if kind not in value:
        return f"must be a {TYPES[kind].lower()}"
    content = value[kind]
    if kind != "N" and not content:
        return "must not be empty"
    size = len(content.encode(errors="replace") if kind == "S" else content)
    return f"has at most {most:,} bytes, not {size:,}" if size > most else ""
