"""Expressions in bound form, which requests that differ only in their values share.

Programs send the same few texts with the same names over and over. So bound texts are cached, and a
later request only fills in its values. The types of the values are part of the cache's key, because
operands depend on them. The operators in `VALUES_MATTER` also depend on the values themselves, so
they are checked in each request.
"""

from typing import Any, NamedTuple

from hashrange.expressions import checks
from hashrange.expressions.binding import Binding
from hashrange.expressions.bounded_cache import BoundedCache
from hashrange.expressions.conditions import PreparedCondition
from hashrange.expressions.operators import VALUES_MATTER, check_operands
from hashrange.expressions.paths import check_disjoint
from hashrange.expressions.projections import Projection
from hashrange.expressions.statement_size import Clause
from hashrange.expressions.substitutions import Substitutions
from hashrange.expressions.tree import Node, Operation, Parameter
from hashrange.expressions.updates import PreparedUpdate, change_of

_kept: BoundedCache["Prepared"] = BoundedCache()


class Prepared(NamedTuple):
    """A text in its bound form. `used` are its aliases and placeholders.

    `content` is a PreparedCondition, a PreparedUpdate or a Projection, depending on the parameter.
    `late` are the operations that must be checked in each request.
    """

    content: Any
    used: frozenset[str]
    late: tuple[Operation, ...]


def prepared(parameter: Parameter, text: str, substitutions: Substitutions) -> Prepared:
    """The bound form of a text, from the cache if possible. Raises ValidationException."""
    key = (parameter, text, substitutions.shape)
    expression = _kept.get(key)
    if expression is None:
        expression = _prepare(parameter, text, substitutions)
        _kept.put(key, expression)
    else:
        for operation in expression.late:
            check_operands(parameter, operation, substitutions.values)
    substitutions.used.update(expression.used)
    return expression


def _prepare(parameter: Parameter, text: str, substitutions: Substitutions) -> Prepared:
    binding = Binding(parameter, substitutions)
    content: PreparedCondition | PreparedUpdate | Projection
    if parameter == "ProjectionExpression":
        content = _projection(text, binding)
    elif parameter == "UpdateExpression":
        content = _update(text, binding, substitutions.legacy)
    else:
        content = PreparedCondition(_condition(parameter, text, binding))
    late = [each for each in binding.operations if each.operator in VALUES_MATTER]
    return Prepared(content, frozenset(binding.used), tuple(late))


def _projection(text: str, binding: Binding) -> Projection:
    paths = list(map(binding.path, checks.projection(text)))
    check_disjoint("ProjectionExpression", paths)
    return Projection(paths)


def _update(text: str, binding: Binding, values_may_be_too_deep: bool) -> PreparedUpdate:
    checked = checks.update(text)
    binding.check_defined(checked)
    targets = [binding.path(action.target) for action in checked.actions]
    check_disjoint("UpdateExpression", targets)
    binding.check_literals(checked)
    clauses = [
        Clause(action.section, target, binding.operand(action))
        for action, target in zip(checked.actions, targets, strict=True)
    ]
    binding.check_operators(checked.operators)
    changes = [change_of(*clause) for clause in clauses]
    return PreparedUpdate(changes, clauses, values_may_be_too_deep)


def _condition(parameter: Parameter, text: str, binding: Binding) -> Node:
    checked = checks.condition(parameter, text)
    root = binding.tree(checked.nodes)
    binding.check_operators(checked.operators)
    return root
