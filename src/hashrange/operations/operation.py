"""The interface of an operation, as the runtime uses it."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hashrange.engine.decision import Decide
from hashrange.model.errors import ValidationException
from hashrange.model.validation import explain
from hashrange.operations.resources import Resources, nothing


def _passed_on(request: Any) -> int:
    """The weight of a request whose rows are passed on as they are stored."""
    return 0


Json = dict[str, Any]
"""A request that is not decoded into a class of its own: its members, as JSON."""


class Operation(Struct, frozen=True, gc=False):
    """`parse` turns a body into a checked request; `decide` runs it.

    A request that `writes` is decided inside the write transaction. If an operation can both read
    and write, `writes` is a function that tells which of these a request does. A `single_read`
    operation reads at most one row and writes nothing, so it takes a cheaper path. A `long`
    operation usually takes longer than other requests should have to wait. On an event loop,
    `prepare` is called in a thread before the first request: it may import a large library. A
    `random` operation gets entropy. An operation `on_table` is given the table that its request
    names: `decide(request, table, moment)`. `resources(request, caller)` names the resources that a
    request touches, and the actions that it needs on them. `weight(request)` is the number of times
    that the request goes through each row that it reads (see `engine.cost`).
    """

    name: str
    parse: Callable[[bytes], Any]
    decide: Callable[..., Decide]
    writes: bool | Callable[[Any], bool] = False
    single_read: bool = False
    long: bool = False
    prepare: Callable[[], object] | None = None
    random: bool = False
    on_table: bool = False
    resources: Resources = nothing
    weight: Callable[[Any], int] = _passed_on

    def request(self, body: bytes) -> Any:
        """The checked request. Raises ApiError."""
        try:
            return self.parse(body)
        except ValidationException as fault:
            # Another exception, whose traceback does not keep the decoded request.
            refusal = ValidationException(fault.message, fault.legacy)
            explained = fault.explained
        raise (refusal if explained else explain(self.name, body, refusal)) from None

    def is_write(self, request: Any) -> bool:
        return self.writes if isinstance(self.writes, bool) else self.writes(request)
