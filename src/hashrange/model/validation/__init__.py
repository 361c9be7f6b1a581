"""The careful validator: finds the service's error for a request that the fast decoder refuses.

It checks in the service's order: JSON syntax (SerializationException), the JSON type of each member
and base64 (SerializationException), then the constraints of the service model
(ValidationException). Later, `model.values` checks the content of attribute values.
"""

import re
from itertools import accumulate
from typing import Any

import msgspec

from hashrange.model.errors import SerializationException, ValidationException
from hashrange.model.validation import (
    attribute_values,
    constraints,
    fields,
    layers,
    shapes,
    wording,
)
from hashrange.model.values import EMPTY_NAME, NESTED_TOO_DEEP

_JSON_LEVELS_MAX = 4004
"""The deepest nesting of JSON. A value of 2,000 levels does not exceed it, one of 2,001 does.

The service's limit is somewhere between 2,000 and 5,000 levels.
"""
_NO_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|[^][{}"]+')


def validate(operation: str, body: bytes) -> dict[str, Any]:
    """The members of a valid request, without nulls and unknown members.

    Raises SerializationException or ValidationException, with the service's messages.
    """
    return read(operation, body)[0]


def read(operation: str, body: bytes) -> tuple[dict[str, Any], bool]:
    """Like `validate`; also tells whether the service's legacy validation reads the request."""
    try:
        content = msgspec.json.decode(body)
        if not isinstance(content, dict):
            raise SerializationException("")
        name = shapes.of_request(operation)
        request: dict[str, Any] = fields.read(content, name)
        legacy, too_deep = layers.survey(operation, content)
        del content  # it may be large
        refusal = None
        if too_deep:
            legacy = True
            refusal = wording.of_first_stage(operation, constraints.violations(request, name))
        if refusal is None:
            violations = constraints.violations(request, name)
            refusal = wording.refusal(operation, request, violations, legacy)
    except RecursionError:
        raise _too_deep(operation, body) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SerializationException("") from None
    if refusal:
        error = ValidationException(refusal)
        error.explained = True
        raise error
    return request, legacy


def explain(operation: str, body: bytes, refusal: ValidationException) -> ValidationException:
    """The error to report for a request that was decoded and then refused. May raise it instead.

    The fast path finds faults in an order of its own. The service reports some faults first: bad
    base64 before anything else, then most faults of values and names.
    """
    if operation in layers.WITH_OWN_PARSER:
        return refusal
    request, legacy = read(operation, body)
    if operation not in layers.NEWER:
        return refusal
    name = shapes.of_request(operation)
    if legacy:
        wording.check_return_values(operation, request)
        attribute_values.check_as_of_old(request, name)
        return ValidationException(refusal.legacy)
    if attribute_values.has_empty_name(request, name):
        return ValidationException(wording.of_value(operation, EMPTY_NAME))
    return refusal


def _too_deep(operation: str, body: bytes) -> SerializationException | ValidationException:
    """The error for JSON that is nested too deep to be read."""
    brackets = _NO_NESTING.sub(b"", body)
    levels = max(accumulate(1 if bracket in b"{[" else -1 for bracket in brackets))
    balanced = brackets.count(b"{") + brackets.count(b"[") == len(brackets) / 2
    if operation in layers.WITH_VALUES and levels <= _JSON_LEVELS_MAX and balanced:
        return ValidationException(NESTED_TOO_DEEP)
    return SerializationException("")
