"""PartiQL: text -> tokens -> terms -> bound statement.

    statement = bind(parse(text), parameters)

`parse` returns what depends on the text alone. `bind` returns a statement whose conditions and
updates are trees like those of expressions. Both raise ValidationException.
"""

from hashrange.expressions.partiql.parser import EXISTS_MISPLACED, parse
from hashrange.expressions.partiql.statements import (
    MANDATORY_KEY,
    Columns,
    Delete,
    Exists,
    Insert,
    Select,
    Statement,
    Update,
    Write,
    bind,
)
from hashrange.expressions.partiql.tree import Order, Returning

__all__ = [
    "EXISTS_MISPLACED",
    "MANDATORY_KEY",
    "Columns",
    "Delete",
    "Exists",
    "Insert",
    "Order",
    "Returning",
    "Select",
    "Statement",
    "Update",
    "Write",
    "bind",
    "parse",
]
