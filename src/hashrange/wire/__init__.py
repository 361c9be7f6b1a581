"""HTTP without sockets: parses bytes into calls of operations, and builds the bytes of
responses."""

from hashrange.wire.connection import GO_ON, Answer, Call, Connection, Event, decoded
from hashrange.wire.non_api import NonApi, answer_non_api
from hashrange.wire.origins import NO_ORIGINS, ForeignHostError, OriginError, Origins
from hashrange.wire.responses import (
    PLAIN,
    Form,
    RequestTooLargeException,
    error_body,
    fail,
    request_id,
    succeed,
    unavailable,
)
from hashrange.wire.routing import Targets, targets
from hashrange.wire.signature import Key, KeyRing, Keys, KeysError, Verifier, read_keys

__all__ = [
    "GO_ON",
    "NO_ORIGINS",
    "PLAIN",
    "Answer",
    "Call",
    "Connection",
    "Event",
    "ForeignHostError",
    "Form",
    "Key",
    "KeyRing",
    "Keys",
    "KeysError",
    "NonApi",
    "OriginError",
    "Origins",
    "RequestTooLargeException",
    "Targets",
    "Verifier",
    "answer_non_api",
    "decoded",
    "error_body",
    "fail",
    "read_keys",
    "request_id",
    "succeed",
    "targets",
    "unavailable",
]
