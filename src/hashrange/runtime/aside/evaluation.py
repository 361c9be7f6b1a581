"""The evaluation of a costly request: its writes, and the body of its response or its error."""

from collections.abc import Generator
from typing import Any, Protocol

from msgspec import Struct

from hashrange import kv
from hashrange.engine import transition
from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.decision import TableChange
from hashrange.engine.fetch import Moment
from hashrange.model.errors import ApiError
from hashrange.operations import OPERATIONS
from hashrange.runtime.batch import encode_response
from hashrange.runtime.decisions import begin


class Result(Struct):
    """The receipt is None unless throughput is metered. The response is an error if the request
    is refused although it writes.
    """

    writes: list[kv.Write]
    response: bytes | ApiError
    receipt: Receipt | Charge | None
    changes_tables: bool


Evaluation = Generator[Any, Any, Result]
"""Yields reads of `kv`, the definitions of its tables among them, and questions of throughput.
Raises ApiError for a refusal."""


def evaluate(name: str, body: bytes, moment: Moment) -> Evaluation:
    operation = OPERATIONS[name]
    decision = yield from begin(operation, operation.request(body), moment, {})
    writes = transition.derive(decision, moment.now)
    metered = moment.settings.throughput != "off"
    response: bytes | ApiError
    try:
        response = encode_response(decision.response())
    except ApiError as refusal:
        response = refusal.with_traceback(None)
    changes_tables = any(type(change) is TableChange for change in decision.changes)
    return Result(writes, response, decision.receipt if metered else None, changes_tables)


class WorkerLost(Exception):
    """The process that evaluates has ended, or was ended. Nothing was written."""


class Evaluator(Protocol):
    """Begins evaluations, in this process or `elsewhere`."""

    @property
    def elsewhere(self) -> bool:
        """Whether evaluations do not compete with this process for its interpreter."""
        ...

    def begin(self, name: str, body: bytes, moment: Moment) -> Evaluation: ...
    def close(self) -> None: ...


class Here:
    """Evaluates in this process: for programs that do not expect a second one."""

    elsewhere = False

    def begin(self, name: str, body: bytes, moment: Moment) -> Evaluation:
        return evaluate(name, body, moment)

    def close(self) -> None:
        """There is nothing to release."""
