"""Searches for similar vectors."""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.model.errors import ValidationException
from hashrange.model.limits import TOP_K_MAX
from hashrange.operations.unsupported.refusals import Request, not_supported


def search(request: Request, moment: Moment) -> Decide:
    if request["TopK"] > TOP_K_MAX:
        raise ValidationException(
            f"Provided TopK value '{request['TopK']}' is out of valid range. The value must be "
            f"between 1 and {TOP_K_MAX} inclusive"
        )
    yield from fetch.table(request["TableName"], moment)
    raise not_supported("SearchVectors")
