"""botocore as the oracle: requests that it signs, and a server's verdict on them."""

import json
from collections.abc import Container, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from unittest.mock import patch

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from requests_as_sent import BODY, TARGETS, Response

from hashrange import wire

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TOKEN = "a/session+token=="
KEYS = wire.read_keys(f"AKID secret/key+\nASIA other {TOKEN}\n")
HOST = "db.example:8000"


class Signed:
    """A request, its headers by name as sent; changed in place by tests."""

    def __init__(self, query: str, headers: dict[str, str], body: bytes) -> None:
        self.method = "POST"
        self.path = "/"
        self.query = query
        self.headers = headers
        self.body = body

    def sent(self) -> bytes:
        headers = {"Content-Length": str(len(self.body)), **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        url = f"{self.path}?{self.query}" if self.query else self.path
        return f"{self.method} {url} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + self.body


def sign(
    *,
    access_key: str = "AKID",
    secret: str | None = None,
    token: str | None = None,
    region: str = "eu-west-1",
    at: datetime = NOW,
    query: str = "",
    presigned_seconds: int | None = None,
    unsigned: Container[str] = (),
    body: bytes = BODY,
    **more: str,
) -> Signed:
    """A GetItem, by botocore; with the configured secret and token unless others are given.

    The signature leaves `unsigned` headers out, named in lower case.
    """
    key = KEYS.get(access_key, wire.Key("unknown"))
    credentials = Credentials(
        access_key, secret or key.secret, (key.token if token is None else token) or None
    )
    headers = {
        "Host": HOST,
        "X-Amz-Target": "DynamoDB_20120810.GetItem",
        "Content-Type": "application/x-amz-json-1.0",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    url = f"http://{HOST}/" + (f"?{query}" if query else "")
    with _clock_of_botocore(at):
        if presigned_seconds is None:
            request = AWSRequest("POST", url, headers=headers, data=body)
            signer = _Auth(credentials, "dynamodb", region)
            signer.unsigned = unsigned
            signer.add_auth(request)
        else:
            request = AWSRequest("POST", url, headers=headers)
            presigner = _QueryAuth(credentials, "dynamodb", region, presigned_seconds)
            presigner.body = body
            presigner.unsigned = unsigned
            presigner.add_auth(request)
    return Signed(request.url.partition("?")[2], dict(request.headers.items()), body)


class _Partial:
    """Leaves headers out of the signature."""

    unsigned: Container[str] = ()

    def headers_to_sign(self, request: AWSRequest) -> Any:
        headers = super().headers_to_sign(request)  # type: ignore[misc]
        for name in list(headers):
            if name.lower() in self.unsigned:
                del headers[name]
        return headers


class _Auth(_Partial, SigV4Auth):  # type: ignore[misc]
    pass


class _QueryAuth(_Partial, SigV4QueryAuth):  # type: ignore[misc]
    """botocore's own would move the members of a JSON body into the query."""

    body: bytes

    def payload(self, request: AWSRequest) -> str:
        return sha256(self.body).hexdigest()


@contextmanager
def _clock_of_botocore(at: datetime) -> Iterator[None]:
    with patch("botocore.auth.get_current_datetime", lambda *_, **__: at.replace(tzinfo=None)):
        yield


def verdict(signed: Signed, now: datetime = NOW) -> wire.Event:
    connection = wire.Connection(TARGETS, wire.Verifier(wire.KeyRing(KEYS), now.timestamp))
    [event] = connection.feed(signed.sent())
    return event


def accepted(signed: Signed, now: datetime = NOW) -> bool:
    """True if it reaches an operation. A request that is cut off or is not HTTP reaches none."""
    connection = wire.Connection(TARGETS, wire.Verifier(wire.KeyRing(KEYS), now.timestamp))
    return any(isinstance(event, wire.Call) for event in connection.feed(signed.sent()))


def refusal(signed: Signed, now: datetime = NOW) -> tuple[str, str]:
    """Error code and message."""
    event = verdict(signed, now)
    assert isinstance(event, wire.Answer)
    told = json.loads(Response(event.data).body)
    return told["__type"].partition("#")[2], told.get("message", told.get("Message", ""))
