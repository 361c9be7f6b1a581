"""boto3 answered in this process: no socket, no credentials, no waiting.

`boto3_session` makes a new session. `intercept` answers the clients of any other code, inside its
`with` block. Only the sending is replaced: botocore validates, serializes, checks the CRC, parses
and raises as it does with AWS.
"""

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol

import boto3
import botocore.session
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.httpsession import URLLib3Session

from hashrange import wire
from hashrange.interfaces.calls import Runtime, refusal
from hashrange.model.caller import DEFAULT_REGION, Caller
from hashrange.runtime.names import Closed

_EVENTS = ("before-send.dynamodb", "before-send.dynamodb-streams")
_DUMMY = "hashrange"
_HOST_REGION = re.compile(r"//[^/]*(?:dynamodb|ddb)\.([a-z0-9-]+)\.")
_CREDENTIAL = re.compile(r"Credential=([^/]*)/\d*/([^/]+)/")
_TARGET = re.compile(r"DynamoDB(?:Streams)?_20120810\.(\w+)")


class Database(Protocol):
    @property
    def runtime(self) -> Runtime: ...


def boto3_session(database: Database, region: str = DEFAULT_REGION) -> boto3.Session:
    """A session whose "dynamodb" and "dynamodbstreams" clients and resources use `database`.

    It ignores this machine's profiles and credentials. Nothing is signed, and nothing is retried.
    """
    nowhere = (None, None, os.devnull, None)
    session = botocore.session.Session(
        {"profile": (None, None, None, None), "config_file": nowhere, "credentials_file": nowhere}
    )
    session.set_default_client_config(
        Config(signature_version=UNSIGNED, retries={"mode": "legacy", "total_max_attempts": 1})
    )
    session.set_credentials(_DUMMY, _DUMMY)

    def answer(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return _answer(database, request, region)

    for event in _EVENTS:
        session.register(event, answer)
    return boto3.Session(botocore_session=session, region_name=region)


@contextmanager
def intercept(database: Database, region: str = DEFAULT_REGION) -> Iterator[None]:
    """Answer every DynamoDB client of botocore in this process, inside the `with` block.

    This holds for every session, endpoint and thread, and for clients that exist already. If
    interceptions are nested, the latest one answers. Other services are not affected. If the
    environment has no region or access key, it gets dummies meanwhile, so that botocore looks
    up nothing on the network.
    """
    interception = (database, region)
    with _lock:
        if not _interceptions:
            _install(region)
        _interceptions.append(interception)
    try:
        yield
    finally:
        with _lock:
            _interceptions.remove(interception)
            if not _interceptions:
                _uninstall()


_lock = Lock()
_interceptions: list[tuple[Database, str]] = []
_environment_added: list[str] = []
_send = URLLib3Session.send


def _install(region: str) -> None:
    dummies = {"AWS_DEFAULT_REGION": region}
    if "AWS_ACCESS_KEY_ID" not in os.environ:
        dummies |= {"AWS_ACCESS_KEY_ID": _DUMMY, "AWS_SECRET_ACCESS_KEY": _DUMMY}
    for name, value in dummies.items():
        if name not in os.environ:
            os.environ[name] = value
            _environment_added.append(name)
    URLLib3Session.send = _intercepted_send


def _uninstall() -> None:
    URLLib3Session.send = _send
    while _environment_added:
        os.environ.pop(_environment_added.pop(), None)


def _intercepted_send(session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
    latest = _interceptions[-1:]
    if latest and _TARGET.fullmatch(_text(request.headers.get("X-Amz-Target", ""))):
        [(database, region)] = latest
        return _answer(database, request, region)
    return _send(session, request)


# ---- one request ----


class _Content:
    """A response's body, as botocore reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


def _answer(database: Database, request: AWSPreparedRequest, region: str) -> AWSResponse:
    target = _TARGET.fullmatch(_text(request.headers["X-Amz-Target"]))
    assert target, "botocore's model of the service names the target"
    runtime = database.runtime
    try:
        status, body = 200, runtime.call(target[1], request.body, _caller(request, region))
    except Closed:
        raise  # the calling program's own mistake, so it must not look like a server's error
    except Exception as mistake:
        error = refusal(target[1], mistake)
        status, body = error.status, wire.error_body(error)
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "Content-Length": str(len(body)),
        "x-amzn-RequestId": wire.request_id(),
        "x-amz-crc32": str(zlib.crc32(body)),
    }
    return AWSResponse(request.url, status, headers, _Content(body))


def _caller(request: AWSPreparedRequest, region: str) -> Caller:
    """The credential's region and key; a request without a signature has its host's region."""
    signed = _CREDENTIAL.search(_text(request.headers.get("Authorization", "")))
    if signed:
        return Caller(signed[2], access_key=signed[1])
    host = _HOST_REGION.search(request.url)
    return Caller(host[1] if host else region)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
