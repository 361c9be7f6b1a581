"""The careful validator: what the service says of a request that the fast decoder refuses.

In the service's order: JSON syntax (SerializationException), the JSON type of each member and
base64 (SerializationException), then all constraints of the service model together
(ValidationException). What attribute values mean is `model.values`' to check, afterwards.
"""

from typing import Any

import msgspec

from hashrange.model.errors import SerializationException, ValidationException
from hashrange.model.validation import constraints, fields, shapes, wording


def validate(operation: str, body: bytes) -> dict[str, Any]:
    """The members of a request that means something, without nulls and unknown members.

    Raises SerializationException or ValidationException, worded as the service words them.
    """
    try:
        content = msgspec.json.decode(body)
        if not isinstance(content, dict):
            raise SerializationException("")
        name = shapes.of_request(operation)
        request: dict[str, Any] = fields.read(content, name)
        refusal = wording.refusal(operation, request, constraints.violations(request, name))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise SerializationException("") from None
    if refusal:
        raise ValidationException(refusal)
    return request
