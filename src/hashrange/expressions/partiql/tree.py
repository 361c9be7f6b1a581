"""Parsed PartiQL: terms with their places in the text, and statements made of them.

Binding (`binding.py`) turns terms into trees like those of expressions.
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
    "star",  # also a path that ends in one
]


class Term(NamedTuple):
    """A term of a statement. Its `kind` determines what `content` and `terms` are.

    `at` is the token whose place messages give.
    """

    kind: Kind
    content: Any
    terms: "tuple[Term, ...]"
    at: Token


Source: TypeAlias = tuple[str, ...]
"""The name of a table, and of an index if there is one."""


class Order(NamedTuple):
    """One term of ORDER BY."""

    name: str
    descending: bool


class Returning(NamedTuple):
    """The clause RETURNING `which` (ALL, MODIFIED) `image` (OLD, NEW) *."""

    which: str
    image: str


class Select(NamedTuple):
    """A parsed SELECT. `columns` is None for all attributes."""

    source: Source
    columns: tuple[Term, ...] | None
    where: Term | None
    order: tuple[Order, ...]


class Insert(NamedTuple):
    source: Source
    value: Term


class Assignment(NamedTuple):
    """SET `target` = `value`, or REMOVE `target` if `value` is None."""

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
