"""The values that a field can have, if the declarations list them."""

from enum import Enum
from typing import Any, Literal, get_args, get_origin

from hashrange.design.declare.types import FieldType

KNOWN_MAX = 100
"""The largest number of values of one argument. Each value can need a query of its own."""


def known_values(kind: FieldType) -> tuple[Any, ...]:
    """The members of an enum, the choices of a literal, or the numbers between two bounds.

    The result is empty for any other field, and for bounds that are far apart.
    """
    python = kind.python
    if get_origin(python) is Literal:
        return get_args(python)
    if isinstance(python, type) and issubclass(python, Enum):
        return tuple(python)
    lows = [int(bound) + (sign == ">") for sign, bound in kind.bounds if sign in (">=", ">")]
    highs = [int(bound) - (sign == "<") for sign, bound in kind.bounds if sign in ("<=", "<")]
    if python is not int or not lows or not highs or min(highs) - max(lows) >= KNOWN_MAX:
        return ()
    return tuple(range(max(lows), min(highs) + 1))
