"""Evaluates a costly request: computes its writes, and its response or error."""

from collections.abc import Generator
from typing import Any, Protocol

from hashrange.engine.decision import TableChange
from hashrange.engine.fetch import Moment
from hashrange.operations import OPERATIONS
from hashrange.runtime.decisions import Proposal, begin, concluded

Evaluation = Generator[Any, Any, Proposal]
"""A generator that makes an evaluation step by step. It yields reads of `kv` (also for the
definitions of tables) and `Admit`, and raises ApiError for a refusal. The proposal that it returns
does not list the reads: the caller has answered them, and adds them."""


def evaluate(name: str, body: bytes, moment: Moment) -> Evaluation:
    operation = OPERATIONS[name]
    decision = yield from begin(operation, operation.request(body), moment, {})
    writes, response = concluded(decision, moment.now)
    receipt = decision.receipt if moment.settings.throughput != "off" else None
    changes_tables = any(type(change) is TableChange for change in decision.changes)
    return Proposal(writes, response, receipt, changes_tables)


class WorkerLost(Exception):
    """The process that evaluated the request has ended. Nothing was written."""


class Evaluator(Protocol):
    """Begins evaluations, in this process or in another one."""

    @property
    def elsewhere(self) -> bool:
        """Whether evaluations run in another process, so that they do not block this one."""
        ...

    def begin(self, name: str, body: bytes, moment: Moment) -> Evaluation: ...
    def close(self) -> None: ...


class Here:
    """Evaluates in this process, for programs that do not expect a second process."""

    elsewhere = False

    def begin(self, name: str, body: bytes, moment: Moment) -> Evaluation:
        return evaluate(name, body, moment)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
