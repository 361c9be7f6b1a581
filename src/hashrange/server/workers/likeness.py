"""`hashrange serve --like PROGRAM`: the port, health check and first line of output of PROGRAM.

Tools wait for DynamoDB Local until it answers `GET /`, or until it has printed a certain line. Its
status and its line are copied from DynamoDB Local. The body of the answer is a guess.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from hashrange.wire import NonApi, answer_non_api
from hashrange.wire.responses import Form, respond

LOCALSTACK_HEALTH = b"/_localstack/health"


class Likeness(NamedTuple):
    """The properties of another program that a server imitates."""

    port: int
    non_api: NonApi
    says: str = ""
    """The additional line that a server prints when it is ready; empty if there is none."""


def _as_localstack(method: bytes, url: bytes, headers: Mapping[bytes, bytes], form: Form) -> bytes:
    if method not in (b"GET", b"HEAD") or url.partition(b"?")[0] != LOCALSTACK_HEALTH:
        return answer_non_api(method, url, headers, form)
    from importlib.metadata import version  # takes long to load

    health = {
        "services": {"dynamodb": "running", "dynamodbstreams": "running"},
        "edition": "hashrange",
        "version": version("hashrange"),
    }
    return respond(200, msgspec.json.encode(health), form, content_type=b"application/json")


def _as_dynamodb_local(
    method: bytes, url: bytes, headers: Mapping[bytes, bytes], form: Form
) -> bytes:
    if method not in (b"GET", b"HEAD") or url != b"/":
        return answer_non_api(method, url, headers, form)
    return respond(400, _NO_TOKEN, form)


_NO_TOKEN = msgspec.json.encode(
    {
        "__type": "com.amazonaws.dynamodb.v20120810#MissingAuthenticationToken",
        "Message": "Request must contain either a valid (registered) AWS access key ID or X.509 "
        "certificate.",
    }
)
ITSELF = Likeness(8000, answer_non_api)
LIKENESSES = {
    "localstack": Likeness(4566, _as_localstack),
    "dynamodb-local": Likeness(
        8000,
        _as_dynamodb_local,
        "Initializing DynamoDB Local with the following configuration:",
    ),
}
