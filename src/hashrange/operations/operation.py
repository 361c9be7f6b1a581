"""What an operation is to the runtime."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hashrange.engine.decision import Decide
from hashrange.model.errors import ValidationException
from hashrange.model.validation import explain
from hashrange.operations.resources import Resources, nothing


class Operation(NamedTuple):
    """`parse` makes a checked request of a body; `decide` runs it.

    A request that `writes` (where an operation may do either, it is asked of the request) is
    decided inside the writing transaction. A `single_read` operation reads at most one row and
    writes nothing, which has a cheaper way. One that is `random` is given entropy. An operation
    `on_table` is given the table that its request names: `decide(request, table, moment)`.
    `resources(request, caller)` names what a request touches, and the actions it needs there.
    """

    name: str
    parse: Callable[[bytes], Any]
    decide: Callable[..., Decide]
    writes: bool | Callable[[Any], bool] = False
    single_read: bool = False
    random: bool = False
    on_table: bool = False
    resources: Resources = nothing

    def request(self, body: bytes) -> Any:
        """The checked request. Raises ApiError."""
        try:
            return self.parse(body)
        except ValidationException as found:
            # Another exception, whose traceback does not keep the decoded request.
            refusal = ValidationException(found.message, found.legacy)
        raise explain(self.name, body, refusal) from None

    def is_write(self, request: Any) -> bool:
        return self.writes if isinstance(self.writes, bool) else self.writes(request)
