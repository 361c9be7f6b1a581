"""Injected faults: errors that AWS documents, for tests of programs that handle such errors."""

from collections.abc import Mapping
from typing import NamedTuple

from hashrange.model.bounds import check_number

FAULTS = (
    "throttle",
    "account-limit",
    "unprocessed",
    "conflict",
    "in-progress",
    "error",
    "error-after",
    "disconnect",
    "latency",
)


class Faults(NamedTuple):
    """Requests that fail on purpose, at a rate or at exact calls. No fault corrupts data.

    `rates` has the rate of each fault, from 0 to 1. The rates apply to the named `operations` and
    `tables`, by default to all. `on` names exact calls, counted from 1 for each operation:
    `on={"PutItem": {3: "error-after"}}` makes the third PutItem fail. `on` takes precedence over
    `rates`. The faults:

    - `throttle`: the throttling error of the table's billing mode.
    - `account-limit`: RequestLimitExceeded, because the throughput of the account is exceeded.
    - `unprocessed`: a batch that leaves some of its members unprocessed.
    - `conflict`: a write or transaction that conflicts with another transaction.
    - `in-progress`: a transaction with a token whose first attempt is still running.
    - `error`: InternalServerError; the request was not carried out.
    - `error-after`: InternalServerError; the request was carried out.
    - `disconnect`: the connection is closed without an answer; the request was carried out.
    - `latency`: the answer comes `latency_seconds` later.

    If an operation cannot have a fault, the fault does not happen. The same seed and order of
    requests give the same faults.
    """

    seed: int = 0
    rates: Mapping[str, float] = {}
    operations: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    on: Mapping[str, Mapping[int, str]] = {}
    latency_seconds: float = 0.1

    def check(self) -> None:
        """Raises ValueError for unknown faults or invalid rates."""
        named = [fault for calls in self.on.values() for fault in calls.values()]
        for fault in (*self.rates, *named):
            if fault not in FAULTS:
                raise ValueError(f"there is no fault {fault!r}; the faults are {', '.join(FAULTS)}")
        for fault, rate in self.rates.items():
            check_number(f"the rate of {fault}", rate, above_zero=False, most=1)
        if sum(self.rates.values()) > 1:
            raise ValueError("the rates must add up to at most 1, because a request has one fault")
        check_number("latency_seconds", self.latency_seconds, above_zero=False)
        for operation, calls in self.on.items():
            for number in calls:
                if not isinstance(number, int) or number < 1:
                    raise ValueError(
                        f"calls of {operation} are counted from 1; there is no call {number!r}"
                    )
