"""Expressions: text -> tokens -> tree -> bound tree -> value.

A bound tree has attribute names and values in place of aliases and placeholders. `Expressions`
binds the expressions of a request. `legacy` makes the same objects from legacy parameters.
"""

from hashrange.expressions.conditions import Condition
from hashrange.expressions.key_conditions import KeyCondition, KeyQuery
from hashrange.expressions.projections import Projection
from hashrange.expressions.request import Expressions
from hashrange.expressions.updates import Update

__all__ = ["Condition", "Expressions", "KeyCondition", "KeyQuery", "Projection", "Update"]
