"""A runtime whose requests fail on purpose."""

from asyncio import get_running_loop
from collections.abc import Callable
from contextlib import closing
from time import sleep
from typing import Any, NamedTuple

import msgspec

from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.errors import (
    ApiError,
    InternalServerError,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
)
from hashrange.model.faults import Faults
from hashrange.operations import OPERATIONS
from hashrange.runtime.ending import Done, Outcome
from hashrange.runtime.faults.drawing import TRANSACTIONS, Body, Drawing
from hashrange.runtime.faults.throttling import refused
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.runtime.threaded.turn import Turn

CONFLICT = "Transaction is ongoing for the item"
IN_PROGRESS = "The transaction with the given request token is already in progress."


class Disconnected(ConnectionError):
    """The request gets no answer: the connection is closed."""


class Plan(NamedTuple):
    """What happens to a request: `body` is carried out, unless an `answer` is already known.

    `after` turns the answer to `body` into the outcome.
    """

    fault: str | None
    body: bytes
    after: Callable[[bytes], Outcome] = lambda answer: answer
    answer: bytes | None = None


class UnreliableRuntime(Runtime):
    """A runtime whose requests fail as `faults` describes. A request with the fault `latency` is
    delayed by `faults.latency_seconds`."""

    def __init__(self, *arguments: Any, faults: Faults, **members: Any) -> None:
        super().__init__(*arguments, **members)
        self._drawing = Drawing(faults)
        self._latency_seconds = faults.latency_seconds

    def call(self, name: str, body: bytes, caller: Caller = DEFAULT_CALLER) -> bytes:
        """Like `Runtime.call`, but may also raise Disconnected."""
        plan = self._plan(name, body, caller)
        if plan.answer is not None:
            return plan.answer
        if plan.fault == "latency":
            sleep(self._latency_seconds)
        outcome = plan.after(super().call(name, plan.body, caller))
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    def submit(
        self,
        name: str,
        body: bytes,
        done: Done,
        caller: Caller = DEFAULT_CALLER,
        turn: Turn | None = None,
    ) -> None:
        try:
            plan = self._plan(name, body, caller)
        except ApiError as refusal:
            done(refusal)
            return
        if plan.answer is not None:
            done(plan.answer)
            return

        def tell(outcome: Outcome) -> None:
            done(plan.after(outcome) if isinstance(outcome, bytes) else outcome)

        if plan.fault == "latency":
            submit = super().submit
            later = get_running_loop().call_later
            later(self._latency_seconds, lambda: submit(name, plan.body, tell, caller))
        else:
            super().submit(name, plan.body, tell, caller, turn)

    def _plan(self, name: str, body: bytes, caller: Caller) -> Plan:
        """Decide what happens to a request. Raises ApiError if the request fails without being
        carried out."""
        try:
            content = msgspec.json.decode(body, type=Body)
        except msgspec.MsgspecError:
            content = {}
        fault = self._drawing.draw(name, content)
        match fault:
            case "error":
                raise InternalServerError("Internal server error")
            case "throttle" | "account-limit":
                return Plan(fault, body, answer=self._refused(name, body, caller, fault))
            case "conflict":
                raise _conflict(name, content)
            case "in-progress":
                raise TransactionInProgressException(IN_PROGRESS)
            case "error-after":
                return Plan(fault, body, lambda _: InternalServerError("Internal server error"))
            case "disconnect":
                return Plan(fault, body, lambda _: Disconnected())
            case "unprocessed" if self._is_valid(name, body):
                kept, left = self._divided(content)
                return Plan(fault, kept, lambda answer: _with_unprocessed(name, answer, left))
            case _:
                return Plan(fault, body)

    def _refused(self, name: str, body: bytes, caller: Caller, fault: str) -> bytes | None:
        operation = OPERATIONS[name]
        request = operation.request(body)
        kind = "AccountLimit" if fault == "account-limit" else None
        with closing(self._threads.snapshot()) as snapshot:
            return refused(operation, request, caller, snapshot, self.environment, kind)

    def _is_valid(self, name: str, body: bytes) -> bool:
        """Whether a batch is valid as a whole. An invalid batch is refused, not divided."""
        try:
            return super().explain(name, body).error is None
        except ApiError:
            return False

    def _divided(self, content: Body) -> tuple[bytes, Body]:
        """Divide a batch at random. Returns the body that is carried out, and the unprocessed
        members in the form of RequestItems."""
        members = [
            (name, number)
            for name, wanted in content.get("RequestItems", {}).items()
            for number in range(len(_members(wanted)))
        ]
        chosen = set(self._drawing.some(members)) if len(members) > 1 else set()
        kept, left = Body(), Body()
        for name, wanted in content.get("RequestItems", {}).items():
            every = list(enumerate(_members(wanted)))
            for part, in_part in ((kept, False), (left, True)):
                selected = [m for number, m in every if ((name, number) in chosen) == in_part]
                if selected:
                    part[name] = (
                        {**wanted, "Keys": selected} if isinstance(wanted, dict) else selected
                    )
        return msgspec.json.encode({**content, "RequestItems": kept}), left


def _members(wanted: Any) -> list[Any]:
    members: list[Any] = wanted.get("Keys", []) if isinstance(wanted, dict) else wanted
    return members


def _with_unprocessed(name: str, answer: bytes, left: Body) -> bytes:
    response = msgspec.json.decode(answer, type=Body)
    member = "UnprocessedKeys" if name == "BatchGetItem" else "UnprocessedItems"
    unprocessed = response[member]
    for table, wanted in left.items():
        if table in unprocessed:  # throttled members of the table are there already
            _members(unprocessed[table]).extend(_members(wanted))
        else:
            unprocessed[table] = wanted
    return msgspec.json.encode(response)


def _conflict(name: str, content: Body) -> ApiError:
    """The error of a conflict: TransactionConflictException for a single write, and
    TransactionCanceledException for a transaction, whose first action has the conflict."""
    if name not in TRANSACTIONS:
        return TransactionConflictException(CONFLICT)
    others = len(content.get(TRANSACTIONS[name]) or [None]) - 1
    reasons = [{"Code": "TransactionConflict", "Message": CONFLICT}] + [{"Code": "None"}] * others
    codes = ", ".join(reason["Code"] for reason in reasons)
    return TransactionCanceledException(
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=reasons,
    )
