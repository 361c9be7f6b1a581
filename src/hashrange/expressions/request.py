"""The expressions of one request, or of one action of a transaction, and their substitutions."""

from typing import cast

from hashrange.expressions.conditions import Condition, PreparedCondition
from hashrange.expressions.prepared import prepared
from hashrange.expressions.projections import Projection
from hashrange.expressions.substitutions import Substitutions
from hashrange.expressions.tree import Parameter
from hashrange.expressions.updates import PreparedUpdate, Update
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
        self._substitutions = Substitutions(names, values, older)

    def condition(self, text: str) -> Condition:
        return self._condition("ConditionExpression", text)

    def filter(self, text: str) -> Condition:
        return self._condition("FilterExpression", text)

    def key_condition(self, text: str) -> Condition:
        """Whether it is a `KeyCondition` is asked of it later, as the service does."""
        return self._condition("KeyConditionExpression", text)

    def projection(self, text: str) -> Projection:
        found = prepared("ProjectionExpression", text, self._substitutions)
        return cast(Projection, found.content)

    def update(self, text: str) -> Update:
        found = prepared("UpdateExpression", text, self._substitutions)
        return Update(cast(PreparedUpdate, found.content), self._substitutions.values)

    def finish(self) -> None:
        """Check that every name and value was used, once all expressions have been bound."""
        self._substitutions.check_all_used()

    def _condition(self, parameter: Parameter, text: str) -> Condition:
        found = prepared(parameter, text, self._substitutions)
        return Condition(cast(PreparedCondition, found.content), self._substitutions.values)
