"""Checked tree -> bound tree: replaces aliases and placeholders, and checks operands."""

from collections.abc import Sequence

from hashrange.expressions import checks
from hashrange.expressions.operators import check_action, check_operands
from hashrange.expressions.substitutions import Substitutions
from hashrange.expressions.tree import (
    AliasedPath,
    Argument,
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
    """Binds one expression. Its methods raise ValidationException.

    `used` collects the aliases and placeholders of the expression, `operations` its bound
    operations.
    """

    def __init__(self, parameter: Parameter, substitutions: Substitutions) -> None:
        self.used: set[str] = set()
        self.operations: list[Operation] = []
        self._parameter = parameter
        self._substitutions = substitutions

    def path(self, path: Path | AliasedPath) -> Path:
        if isinstance(path, Path):
            return path
        return Path(tuple(map(self._part, path.parts)))

    def tree(self, nodes: Sequence[Node]) -> Node:
        """The bound tree of a checked tree of any depth. In `nodes`, each node follows its
        operands."""
        bound: list[Node] = []
        for node in nodes:
            if isinstance(node, Operation):
                operands = tuple(bound[-len(node.operands) :])
                operation = Operation(node.operator, operands)
                self.operations.append(operation)
                check_operands(self._parameter, operation, self._substitutions.values)
                bound[-len(operands) :] = [operation]
            elif isinstance(node, Placeholder):
                bound.append(self._argument(node))
            else:
                assert not isinstance(node, Argument | Value), (
                    "a parsed tree must not have values yet"
                )
                bound.append(self.path(node))
        [root] = bound
        return root

    def operand(self, action: checks.CheckedAction) -> Node | None:
        return self.tree(action.operand) if action.operand else None

    def check_defined(self, update: checks.CheckedUpdate) -> None:
        """Check that all aliases in an update are defined, and then that all placeholders are."""
        leaves = [leaf for action in update.actions for leaf in (action.target, *action.operand)]
        for leaf in leaves:
            if isinstance(leaf, AliasedPath):
                self.path(leaf)
        for leaf in leaves:
            if isinstance(leaf, Placeholder):
                self._argument(leaf)

    def check_literals(self, update: checks.CheckedUpdate) -> None:
        """Check the operands of ADD and DELETE, which the service checks before those of SET."""
        for action in update.actions:
            if action.section in ("ADD", "DELETE"):
                check_action(action.section, self.tree(action.operand))

    def check_operators(self, count: int) -> None:
        if count > EXPRESSION_OPERATORS_MAX:
            # The service stops counting at the limit.
            raise invalid(
                self._parameter,
                "The expression contains too many operators; "
                f"operator count: {EXPRESSION_OPERATORS_MAX + 1}",
            )

    def _argument(self, placeholder: Placeholder) -> Argument:
        value = self._substitutions.value(self._parameter, placeholder.name)
        self.used.add(placeholder.name)
        return Argument(placeholder.name, next(iter(value)))

    def _part(self, part: str | int) -> str | int:
        if isinstance(part, str) and part[0] == "#":
            self.used.add(part)
            return self._substitutions.name(self._parameter, part)
        return part
