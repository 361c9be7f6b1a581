"""Answers boto3's requests in this process, without a socket or credentials.

`boto3_session` makes a session whose requests a database answers. `hashrange.mock` also answers
clients that other code makes. botocore does everything except sending: it validates, serializes,
checks the CRC, parses the response and raises errors, as with AWS.
"""

import asyncio
import os
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from time import time
from typing import TYPE_CHECKING, Any, Protocol

import boto3
import botocore.session
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError
from botocore.loaders import Loader, create_loader

from hashrange import wire
from hashrange.clients.calls import Runtime, refusal
from hashrange.model.caller import DEFAULT_ACCOUNT, DEFAULT_REGION, Caller, check_expiry
from hashrange.model.errors import UnrecognizedClientException
from hashrange.runtime.ending import Outcome
from hashrange.runtime.mistaken_calls import Closed, WouldBlock

if TYPE_CHECKING:
    from hashrange.access.generation import Access
    from hashrange.access.principals import Principal

_SERVICES = ("dynamodb", "dynamodb-streams")
DUMMY = "hashrange"
IN_PROCESS = "hashrange_in_process"
"""The key that marks the context of a botocore request if `boto3_session` answers the request, so
that a mock leaves it alone."""

_HOST_REGION = re.compile(r"//[^/]*(?:dynamodb|ddb)\.([a-z0-9-]+)\.")
_CREDENTIAL = re.compile(r"Credential=([^/]*)/\d*/([^/]+)/")
_TARGET = re.compile(r"DynamoDB(?:Streams)?_20120810\.(\w+)")


class Database(Protocol):
    @property
    def runtime(self) -> Runtime: ...
    @property
    def access(self) -> "Access | None": ...


def boto3_session(
    database: Database,
    region: str = DEFAULT_REGION,
    *,
    retry: bool = False,
    principal: str | None = None,
) -> boto3.Session:
    """A session whose "dynamodb" and "dynamodbstreams" clients and resources use `database`.

    The session acts as the principal with this ARN in the database's access file; without an ARN it
    may do everything. Raises ValueError if there is no such principal.

    The session ignores this machine's profiles and credentials, and signs nothing. With `retry`, it
    retries failed requests like boto3; set it if the database makes requests fail on purpose.
    """
    caller_of = own_caller(database, region, principal)
    nowhere = (None, None, os.devnull, None)
    session = botocore.session.Session(
        {"profile": (None, None, None, None), "config_file": nowhere, "credentials_file": nowhere}
    )
    loader = _loader(session.get_config_variable("data_path"))
    session.register_component("data_loader", loader)
    attempts = {} if retry else {"mode": "legacy", "total_max_attempts": 1}
    session.set_default_client_config(Config(signature_version=UNSIGNED, retries=attempts or None))
    session.set_credentials(DUMMY, DUMMY)

    def mark(context: dict[str, Any], **_: Any) -> None:
        context[IN_PROCESS] = True

    def send(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return answer(database, request, caller_of)

    for service in _SERVICES:
        session.register(f"before-call.{service}", mark)
        session.register(f"before-send.{service}", send)
    made = boto3.Session(botocore_session=session, region_name=region)
    paths = loader.search_paths
    if paths.count(paths[-1]) > 1:  # each session adds boto3's own folder
        paths.pop()
    return made


@cache
def _loader(data_path: str | None) -> Loader:
    """The loader of botocore's service descriptions, shared by all sessions."""
    return create_loader(data_path)


# ---- one request ----


class _Content:
    """A response's body, as botocore reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


def target(request: AWSPreparedRequest) -> str | None:
    """The operation of DynamoDB or DynamoDB Streams that a request names; None for any other
    request."""
    match = _TARGET.fullmatch(_text(request.headers.get("X-Amz-Target", "")))
    return match[1] if match else None


CallerOf = Callable[[AWSPreparedRequest], Caller]


def answer(database: Database, request: AWSPreparedRequest, caller_of: CallerOf) -> AWSResponse:
    """Answer a request from a database. `caller_of` returns the request's caller."""
    operation = _operation(request)
    outcome: Outcome
    runtime = database.runtime  # may raise if its test is over: not a server's error
    try:
        outcome = runtime.call(operation, request.body, caller_of(request))
    except Exception as error:
        outcome = error
    return _response(request, operation, outcome)


async def answer_async(
    database: Database, request: AWSPreparedRequest, caller_of: CallerOf
) -> AWSResponse:
    """Like `answer`, but does not block the event loop."""
    operation = _operation(request)
    told: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def done(outcome: Outcome) -> None:
        if not told.cancelled():
            told.set_result(outcome)

    database.runtime.submit(operation, request.body, done, caller_of(request))
    return _response(request, operation, await told)


def _operation(request: AWSPreparedRequest) -> str:
    operation = target(request)
    assert operation, "a request of botocore must name an operation"
    return operation


def _response(request: AWSPreparedRequest, operation: str, outcome: Outcome) -> AWSResponse:
    if isinstance(outcome, ConnectionError):  # an injected fault
        raise ConnectionClosedError(endpoint_url=request.url) from outcome
    if isinstance(outcome, Closed | WouldBlock):
        raise outcome  # the calling program's own mistake must not look like a server's error
    if isinstance(outcome, bytes):
        status, body = 200, outcome
    else:
        error = refusal(operation, outcome)
        status, body = error.status, wire.error_body(error)
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "Content-Length": str(len(body)),
        "x-amzn-RequestId": wire.request_id(),
        "x-amz-crc32": str(zlib.crc32(body)),
    }
    return AWSResponse(request.url, status, headers, _Content(body))


def own_caller(database: Database, region: str, principal: str | None = None) -> CallerOf:
    """A function that returns the caller of a request from a session of this process.

    The caller is the principal with this ARN; without an ARN, the caller may do everything. Its
    region is that of the request's host, or `region` if the host names none. Raises ValueError if
    the access file does not name the principal.
    """
    if principal is None:
        return lambda request: Caller(_region_of(request, region), _account(database))
    acting(database, principal)

    def caller(request: AWSPreparedRequest) -> Caller:
        """The principal as the access file defines it now, as a Caller."""
        now = acting(database, principal)
        check_expiry(now, time())
        return Caller(_region_of(request, region), now.account, "", now)

    return caller


def acting(database: Database, principal: str) -> "Principal":
    """The principal with this ARN. Raises ValueError if the access file does not name it."""
    if database.access is None:
        raise ValueError(f"the database has no access file that names {principal}")
    return database.access.principal(principal)


def signed_caller(database: Database, region: str, request: AWSPreparedRequest) -> Caller:
    """The caller of a request, with the region and the access key of the request's signature.

    Without a signature, the region is that of the request's host, or `region` if the host names
    none. If the database has an access file, the access key must belong to a principal; the secret
    key is not checked. Raises UnrecognizedClientException or ExpiredTokenException.
    """
    signed = _CREDENTIAL.search(_text(request.headers.get("Authorization", "")))
    access = database.access
    if access is not None:
        principal = access.by_key.get(signed[1]) if signed else None
        if signed is None or principal is None:
            raise UnrecognizedClientException(
                "The security token included in the request is invalid."
            )
        check_expiry(principal, time())
        return Caller(signed[2], access.account, signed[1], principal)
    if signed:
        return Caller(signed[2], access_key=signed[1])
    return Caller(_region_of(request, region))


def _region_of(request: AWSPreparedRequest, region: str) -> str:
    host = _HOST_REGION.search(request.url)
    return host[1] if host else region


def _account(database: Database) -> str:
    return DEFAULT_ACCOUNT if database.access is None else database.access.account


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
