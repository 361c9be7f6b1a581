"""The expressions of one request, or of one action of a transaction, with their names and
values."""

from hashrange.expressions.conditions import Condition
from hashrange.expressions.prepared import prepared
from hashrange.expressions.projections import Projection
from hashrange.expressions.substitutions import Substitutions
from hashrange.expressions.tree import Parameter
from hashrange.expressions.updates import Update


class Expressions(Substitutions):
    """Binds expressions to ExpressionAttributeNames and ExpressionAttributeValues.

    The values are made canonical in place. All methods raise ValidationException with DynamoDB's
    message, for the fault that DynamoDB would report.
    """

    def condition(self, text: str) -> Condition:
        return self._condition("ConditionExpression", text)

    def filter(self, text: str) -> Condition:
        return self._condition("FilterExpression", text)

    def key_condition(self, text: str) -> Condition:
        """Bind a key condition. `Condition.as_key_condition` checks later that it is one, as on the
        service."""
        return self._condition("KeyConditionExpression", text)

    def search_condition(self, text: str) -> Condition:
        """Bind a search condition. `Condition.as_search_condition` checks later that it is one."""
        return self._condition("SearchConditionExpression", text)

    def projection(self, text: str) -> Projection:
        projection: Projection = prepared("ProjectionExpression", text, self).content
        return projection

    def update(self, text: str) -> Update:
        return Update(prepared("UpdateExpression", text, self).content, self.values)

    def _condition(self, parameter: Parameter, text: str) -> Condition:
        return Condition(prepared(parameter, text, self).content, self.values)
