"""Shapes of items: the shapes that a class reads, and the fields that differ in old items.

An item stores its shape if the shape is above 1. It may also store the lowest shape of a program
that may read the item.
"""

import inspect
from collections.abc import Collection, Iterator
from functools import cached_property
from types import CodeType
from typing import Any

from hashrange.design.declare.item import Item, upgrades
from hashrange.design.declare.types import single_line
from hashrange.design.errors import BadValue, ItemError
from hashrange.model.values import Item as WireItem

SHAPE_ATTRIBUTE = "entityShape"
"""The attribute that holds an item's shape, written by entities with `shape` above 1."""
READABLE_ATTRIBUTE = "entityReadableBy"
"""The attribute with the lowest shape that a program needs in order to read the item.

If it is absent, a program needs at least the item's own shape.
"""


class Shapes:
    """The shapes of one entity's items."""

    def __init__(self, model: type[Item]) -> None:
        self.model = model
        self.shape = model.entity_shape
        self.upgrades = upgrades(model)

    @cached_property
    def constants(self) -> WireItem:
        """The attributes that store the shape in each written item; none for shape 1."""
        if self.shape == 1:
            return {}
        attributes: WireItem = {SHAPE_ATTRIBUTE: {"N": str(self.shape)}}
        if self.model.entity_readable_by < self.shape:
            attributes[READABLE_ATTRIBUTE] = {"N": str(self.model.entity_readable_by)}
        return attributes

    @cached_property
    def unlike(self) -> frozenset[str]:
        """The fields that stored items of older shapes may have in another form.

        These are the fields that an upgrade names, or all fields if the upgrade names none.
        Upgrades from shapes below `backfilled` are ignored, because no such items are left.
        """
        fields = self.model.model_fields
        changed: set[str] = set()
        for version in range(self.model.entity_backfilled, self.shape):
            texts = frozenset(texts_of(self.upgrades[version]))
            named = {n for n, info in fields.items() if {n, info.alias, info.serialization_alias}
                     & texts}  # fmt: skip
            changed |= named or fields.keys()
        return frozenset(changed)

    def fault(self, fields: Collection[str]) -> str | None:
        """Why no pattern or condition can use one of the fields; None if all fields can be used."""
        for name in sorted(self.unlike.intersection(fields)):
            return (
                f"items of older shapes have {name} in another form, so they would not be found: "
                f"write these items again, then declare shape={self.shape}, "
                f"backfilled={self.shape}"
            )
        return None

    def upgraded(self, raw: WireItem, values: dict[str, Any], key: WireItem) -> dict[str, Any]:
        """The values of an older item in the present shape.

        Raises ItemError for an item that a newer program wrote for newer programs only.
        """
        shape = shape_of(raw)
        if shape > self.shape:
            readable_by = int(raw.get(READABLE_ATTRIBUTE, {}).get("N", shape))
            if readable_by > self.shape:
                raise ItemError(
                    f"{self.model.__name__} ({single_line(key)}): the item has shape {shape}, and "
                    f"this program reads shapes up to {self.shape}: deploy the newer class here. "
                    f"If this program must read items that are written from now on, declare "
                    f"shape={shape}, readable_by={self.shape} in the newer class",
                    key,
                )
        for version in range(shape, self.shape):
            change = self.upgrades.get(version)
            if change is None:
                raise ItemError(
                    f"{self.model.__name__} ({single_line(key)}): the item has shape {shape}, "
                    "although `backfilled` says that no such item is left: write the item again "
                    "with the class that has the upgrade",
                    key,
                )
            values = change(values)
        return values

    def expect_known(self, raw: WireItem) -> None:
        """Raise BadValue if a newer program wrote the item: writing it back would lose data."""
        if shape_of(raw) > self.shape:
            raise BadValue(
                f"{self.model.__name__}: the item has shape {shape_of(raw)}, and this program "
                f"knows shapes up to {self.shape}: writing it back would lose what the newer "
                "program added"
            )


def shape_of(raw: WireItem) -> int:
    return int(raw.get(SHAPE_ATTRIBUTE, {}).get("N", "1"))


def texts_of(function: Any) -> Iterator[str]:
    """The strings in the code of a function and of the functions that it calls."""
    seen: set[CodeType] = set()
    waiting = [inspect.unwrap(function)]
    while waiting:
        one = waiting.pop()
        code = getattr(one, "__code__", None)
        if code is None or code in seen:
            continue
        for inner in _nested(code):
            seen.add(inner)
            yield from _texts(inner.co_consts)
            waiting += [one.__globals__[n] for n in inner.co_names if n in one.__globals__]
        waiting += [cell.cell_contents for cell in one.__closure__ or ()]


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _texts(constants: Any) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, (tuple, frozenset)):
            yield from _texts(constant)
