"""Requests as generator steps, and the two loops that send them.

Every method of a store is written once, as a generator. `run` sends its requests for a synchronous
store, and `run_async` for an asynchronous one.
"""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from hashrange.model.values import Item

T = TypeVar("T")


class ApiCall(NamedTuple):
    """One API operation in wire form. A generator that yields it receives the response.

    `sign_until` is a monotonic time. After it, no attempt of the call may be signed.
    """

    operation: str
    payload: dict[str, Any]
    sign_until: float | None = None


class Pause(NamedTuple):
    """Wait for this many seconds."""

    seconds: float


@dataclass
class Signing:
    """The call in progress: the monotonic time after which none of its attempts may be signed, and
    the number of its attempts so far."""

    until: float
    attempts: int = 0


SIGNING: ContextVar[Signing | None] = ContextVar("SIGNING", default=None)
"""The signing limit of the call in progress; None if it has none. Read before each signature."""


@contextmanager
def _signing(request: ApiCall) -> Iterator[None]:
    token = SIGNING.set(Signing(request.sign_until) if request.sign_until is not None else None)
    try:
        yield
    finally:
        SIGNING.reset(token)


Steps = Generator[ApiCall | Pause, dict[str, Any], T]


Answered = Callable[[ApiCall | Pause], Steps[dict[str, Any]]]
"""A function that returns the steps by which a request is answered."""


def through(steps: Steps[T], answered: Answered) -> Steps[T]:
    """Run the same steps, but let `answered` answer each of their requests."""
    try:
        request = next(steps)
        while True:
            try:
                response = yield from answered(request)
            except ApiFailure as failure:
                request = steps.throw(failure)
            else:
                request = steps.send(response)
    except StopIteration as stop:
        result: T = stop.value
        return result


class ApiFailure(Exception):
    """An operation failed. `code` is DynamoDB's error code, `original` the client's exception.

    `item` is the stored item, if the request asked for it. `reasons` are the CancellationReasons of
    a cancelled transaction.
    """

    def __init__(self, code: str, message: str, original: BaseException, **more: Any) -> None:
        super().__init__(message)
        self.code = code
        self.original = original
        self.item: Item | None = more.get("Item")
        self.reasons: list[dict[str, Any]] = more.get("CancellationReasons") or []


class Connection(Protocol):
    def call(self, operation: str, payload: dict[str, Any], /) -> dict[str, Any]:
        """Send a request and return its response. Raises ApiFailure."""
        ...


class AsyncConnection(Protocol):
    async def call(self, operation: str, payload: dict[str, Any], /) -> dict[str, Any]: ...


def run(steps: Steps[T], connection: Connection) -> T:
    """Send the requests of the steps, and return the steps' result.

    If the steps do not handle an ApiFailure, the client's original error is raised instead.
    """
    try:
        request = next(steps)
        while True:
            if isinstance(request, Pause):
                time.sleep(request.seconds)
                request = steps.send({})
                continue
            try:
                if request.sign_until is None:
                    response = connection.call(request.operation, request.payload)
                else:
                    with _signing(request):
                        response = connection.call(request.operation, request.payload)
            except ApiFailure as failure:
                request = steps.throw(failure)
            else:
                request = steps.send(response)
    except StopIteration as stop:
        result: T = stop.value
        return result
    except ApiFailure as failure:
        raise failure.original from None


async def run_async(steps: Steps[T], connection: AsyncConnection) -> T:
    """Like `run`, for asyncio."""
    import asyncio  # a synchronous program does not need it

    try:
        request = next(steps)
        while True:
            if isinstance(request, Pause):
                await asyncio.sleep(request.seconds)
                request = steps.send({})
                continue
            try:
                with _signing(request):
                    response = await connection.call(request.operation, request.payload)
            except ApiFailure as failure:
                request = steps.throw(failure)
            else:
                request = steps.send(response)
    except StopIteration as stop:
        result: T = stop.value
        return result
    except ApiFailure as failure:
        raise failure.original from None
