"""PartiQL: text -> tokens -> terms -> bound statement.

    statement = bind(parse(text), parameters)

The result of `parse` does not depend on the parameters. `bind` returns a statement whose conditions
and updates are bound trees, as for expressions. Both functions raise ValidationException.
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
