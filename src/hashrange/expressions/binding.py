"""Checked tree -> bound tree: names and values come in, and their operands are checked."""

from collections.abc import Iterable

from hashrange.expressions import checks
from hashrange.expressions.operators import check_action, check_operands
from hashrange.expressions.paths import check_depth
from hashrange.expressions.substitutions import Substitutions
from hashrange.expressions.tree import (
    Action,
    Node,
    Operation,
    Parameter,
    Path,
    Placeholder,
    Value,
    invalid,
)
from hashrange.model.limits import EXPRESSION_OPERATORS_MAX


class Binding:
    """One expression on its way to a bound tree. Its methods raise ValidationException."""

    def __init__(self, parameter: Parameter, substitutions: Substitutions) -> None:
        self._parameter = parameter
        self._substitutions = substitutions

    def path(self, path: Path) -> Path:
        bound = Path(tuple(map(self._part, path.parts)))
        check_depth(self._parameter, bound)
        return bound

    def tree(self, nodes: Iterable[Node]) -> Node:
        """The bound tree of nodes that come each after its operands; so depth does no harm."""
        bound: list[Node] = []
        for node in nodes:
            if isinstance(node, Operation):
                operands = tuple(bound[-len(node.operands) :])
                operation = Operation(node.operator, operands)
                check_operands(self._parameter, operation)
                bound[-len(operands) :] = [operation]
            else:
                bound.append(self._leaf(node))
        [root] = bound
        return root

    def action(self, action: checks.Action, target: Path) -> Action:
        """An action whose target is bound already."""
        operand = self.tree(action.operand) if action.operand else None
        check_action(action.section, operand)
        return Action(action.section, target, operand)

    def check_defined(self, update: checks.Update) -> None:
        """Ask for all names of an update, then for all its values."""
        leaves = [leaf for action in update.actions for leaf in (action.target, *action.operand)]
        for kind in (Path, Placeholder):
            for leaf in leaves:
                if isinstance(leaf, kind):
                    self._leaf(leaf)

    def _leaf(self, leaf: Node) -> Node:
        if isinstance(leaf, Path):
            return self.path(leaf)
        assert isinstance(leaf, Placeholder), "a parsed tree has no values"
        return Value(self._substitutions.value(self._parameter, leaf.name))

    def check_operators(self, count: int) -> None:
        if count > EXPRESSION_OPERATORS_MAX:
            raise invalid(
                self._parameter,
                f"The expression contains too many operators; operator count: {count}",
            )

    def _part(self, part: str | int) -> str | int:
        if isinstance(part, str) and part[0] == "#":
            return self._substitutions.name(self._parameter, part)
        return part
