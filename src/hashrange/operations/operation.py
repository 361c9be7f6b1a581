"""The interface of an operation, as the runtime uses it."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from hashrange.engine.decision import Decide
from hashrange.model.errors import ApiError, ValidationException
from hashrange.model.tables import Table
from hashrange.model.validation import explain
from hashrange.operations.resources import Resources, nothing


def _passed_on(request: Any) -> int:
    """The weight of a request whose rows are returned as they are stored."""
    return 0


class Part(NamedTuple):
    """A smaller request with some members of a larger one, and the body of the smaller request."""

    request: Any
    body: bytes


Outcomes = Sequence[bytes | ApiError]
"""The response or the error of each part."""


class Division(Struct, frozen=True, gc=False):
    """How a request that is not atomic is divided by the places where its rows are stored.

    `divide(request, tables, place_of)` returns one part for each place. `tables` has the
    definitions by name, and `place_of` returns the place of a row key. `join(request, parts,
    outcomes)` returns the response to the whole request. It raises ApiError if all parts have
    failed, or if one has failed with an error that is not retryable.
    """

    divide: Callable[[Any, Mapping[str, Table], Callable[[bytes], Hashable]], Sequence[Part]]
    join: Callable[[Any, Sequence[Part], Outcomes], bytes]


Json = dict[str, Any]
"""A request that is not decoded into a class of its own: its members, as JSON."""


class Operation(Struct, frozen=True, gc=False):
    """`parse` turns a body into a checked request; `decide` runs it.

    A request that `writes` is decided inside the write transaction. If only some requests of an
    operation write, `writes` is a function of the request. A `single_read` operation reads at most
    one row and writes nothing, so it takes a cheaper path. A `long` operation usually takes so long
    that other requests should not wait for it. On an event loop, `prepare` is called in a thread
    before the first request: it may import a large library. A `random` operation gets entropy. An
    operation `on_table` gets the table that its request names: `decide(request, table, moment)`.
    `resources(request, caller)` lists the resources of a request, and the actions that it needs on
    them. `weight(request)` is the number of times that each row is processed (see `engine.cost`).
    With a `division`, a request may be divided among the machines that have its rows.
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
    division: Division | None = None

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
