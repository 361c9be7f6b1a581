"""Operations with JSON in and out, on a database in this process or through boto3."""

import asyncio
from base64 import b64decode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hashrange.interfaces.data.items import DataError, encode, one_line
from hashrange.model.errors import ApiError

if TYPE_CHECKING:
    from hashrange.database import Database
    from hashrange.interfaces.target import Target

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
"""The errors after which the same request may succeed a little later."""


class Refused(DataError):
    """An operation failed. `code` is the name of the service's error; empty if none came."""

    def __init__(self, code: str, said: str) -> None:
        super().__init__(f"{code}: {said}" if code else said)
        self.code = code
        self.said = said


Outcome = bytes | Refused


class Connection(Protocol):
    def call(self, operation: str, body: bytes, /) -> bytes:
        """The body of the answer. Raises Refused."""
        ...

    def call_all(self, operation: str, bodies: Sequence[bytes], /) -> list[Outcome]:
        """Make several requests at once, which are done in any order."""
        ...

    def close(self) -> None: ...


def connection(target: "Target", threads: int) -> Connection:
    """Up to so many requests at once go to a server."""
    if target.database is not None:
        return _InProcess(target.database)
    return _Remote(target.client, target.name, threads)


class _InProcess:
    """Requests that are made at once share commits, so they are submitted on an event loop."""

    def __init__(self, database: "Database") -> None:
        self._runtime = database.runtime
        self._loop = asyncio.new_event_loop()

    def call(self, operation: str, body: bytes) -> bytes:
        try:
            return self._runtime.call(operation, body)
        except ApiError as error:
            raise _refused(error) from None

    def call_all(self, operation: str, bodies: Sequence[bytes]) -> list[Outcome]:
        return self._loop.run_until_complete(self._answers(operation, bodies))

    async def _answers(self, operation: str, bodies: Sequence[bytes]) -> list[Outcome]:
        outcomes: list[Outcome] = [b""] * len(bodies)
        left = len(bodies)
        ended = self._loop.create_future()

        def done(number: int, outcome: bytes | BaseException) -> None:
            nonlocal left
            left -= 1
            if isinstance(outcome, ApiError):
                outcomes[number] = _refused(outcome)
            elif isinstance(outcome, bytes):
                outcomes[number] = outcome
            elif not ended.done():
                ended.set_exception(outcome)
            if not left and not ended.done():
                ended.set_result(None)

        for number, body in enumerate(bodies):
            self._runtime.submit(operation, body, partial(done, number))
        await ended
        return outcomes

    def close(self) -> None:
        self._loop.close()


def _refused(error: ApiError) -> Refused:
    cause = error.__cause__  # of an internal error: what the disk said
    return Refused(error.code, one_line(cause or error.message))


class _Remote:
    def __init__(self, client: Any, name: str, threads: int) -> None:
        self._client = client
        self._name = name
        self._pool = ThreadPoolExecutor(threads, "hashrange-request")
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

    def call_all(self, operation: str, bodies: Sequence[bytes]) -> list[Outcome]:
        return list(self._pool.map(partial(self._outcome, operation), bodies))

    def _outcome(self, operation: str, body: bytes) -> Outcome:
        try:
            return self.call(operation, body)
        except Refused as refusal:
            return refusal

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class refusals:  # noqa: N801  used as a word: `with refusals(name)`
    """Turns the errors of boto3 and of a database in this process into `Refused`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

        if isinstance(error, ClientError):
            said = error.response.get("Error", {})
            raise Refused(str(said.get("Code", "")), one_line(said.get("Message", error))) from None
        if isinstance(error, BotoCoreError | HTTPClientError):
            raise Refused("", f"{self._name}: {one_line(error)}") from None


def _with_bytes(value: Any) -> Any:
    """A request for boto3, which takes binary as bytes."""
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
