"""A plugin of pytest: all databases have all faults, and requests are repeated as SDKs do.

A request with a fault is sent again until it is answered. If it may have been carried out, a client
can repeat only what has the same effect and answer twice: other requests are spared those faults.
"""

from collections import Counter
from typing import Any

import msgspec
import pytest

from hashrange import Faults
from hashrange.database.database import Database
from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.errors import (
    ApiError,
    InternalServerError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
)
from hashrange.model.faults import FAULTS
from hashrange.model.settings import DEFAULT_SETTINGS
from hashrange.runtime.faults import unreliable
from hashrange.runtime.faults.drawing import Body, Drawing

ALL = Faults(rates=dict.fromkeys(FAULTS, 0.11), latency_seconds=0.001)
CARRIED_OUT = ("error-after", "disconnect")
TRANSIENT = (
    *(InternalServerError, ProvisionedThroughputExceededException, ThrottlingException),
    RequestLimitExceeded,
    *(TransactionConflictException, TransactionInProgressException, ConnectionError),
)
READS = ("GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", "Describe", "List")
LEFT = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}

happened: Counter[str] = Counter()


class CarefulDrawing(Drawing):
    def draw(self, name: str, body: Body) -> str | None:
        fault = super().draw(name, body)
        if fault in CARRIED_OUT and not _may_be_repeated(name, body):
            return None
        if fault == "unprocessed" and body.get("ReturnConsumedCapacity"):
            return None  # the answer would be about the last part alone
        if fault is not None:
            happened[fault] += 1
        return fault


class RetryingRuntime(unreliable.UnreliableRuntime):
    def __init__(self, *arguments: Any, faults: Faults, **members: Any) -> None:
        super().__init__(*arguments, faults=faults, **members)
        self._drawing = CarefulDrawing(faults)

    def call(self, name: str, body: bytes, caller: Caller = DEFAULT_CALLER) -> bytes:
        while True:
            try:
                answer = super().call(name, body, caller)
                break
            except (ApiError, ConnectionError) as error:
                if not _is_transient(error):
                    raise
        return self._with_rest(name, answer, caller) if name in LEFT else answer

    def _with_rest(self, name: str, answer: bytes, caller: Caller) -> bytes:
        """The answer of a batch, after all that it has left is processed, too."""
        found = msgspec.json.decode(answer, type=Body)
        if not found[LEFT[name]]:
            return answer
        rest = msgspec.json.encode({"RequestItems": found[LEFT[name]]})
        more = msgspec.json.decode(self.call(name, rest, caller), type=Body)
        for table, items in more.get("Responses", {}).items():
            found["Responses"].setdefault(table, []).extend(items)
        return msgspec.json.encode({**found, LEFT[name]: {}})


def _may_be_repeated(name: str, body: Body) -> bool:
    if name == "PutItem":
        return body.keys() <= {"TableName", "Item"}
    return name.startswith(READS)


def _is_transient(error: Exception) -> bool:
    if isinstance(error, TransactionCanceledException):
        reasons = error.members["CancellationReasons"]
        return any(reason["Code"] == "TransactionConflict" for reason in reasons)
    return isinstance(error, TRANSIENT)


def pytest_configure() -> None:
    make = Database.__init__

    def make_faulty(self: Database, store: Any, **members: Any) -> None:
        settings = members.pop("settings", DEFAULT_SETTINGS)
        make(self, store, **members, settings=settings._replace(faults=settings.faults or ALL))

    Database.__init__ = make_faulty  # type: ignore[method-assign]
    unreliable.UnreliableRuntime = RetryingRuntime  # type: ignore[misc]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for fault, count in sorted(happened.items()):
        terminalreporter.write_line(f"fault {fault}: {count}")
