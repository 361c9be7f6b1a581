"""The interface of a runtime for clients and servers, and the error for a failed request."""

import logging
from collections.abc import Collection
from typing import Any, Protocol

from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError, InternalServerError
from hashrange.runtime.ending import Done

_log = logging.getLogger("hashrange")


class Turn(Protocol):
    """The state that the requests of one turn of an event loop share."""

    def close(self) -> None: ...


class Runtime(Protocol):
    """The part of a runtime that clients and servers use."""

    @property
    def operations(self) -> Collection[str]:
        """The names of all operations."""
        ...

    def call(self, name: str, body: bytes, caller: Caller, /) -> bytes:
        """Run an operation, from any thread. Raises ApiError."""
        ...

    def submit(
        self, name: str, body: bytes, done: Done, caller: Caller, turn: Any = None, /
    ) -> None:
        """Run an operation on an event loop. `done` is called with the outcome, on the loop: either
        before this method returns, or later."""
        ...

    def turn(self) -> Turn:
        """A Turn for the requests of one turn of an event loop. Close it when the turn ends."""
        ...


def refusal(operation: str, error: BaseException) -> ApiError:
    """The error for the caller of a failed request: `error` itself, if it is an ApiError.

    Any other exception is logged, and replaced by an internal error.
    """
    if isinstance(error, ApiError):
        # Its frames hold the request, in a cycle that only the garbage collector would free.
        error.__traceback__ = error.__context__ = None
        return error
    _log.error("operation=%s status=500", operation, exc_info=error)
    return InternalServerError("Internal server error")
