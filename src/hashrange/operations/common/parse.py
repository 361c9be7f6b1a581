"""Parses a request's body. If the fast parser refuses the body, a slower one finds the error."""

from functools import cache
from typing import Any, TypeVar

import msgspec

from hashrange.decoders import decoder, prepare
from hashrange.model.requests import Structure
from hashrange.model.validation import read

Request = TypeVar("Request", bound=Structure)


def decode(body: bytes, type: type[Request]) -> Request:
    """Decode a JSON body into a request of this type.

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
    """A subtype of a request type. It marks requests that the service's legacy validation reads."""
    return msgspec.defstruct(
        type.__name__, [], bases=(type,), namespace={"legacy": True}, frozen=True, kw_only=True
    )
