"""HTTP without sockets: turns bytes into calls of operations, and response bodies into bytes."""

from hashrange.wire.connection import Answer, Call, Connection, Event
from hashrange.wire.non_api import NonApi, answer_non_api
from hashrange.wire.origins import NO_ORIGINS, ForeignHostError, OriginError, Origins
from hashrange.wire.responses import PLAIN, Form, error_body, fail, request_id, succeed, unavailable
from hashrange.wire.routing import Targets, targets
from hashrange.wire.signature import Key, Keys, KeysError, Verifier, read_keys

__all__ = [
    "NO_ORIGINS",
    "PLAIN",
    "Answer",
    "Call",
    "Connection",
    "Event",
    "ForeignHostError",
    "Form",
    "Key",
    "Keys",
    "KeysError",
    "NonApi",
    "OriginError",
    "Origins",
    "Targets",
    "Verifier",
    "answer_non_api",
    "error_body",
    "fail",
    "read_keys",
    "request_id",
    "succeed",
    "targets",
    "unavailable",
]
