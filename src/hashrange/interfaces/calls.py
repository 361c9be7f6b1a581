"""What every way in asks of the runtime, and what becomes of a mistake of ours."""

import logging
from collections.abc import Callable, Collection
from typing import Protocol

from hashrange.model.errors import ApiError, InternalServerError

_log = logging.getLogger("hashrange")

Outcome = bytes | BaseException
"""The response's body, or why there is none."""


class Submit(Protocol):
    """Takes requests on an event loop."""

    def submit(
        self, name: str, body: bytes, done: Callable[[Outcome], None], region: str, /
    ) -> None:
        """Run an operation: `done` is called on the loop, now or later."""
        ...


class Turn(Submit, Protocol):
    """Takes those that one turn of an event loop brings."""

    def close(self) -> None: ...


class Runtime(Submit, Protocol):
    """The part of a runtime that the interfaces use."""

    @property
    def operations(self) -> Collection[str]:
        """Names of the operations it knows."""
        ...

    def call(self, name: str, body: bytes, region: str, /) -> bytes:
        """Run an operation, from any thread. Raises ApiError."""
        ...

    def turn(self) -> Turn:
        """For the requests that one turn of an event loop brings; to be closed at its end."""
        ...


def refusal(operation: str, error: BaseException) -> ApiError:
    """What the client is told. Anything but an ApiError is our mistake: the log has it all."""
    if isinstance(error, ApiError):
        return error
    _log.error("operation=%s status=500", operation, exc_info=error)
    return InternalServerError("Internal server error")
