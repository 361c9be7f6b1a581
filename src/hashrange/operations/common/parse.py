"""Parses the body of a request. The fast path accepts it; the slow path explains what is wrong."""

from functools import cache
from typing import TypeVar

import msgspec

from hashrange.model.requests import Structure
from hashrange.model.validation import validate

Request = TypeVar("Request", bound=Structure)


def decode(body: bytes, type: type[Request]) -> Request:
    """The request of this type, decoded from a body of JSON.

    Raises SerializationException or ValidationException. The content of attribute values is not
    checked yet.
    """
    try:
        request: Request = _decoder(type).decode(body)
        return request
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    return msgspec.convert(validate(type.__name__, body), type)


@cache
def _decoder(type: type[Request]) -> msgspec.json.Decoder[Request]:
    return msgspec.json.Decoder(type)
