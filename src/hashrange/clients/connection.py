"""Operations with JSON bodies, on a database in this process or through boto3."""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import msgspec

from hashrange.formats.items import DataError, encode, one_line
from hashrange.model.errors import ApiError
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.threaded.runtime import Runtime

THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "InternalServerError",
        "ServiceUnavailable",
        "LimitExceededException",
    }
)
"""Errors after which the same request may succeed a little later."""


class Refused(DataError):
    """An operation failed. `code` is the name of the service's error; it is empty if the service
    did not answer."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}" if code else reason)
        self.code = code
        self.reason = reason


Outcome = bytes | Refused


class JsonConnection(Protocol):
    in_process: bool

    def call(self, operation: str, body: bytes, /) -> bytes:
        """Send a request. Returns the body of the response. Raises Refused."""
        ...

    def call_all(self, operation: str, bodies: Sequence[bytes], /) -> list[Outcome]:
        """Send several requests at once. Returns their outcomes in the order of `bodies`.

        The requests may run in any order.
        """
        ...

    def close(self) -> None: ...


def remote_connection(client: Any, place: str, threads: int) -> JsonConnection:
    """A connection to a server or AWS. At most `threads` requests are under way at once."""
    return _Remote(client, place, threads)


def connection_of(runtime: Runtime | AsyncRuntime, threads: int) -> JsonConnection:
    """A connection to a database that is open in this process. Does not use boto3."""
    return _File(runtime) if isinstance(runtime, Runtime) else _Awaited(runtime, threads)


class _File:
    """A database in this process that is called directly. The requests of one `call_all` share
    commits."""

    in_process = True

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def call(self, operation: str, body: bytes) -> bytes:
        with _api_errors():
            return self._runtime.call(operation, body)

    def call_all(self, operation: str, bodies: Sequence[bytes]) -> list[Outcome]:
        outcomes = self._runtime.call_all(operation, bodies)
        return [
            outcome if isinstance(outcome, bytes) else _refused(outcome) for outcome in outcomes
        ]

    def close(self) -> None:
        pass


class _Pooled:
    """A database that takes a while to respond, so requests are sent from several threads."""

    in_process = False

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "hashrange-request")

    def call(self, operation: str, body: bytes) -> bytes:
        raise NotImplementedError

    def call_all(self, operation: str, bodies: Sequence[bytes]) -> list[Outcome]:
        return list(self._pool.map(partial(self._outcome, operation), bodies))

    def _outcome(self, operation: str, body: bytes) -> Outcome:
        try:
            return self.call(operation, body)
        except Refused as refusal:
            return refusal

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Awaited(_Pooled):
    """A database in this process, over an asynchronous store."""

    def __init__(self, runtime: AsyncRuntime, threads: int) -> None:
        super().__init__(threads)
        self._runtime = runtime

    def call(self, operation: str, body: bytes) -> bytes:
        with _api_errors():
            return self._runtime.call(operation, body)


class _Remote(_Pooled):
    """A server or AWS, through boto3."""

    def __init__(self, client: Any, name: str, threads: int) -> None:
        super().__init__(threads)
        self._name = name
        self._methods = {
            operation: getattr(client, method)
            for method, operation in client.meta.method_to_api_mapping.items()
        }

    def call(self, operation: str, body: bytes) -> bytes:
        request = msgspec.json.decode(body)
        if b'"B' in body:
            request = _with_bytes(request)
        with refusals(self._name):
            answer = self._methods[operation](**request)
        answer.pop("ResponseMetadata", None)
        return encode(answer)


@contextmanager
def _api_errors() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        raise _refused(error) from None


def _refused(error: BaseException) -> Refused:
    if not isinstance(error, ApiError):
        raise error
    if error.__cause__ is not None:  # of an internal error: the message of the disk
        return Refused("", one_line(error.__cause__))
    return Refused(error.code, one_line(error.message))


class refusals:  # noqa: N801  used as a word: `with refusals(name)`
    """A context manager that converts errors of boto3 clients to `Refused`. The clients may also be
    in-process ones.

    `name` is the name of the database in the messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

        if isinstance(error, ClientError):
            details = error.response.get("Error", {})
            raise Refused(
                str(details.get("Code", "")), one_line(details.get("Message", error))
            ) from None
        if isinstance(error, BotoCoreError | HTTPClientError):
            raise Refused("", f"{self._name}: {one_line(error)}") from None


def _with_bytes(value: Any) -> Any:
    """A request in wire form, converted for boto3: binary values become bytes."""
    if isinstance(value, list):
        return [_with_bytes(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(kind, content)] = value.items()
        if kind == "B" and isinstance(content, str):
            return {"B": b64decode(content)}
        if kind == "BS" and isinstance(content, list):
            return {"BS": [b64decode(each) if isinstance(each, str) else each for each in content]}
    return {name: _with_bytes(each) for name, each in value.items()}
