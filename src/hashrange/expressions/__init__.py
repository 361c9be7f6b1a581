"""Expressions: text -> tokens -> tree -> bound tree -> value.

`Expressions` binds the texts of one request. `legacy` makes objects of the same classes from the
legacy parameters.
"""

from hashrange.expressions.conditions import Condition
from hashrange.expressions.key_conditions import KeyCondition, KeyQuery
from hashrange.expressions.projections import Projection
from hashrange.expressions.request import Expressions
from hashrange.expressions.updates import Update

__all__ = ["Condition", "Expressions", "KeyCondition", "KeyQuery", "Projection", "Update"]
