"""Answers aiobotocore's requests in this process, on the running event loop, without a socket or
credentials."""

from collections.abc import Coroutine
from typing import Any

from aiobotocore.awsrequest import AioAWSResponse
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest

from hashrange.clients import boto
from hashrange.model.caller import DEFAULT_REGION


def async_client(database: boto.Database, region: str = DEFAULT_REGION) -> Any:
    """A "dynamodb" client that `database` answers. It can be used on any event loop."""

    caller_of = boto.own_caller(database, region)

    class InProcess:
        """Replaces aiobotocore's HTTP session."""

        def __init__(self, **_: Any) -> None: ...

        async def __aenter__(self) -> "InProcess":
            return self

        async def __aexit__(self, *_: object) -> None: ...

        async def send(self, request: AWSPreparedRequest) -> Any:
            return awaited_response(await boto.answer_async(database, request, caller_of))

    config = AioConfig(
        http_session_cls=InProcess,
        signature_version=UNSIGNED,
        retries={"mode": "legacy", "total_max_attempts": 1},
    )
    making = get_session().create_client(
        "dynamodb",
        region,
        aws_access_key_id=boto.DUMMY,
        aws_secret_access_key=boto.DUMMY,
        config=config,
    )
    return _finished(making.__aenter__())


class _Content:
    """A response's body, as aiobotocore reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def read(self) -> bytes:
        return self._body


def awaited_response(response: Any) -> Any:
    """A response of botocore, converted to a response of aiobotocore."""
    content = _Content(response.content)
    return AioAWSResponse(response.url, response.status_code, dict(response.headers), content)


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits. Needs no event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError(
        "the coroutine that makes a client of an in-process database must finish without waiting"
    )
