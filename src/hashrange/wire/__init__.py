"""Bytes in, calls of operations out; bodies in, responses out. No sockets, no event loop."""

from hashrange.wire.connection import Answer, Call, Connection, Event
from hashrange.wire.gate import Targets, targets
from hashrange.wire.responses import PLAIN, Form, error_body, fail, request_id, succeed

__all__ = [
    "PLAIN",
    "Answer",
    "Call",
    "Connection",
    "Event",
    "Form",
    "Targets",
    "error_body",
    "fail",
    "request_id",
    "succeed",
    "targets",
]
