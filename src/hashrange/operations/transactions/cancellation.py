"""Cancels a transaction with one reason for each action, in the order of the request."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from hashrange.engine.keyspace.keys import RowKey
from hashrange.model.errors import (
    ApiError,
    ConditionalCheckFailedException,
    DuplicateItemException,
    ItemCollectionSizeLimitExceededException,
    ResourceNotFoundException,
    TransactionCanceledException,
    ValidationException,
)
from hashrange.model.limits import TRANSACTION_BYTES_MAX, TRANSACTION_STORED_BYTES_MAX
from hashrange.model.tables import Table
from hashrange.operations.common import number_sets

# The service's message for a transaction that is too large is not known; this one is assumed.
TOO_LARGE = "Transaction request size exceeds the maximum allowed size of "
REPEATED = "Transaction request cannot include multiple operations on one item"

P = ParamSpec("P")
T = TypeVar("T")

_CODES: dict[type[ApiError], str] = {
    ConditionalCheckFailedException: "ConditionalCheckFailed",
    DuplicateItemException: "DuplicateItem",
    ItemCollectionSizeLimitExceededException: "ItemCollectionSizeLimitExceeded",
    ResourceNotFoundException: "ResourceNotFound",
    ValidationException: "ValidationError",
}


def attempt(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | ApiError:
    """The result of the function for one action, or the ApiError that becomes the action's
    cancellation reason."""
    try:
        return function(*args, **kwargs)
    except tuple(_CODES) as refusal:
        return refusal


def succeeded(results: Sequence[T | ApiError]) -> list[T]:
    """The results, if none of them is an error. Otherwise raises TransactionCanceledException."""
    reasons = [_reason(result) for result in results]
    if any(reason["Code"] != "None" for reason in reasons):
        codes = ", ".join(reason["Code"] for reason in reasons)
        raise TransactionCanceledException(
            "Transaction cancelled, please refer cancellation reasons for specific reasons "
            f"[{codes}]",
            CancellationReasons=reasons,
        )
    return [result for result in results if not isinstance(result, ApiError)]


def prepared(results: Sequence[T | ApiError]) -> list[T]:
    """Like `succeeded`, for the results of checks that are made before any item is read.

    DynamoDB stops such checks at the first error. All later actions get the reason "None"
    (ScyllaDB's tests on AWS).
    """
    for at, result in enumerate(results):
        if isinstance(result, ApiError):
            succeeded([*results[: at + 1], *[None] * (len(results) - at - 1)])
    return succeeded(results)


def check_size(size: int) -> None:
    """Raises ValidationException if the actions of a request are together too large. `size` is in
    bytes."""
    if size > TRANSACTION_BYTES_MAX:
        told = "Transaction payload size cannot exceed 4MB. Payload Size: "
        raise ValidationException(f"{told}: {told}{size}")


def check_read(size: int) -> None:
    """Raises ValidationException if the items that a transaction reads are together too large.

    Source: TransactGetItems, "the aggregate size of the items in the transaction exceeded 4 MB".
    """
    if size > TRANSACTION_BYTES_MAX:
        raise ValidationException(TOO_LARGE + "4 MB")


def check_stored(size: int) -> None:
    """Raises ValidationException if the stored items that TransactWriteItems names are together too
    large.

    The service has no such limit (docs/differences.md). Call this before any condition is
    evaluated.
    """
    if size > TRANSACTION_STORED_BYTES_MAX:
        raise ValidationException(TOO_LARGE + "16 MB")


def _reason(result: Any) -> dict[str, Any]:
    if not isinstance(result, ApiError):
        return {"Code": "None"}
    reason = {"Code": _CODES[type(result)], "Message": result.message, **result.members}
    if "Item" in reason:
        reason["Item"] = number_sets.item_in_hash_order(reason["Item"])
    return reason


def check_distinct(targets: Sequence[tuple[Table, RowKey]]) -> None:
    """Raises ValidationException if two actions are on the same item."""
    if len({(table.space, key.key) for table, key in targets}) < len(targets):
        raise ValidationException(REPEATED)
