"""The bounds of rows for each kind of condition: start <= key < end; `end` None: to the last row.

`prefix` is the digest of the partition key and the components of the sort attributes that are
tested for equality. `value`, `low` and `high` are values of the next sort attribute.
"""

from msgspec import Struct

from hashrange.engine.keyspace.keys import component, prefix_component
from hashrange.model.values import AttributeValue


class Bounds(Struct, gc=False):
    start: bytes
    end: bytes | None


def after(prefix: bytes) -> bytes | None:
    """The first key after all keys that start with `prefix`; None if there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def everything(prefix: bytes) -> Bounds:
    return Bounds(prefix, after(prefix))


def equal(prefix: bytes, value: AttributeValue) -> Bounds:
    return everything(prefix + component(value))


def less(prefix: bytes, value: AttributeValue) -> Bounds:
    return Bounds(prefix, prefix + component(value))


def less_or_equal(prefix: bytes, value: AttributeValue) -> Bounds:
    return Bounds(prefix, after(prefix + component(value)))


def greater(prefix: bytes, value: AttributeValue) -> Bounds:
    start = after(prefix + component(value))
    assert start, "a component must not consist of FF bytes alone"
    return Bounds(start, after(prefix))


def greater_or_equal(prefix: bytes, value: AttributeValue) -> Bounds:
    return Bounds(prefix + component(value), after(prefix))


def between(prefix: bytes, low: AttributeValue, high: AttributeValue) -> Bounds:
    return Bounds(prefix + component(low), after(prefix + component(high)))


def begins_with(prefix: bytes, value: AttributeValue) -> Bounds:
    return everything(prefix + prefix_component(value))


SORT_BOUNDS = {
    "<": less,
    "<=": less_or_equal,
    ">": greater,
    ">=": greater_or_equal,
    "BETWEEN": between,
    "begins_with": begins_with,
}


def segment(number: int, total: int) -> Bounds:
    """The range of digests that is segment `number` of the `total` segments of a parallel Scan."""
    step = 1 << 64
    start, end = number * step // total, (number + 1) * step // total
    return Bounds(
        start.to_bytes(8, "big") if number else b"",
        end.to_bytes(8, "big") if number + 1 < total else None,
    )


def resume(bounds: Bounds, key: bytes, reverse: bool) -> Bounds:
    """The bounds that remain after the row at `key` has been read."""
    if reverse:
        return Bounds(bounds.start, key if bounds.end is None else min(key, bounds.end))
    return Bounds(max(key + b"\x00", bounds.start), bounds.end)


def holds(bounds: Bounds, key: bytes) -> bool:
    return bounds.start <= key and (bounds.end is None or key < bounds.end)
