"""PartiQL as it is written: terms with their places, and statements made of them.

Binding (`partiql_binding.py`) makes of terms the tree that expressions have as well.
"""

from typing import Any, Literal, NamedTuple, TypeAlias

from hashrange.expressions.partiql.tokens import Token

Kind = Literal[
    "path",  # content: its parts
    "literal",  # content: a value as written, {"S": ...}, {"N": ...}, {"BOOL": ...}, {"NULL": ...}
    "missing",
    "parameter",  # content: its number, from 0
    "list",
    "set",
    "struct",  # terms: name, value, name, value ...
    "call",  # content: the function's name in small letters
    "operator",  # content: a symbol, or a word in capitals
    "is",  # content: the name of a type in capitals
    "star",
]


class Term(NamedTuple):
    """`at` is the token that messages point to."""

    kind: Kind
    content: Any
    terms: "tuple[Term, ...]"
    at: Token


Source: TypeAlias = tuple[str, ...]
"""A table's name, and perhaps an index's."""


class Order(NamedTuple):
    """One member of ORDER BY."""

    name: str
    descending: bool


class Returning(NamedTuple):
    """RETURNING `which` (ALL, MODIFIED) `image` (OLD, NEW) *."""

    which: str
    image: str


class Select(NamedTuple):
    """`columns` None: all attributes."""

    source: Source
    columns: tuple[Term, ...] | None
    where: Term | None
    order: tuple[Order, ...]


class Insert(NamedTuple):
    source: Source
    value: Term


class Assignment(NamedTuple):
    """SET `target` = `value`; without a value REMOVE `target`."""

    target: Term
    value: Term | None


class Update(NamedTuple):
    source: Source
    assignments: tuple[Assignment, ...]
    where: Term | None
    returning: Returning | None


class Delete(NamedTuple):
    source: Source
    where: Term | None
    returning: Returning | None


class Exists(NamedTuple):
    select: Select


Statement: TypeAlias = Select | Insert | Update | Delete | Exists
