"""The expressions of one request, or of one action of a transaction, and their substitutions."""

from hashrange.expressions import checks
from hashrange.expressions.binding import Binding
from hashrange.expressions.conditions import Condition
from hashrange.expressions.paths import check_disjoint
from hashrange.expressions.projections import Projection
from hashrange.expressions.statement_size import Clause
from hashrange.expressions.substitutions import Substitutions
from hashrange.expressions.tree import Node, Parameter
from hashrange.expressions.updates import Update, change_of
from hashrange.model.values import AttributeValue


class Expressions:
    """Binds each text to ExpressionAttributeNames and ExpressionAttributeValues.

    The values become canonical in place. All methods raise ValidationException with DynamoDB's
    text; of several faults in one text it is the one that DynamoDB reports. `older`: whether the
    text for an invalid value names its key, see `Substitutions`.
    """

    def __init__(
        self,
        names: dict[str, str] | None,
        values: dict[str, AttributeValue] | None,
        older: bool = False,
    ) -> None:
        self._older = older
        self._substitutions = Substitutions(names, values, older)

    def condition(self, text: str) -> Condition:
        return Condition(self._condition("ConditionExpression", text))

    def filter(self, text: str) -> Condition:
        return Condition(self._condition("FilterExpression", text))

    def key_condition(self, text: str) -> Node:
        """The bound tree. Whether it is a `KeyCondition` is asked later, as the service does."""
        return self._condition("KeyConditionExpression", text)

    def projection(self, text: str) -> Projection:
        binding = Binding("ProjectionExpression", self._substitutions)
        paths = list(map(binding.path, checks.projection(text)))
        check_disjoint("ProjectionExpression", paths)
        return Projection(paths)

    def update(self, text: str) -> Update:
        binding = Binding("UpdateExpression", self._substitutions)
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
        return Update(changes, clauses, values_may_be_too_deep=self._older)

    def finish(self) -> None:
        """Check that every name and value was used, once all expressions have been bound."""
        self._substitutions.check_all_used()

    def _condition(self, parameter: Parameter, text: str) -> Node:
        binding = Binding(parameter, self._substitutions)
        checked = checks.condition(parameter, text)
        root = binding.tree(checked.nodes)
        binding.check_operators(checked.operators)
        return root
