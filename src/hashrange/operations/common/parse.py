"""A request's body becomes its structure: the fast path accepts, the slow path explains."""

from functools import cache
from typing import TypeVar

import msgspec

from hashrange.model.requests import Structure
from hashrange.model.validation import validate

Request = TypeVar("Request", bound=Structure)


def decode(body: bytes, type: type[Request]) -> Request:
    """The request of this type in a body of JSON.

    Raises SerializationException or ValidationException. What attribute values mean is not
    looked at yet.
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
