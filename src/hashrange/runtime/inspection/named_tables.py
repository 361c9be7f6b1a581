"""The tables that a request names, for counting requests that failed."""

from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.operations import OPERATIONS


def tables_named(operation: str, body: bytes, caller: Caller) -> list[str]:
    """The names of the tables, without duplicates; [] if the request is invalid."""
    known = OPERATIONS.get(operation)
    if known is None:
        return []
    try:
        accesses = known.resources(known.request(body), caller)
    except ApiError:
        return []
    arns = [access.resource.partition(":table/")[2] for access in accesses]
    return list({arn.partition("/")[0]: None for arn in arns if arn})
