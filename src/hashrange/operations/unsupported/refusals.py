"""The refusal of an operation that the server does not have."""

from typing import Any

from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.model.errors import ValidationException

Request = dict[str, Any]
"""The members of a request, as JSON."""


def not_supported(name: str) -> ValidationException:
    return ValidationException(f"{name} is not supported by this server")


def refuse(name: str, request: Request, moment: Moment) -> Decide:
    """Refuses the operation without a look at the request."""
    yield from ()
    raise not_supported(name)
