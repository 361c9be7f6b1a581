"""Parses a request's body. If the fast path refuses it, the slow path finds the error."""

from functools import cache
from typing import Any, TypeVar

import msgspec

from hashrange.decoders import decoder, prepare
from hashrange.model.requests import Structure
from hashrange.model.validation import read

Request = TypeVar("Request", bound=Structure)


def decode(body: bytes, type: type[Request]) -> Request:
    """The request of this type, decoded from a body of JSON.

    Raises SerializationException or ValidationException. The content of attribute values is not
    checked yet.
    """
    try:
        return decoder(type).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    content, legacy = read(type.__name__, body)
    explained: Request = msgspec.convert(content, prepare(_legacy(type) if legacy else type))
    return explained


@cache
def _legacy(type: type[Request]) -> Any:
    """A subtype of a type of request, for requests that the service's legacy validation reads."""
    return msgspec.defstruct(
        type.__name__, [], bases=(type,), namespace={"legacy": True}, frozen=True, kw_only=True
    )
