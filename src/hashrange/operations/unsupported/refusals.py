"""The refusal of an operation that the server does not have."""

from typing import Any

from hashrange.model.errors import ValidationException

Request = dict[str, Any]
"""The members of a request, as JSON."""


def not_supported(name: str) -> ValidationException:
    return ValidationException(f"{name} is not supported by this server")
