"""The end of a request: charges its units, and tells its caller the outcome."""

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable
from time import monotonic
from typing import Any

import msgspec

from hashrange import kv
from hashrange.engine.capacity import Charge, Receipt
from hashrange.metering.account import Account
from hashrange.metering.meter import Meter
from hashrange.metering.metered import metered
from hashrange.model.errors import ApiError, InternalServerError

Outcome = bytes | BaseException
"""The body of the response, or the error."""

Done = Callable[[Outcome], object]

logger = logging.getLogger("hashrange")
encode = msgspec.json.Encoder().encode
"""Encodes the response of a decision."""


def charged(
    response: bytes, receipt: Receipt | Charge | None, payer: Account | Meter | None, now: float
) -> bytes:
    """Charge the units of a response to `payer`, and return the response. `payer` is None if
    throughput is not measured."""
    if payer is None or receipt is None:
        return response
    payer.charge(receipt, now)
    return metered(response, receipt) if payer.tells else response


def refused(error: BaseException, payer: Account | Meter | None, now: float) -> ApiError:
    """Charge the units of a refused request. Returns the error for the caller.

    An error that is not the API's is logged (see `internal_error`). The traceback of an API error
    is removed, because it would keep the rows that the request has read in memory.
    """
    if not isinstance(error, ApiError):
        return internal_error(error)
    if payer is not None and error.receipt is not None:
        payer.charge(error.receipt, now)
    return error.with_traceback(None)


def internal_error(error: BaseException) -> InternalServerError:
    """Log an internal error or a failure of the store. Returns the error for the caller, whose
    `__cause__` is `error`.

    Only an Exception is logged. The calling code has to raise anything else again, such as
    KeyboardInterrupt.
    """
    if isinstance(error, kv.StoreError):
        complaints.log(str(error))
    elif isinstance(error, Exception):
        logger.error("unexpected %s", type(error).__name__, exc_info=error)
    refusal = InternalServerError("Internal server error")
    refusal.__cause__ = error
    return refusal


class Complaints:
    """Logs the errors of the store: each line at most once in PAUSE_SECONDS, with the number of
    repetitions since. While a database cannot be reached, thousands of requests fail per second.

    Any thread may use it.
    """

    PAUSE_SECONDS = 1.0
    LINES_MAX = 256
    """The number of lines that are remembered."""

    def __init__(self, timer: Callable[[], float] = monotonic) -> None:
        self._timer = timer
        self._lines: dict[str, tuple[float, int]] = {}
        """The time when each line was last logged, and the number of its repetitions since."""

    def log(self, line: str) -> None:
        now = self._timer()
        since, count = self._lines.get(line, (now - self.PAUSE_SECONDS, 0))
        if now - since < self.PAUSE_SECONDS:
            self._lines[line] = since, count + 1
            return
        if len(self._lines) >= self.LINES_MAX:
            self._lines.clear()
        self._lines[line] = now, 0
        more = f" ({count:,} more like this were not logged)" if count else ""
        logger.error("storage: %s%s", line, more)


complaints = Complaints()


def tell(done: Done, outcome: Outcome) -> None:
    try:
        done(outcome)
    except Exception:  # an error in one caller must not keep the others waiting
        logger.exception("the outcome of a request could not be given to its caller")


def call_on(loop: AbstractEventLoop, function: Callable[..., object], *arguments: Any) -> bool:
    """From any thread: call a function on an event loop. Returns False if the loop is closed."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        return False
    return True
