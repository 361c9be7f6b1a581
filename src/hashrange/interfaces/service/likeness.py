"""`hashrange serve --like localstack`: the port and the health check that LocalStack's users know.

Source: "Internal endpoints" of LocalStack's documentation.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from hashrange.wire import NonApi, answer_non_api
from hashrange.wire.responses import Form, respond

LOCALSTACK_HEALTH = b"/_localstack/health"


class Likeness(NamedTuple):
    """What a server has in common with the program in whose place it stands."""

    port: int
    non_api: NonApi


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


ITSELF = Likeness(8000, answer_non_api)
LIKENESSES = {"localstack": Likeness(4566, _as_localstack)}
