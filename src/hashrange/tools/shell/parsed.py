"""Statements, also those for other servers, as hashrange's own parser reads them.

A server may accept what this parser does not, so nothing here refuses a statement.
"""

from hashrange.expressions import partiql
from hashrange.expressions.partiql import tree
from hashrange.expressions.partiql.binding import path_of
from hashrange.expressions.partiql.statements import Columns
from hashrange.model.errors import ApiError


def parsed(statement: str) -> tree.Statement | None:
    """The tree of a statement, None if it cannot be read."""
    try:
        return partiql.parse(statement)
    except ApiError:
        return None


def source_of(statement: str) -> tuple[str, str | None]:
    """The table and the index of a statement; ("", None) if they cannot be told."""
    found = parsed(statement)
    if found is None:
        return "", None
    source = found.select.source if isinstance(found, tree.Exists) else found.source
    return source[0], source[1] if len(source) > 1 else None


def columns_of(statement: str) -> list[str] | None:
    """The names of the columns of a SELECT, None for all attributes."""
    found = parsed(statement)
    if not isinstance(found, tree.Select) or found.columns is None:
        return None
    try:
        return list(Columns([path_of(column) for column in found.columns]).names)
    except ApiError:
        return None
