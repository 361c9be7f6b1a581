"""Repeats the requests of a migrator that exceed the table's throughput."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from hashrange.design.errors import BadValue
from hashrange.design.execute.steps import ApiCall, ApiFailure, Pause, Steps, through
from hashrange.design.migrate.phases import MigrationError

T = TypeVar("T")
Self_ = TypeVar("Self_")
ATTEMPTS = 20
THROTTLED = frozenset(
    {
        "ThrottlingException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
    }
)
"""The codes of throttling in errors and in cancellation reasons of transactions."""
_OTHERS = frozenset({"None", None})
_PAUSE_SECONDS, _LONGEST_SECONDS = 0.05, 2.0


def patient(command: Callable[[Self_], Steps[T]]) -> Callable[[Self_], Steps[T]]:
    """Run a command, but repeat throttled requests, and say in its errors how to continue."""

    @wraps(command)
    def steps(self: Self_) -> Steps[T]:
        try:
            return (yield from through(command(self), _answered))
        except BadValue as error:
            raise MigrationError(
                f"{error}: correct the model or this item, and go on with `resume`"
            ) from error

    return steps


def _answered(request: ApiCall | Pause) -> Steps[dict[str, Any]]:
    longest = _PAUSE_SECONDS
    for _ in range(ATTEMPTS):
        try:
            return (yield request)
        except ApiFailure as failure:
            if not is_throttled(failure):
                raise
        yield Pause(longest)
        longest = min(2 * longest, _LONGEST_SECONDS)
    raise MigrationError(
        f"the table throttled {ATTEMPTS} requests in a row: raise its throughput, or lower --rate, "
        "and go on with `resume`"
    )


def is_throttled(failure: ApiFailure) -> bool:
    """Whether the request failed only because it exceeded the table's throughput."""
    codes = {reason.get("Code") for reason in failure.reasons} - _OTHERS
    return failure.code in THROTTLED or (bool(codes) and codes <= THROTTLED)
