"""The expressions of one request, or of one action of a transaction, and their substitutions."""

from hashrange.expressions.conditions import Condition
from hashrange.expressions.prepared import prepared
from hashrange.expressions.projections import Projection
from hashrange.expressions.substitutions import Substitutions
from hashrange.expressions.tree import Parameter
from hashrange.expressions.updates import Update


class Expressions(Substitutions):
    """Binds each text to ExpressionAttributeNames and ExpressionAttributeValues.

    The values become canonical in place. All methods raise ValidationException with DynamoDB's
    text; if a text has several faults, the error is about the fault that DynamoDB reports.
    """

    def condition(self, text: str) -> Condition:
        return self._condition("ConditionExpression", text)

    def filter(self, text: str) -> Condition:
        return self._condition("FilterExpression", text)

    def key_condition(self, text: str) -> Condition:
        """Bind a key condition. It is checked as a `KeyCondition` later, as on the service."""
        return self._condition("KeyConditionExpression", text)

    def search_condition(self, text: str) -> Condition:
        """Bind a search condition. `Condition.as_search_condition` checks that it is one."""
        return self._condition("SearchConditionExpression", text)

    def projection(self, text: str) -> Projection:
        projection: Projection = prepared("ProjectionExpression", text, self).content
        return projection

    def update(self, text: str) -> Update:
        return Update(prepared("UpdateExpression", text, self).content, self.values)

    def _condition(self, parameter: Parameter, text: str) -> Condition:
        return Condition(prepared(parameter, text, self).content, self.values)
