"""The shapes of all requests, read when first needed from the file of
`scripts/generate_shapes.py`."""

import re
from functools import cache, cached_property
from pkgutil import get_data
from typing import Literal

import msgspec

from hashrange.decoders import decoder

Kind = Literal[
    "structure",
    "list",
    "map",
    "string",
    "blob",
    "boolean",
    "integer",
    "long",
    "double",
    "timestamp",
]


class Shape(msgspec.Struct, dict=True):
    """A shape of the service model with its constraints.

    It refers to its parts by their names: `members` of a structure, `member` of a list, `key` and
    `value` of a map. `min` and `max` bound the length; for a number, the value.
    """

    kind: Kind = msgspec.field(name="type")
    required: frozenset[str] = frozenset()
    members: dict[str, str] = {}
    member: str = ""
    key: str = ""
    value: str = ""
    enum: tuple[str, ...] = ()
    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    python_pattern: str | None = None

    @cached_property
    def matcher(self) -> re.Pattern[str] | None:
        """The pattern, compiled so that it must match a whole text."""
        if self.pattern is None:
            return None
        return re.compile(self.python_pattern or self.pattern, re.ASCII)

    @cached_property
    def is_bounded(self) -> bool:
        """Whether there is a constraint on content of this shape itself, not only on its parts."""
        return bool(self.enum or self.pattern) or self.min is not None or self.max is not None


class Tables(msgspec.Struct):
    """The whole data file: the name of each operation's request shape, and every shape by name."""

    source: str
    operations: dict[str, str]
    shapes: dict[str, Shape]


@cache
def tables() -> Tables:
    text = get_data("hashrange.model.validation", "shapes.json") or b""
    return decoder(Tables).decode(text)


def of(name: str) -> Shape:
    """The shape of this name."""
    return tables().shapes[name]


def of_request(operation: str) -> str:
    """The name of the shape of an operation's request. Every operation of the API has one."""
    return tables().operations[operation]
