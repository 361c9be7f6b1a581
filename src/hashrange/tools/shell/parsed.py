"""Statements as hashrange's own parser reads them, including statements for other servers.

A server may accept statements that this parser cannot read, so no function refuses a statement.
"""

from hashrange.expressions import partiql
from hashrange.expressions.partiql import tree
from hashrange.expressions.partiql.binding import path_of
from hashrange.expressions.partiql.statements import Columns
from hashrange.model.errors import ApiError


def parsed(statement: str) -> tree.Statement | None:
    """The syntax tree of a statement, or None if the statement cannot be parsed."""
    try:
        return partiql.parse(statement)
    except ApiError:
        return None


def source_of(statement: str) -> tuple[str, str | None]:
    """The table and the index that a statement names; ("", None) if it cannot be parsed."""
    parse = parsed(statement)
    if parse is None:
        return "", None
    source = parse.select.source if isinstance(parse, tree.Exists) else parse.source
    return source[0], source[1] if len(source) > 1 else None


def columns_of(statement: str) -> list[str] | None:
    """The names of the columns of a SELECT; None if it selects all attributes, or cannot be
    parsed."""
    parse = parsed(statement)
    if not isinstance(parse, tree.Select) or parse.columns is None:
        return None
    try:
        return list(Columns([path_of(column) for column in parse.columns]).names)
    except ApiError:
        return None
