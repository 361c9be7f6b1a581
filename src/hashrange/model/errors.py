"""One class for each DynamoDB error, rendered by `wire`. Source: the service model's error shapes.

Raise these errors with DynamoDB's exact message. Any other exception that leaves an operation is a
defect of the server: clients get InternalServerError, and the log has the traceback.
"""

from typing import Any, ClassVar

_MODELLED = "com.amazonaws.dynamodb.v20120810#"
_SERVICE = "com.amazon.coral.service#"


class ApiError(Exception):
    """An error of the API: `status`, `type` (as on the wire) and the members of its body.

    `receipt` has the units that the refused request consumed, if any (`engine.capacity.Receipt`).
    """

    status: ClassVar[int] = 400
    namespace: ClassVar[str] = _MODELLED
    message_member: str = "message"

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__(message)
        self.message = message
        self.members = members
        self.receipt: Any = None

    @property
    def code(self) -> str:
        return type(self).__name__

    def body(self) -> dict[str, Any]:
        """The JSON body: `__type`, the message (if any) under the name `message_member`, and the
        other members."""
        message = {self.message_member: self.message} if self.message else {}
        return {"__type": self.namespace + self.code, **message, **self.members}


class ValidationException(ApiError):
    """The request is invalid. Operations with legacy validation use the message `legacy` instead.

    `explained` tells whether the careful validator (`model.validation`) has found the fault.
    """

    namespace = "com.amazon.coral.validate#"
    explained = False

    def __init__(self, message: str, legacy: str | None = None) -> None:
        super().__init__(message)
        self.legacy = message if legacy is None else legacy


class SerializationException(ApiError):
    namespace = _SERVICE
    message_member = "Message"


class UnknownOperationException(ApiError):
    namespace = _SERVICE


class MissingAuthenticationTokenException(ApiError):
    namespace = _SERVICE


class IncompleteSignatureException(ApiError):
    namespace = _SERVICE


class InvalidSignatureException(ApiError):
    namespace = _SERVICE


class UnrecognizedClientException(ApiError):
    namespace = _SERVICE


class ExpiredTokenException(ApiError):
    """The credential of a session has expired."""

    namespace = _SERVICE


class AccessDeniedException(ApiError):
    """The caller's policies, or the policy of the resource, do not allow the request."""

    namespace = _SERVICE
    message_member = "Message"


class InternalServerError(ApiError):
    status = 500


class ResourceNotFoundException(ApiError):
    pass


class ResourceInUseException(ApiError):
    pass


class LimitExceededException(ApiError):
    pass


class ThrottlingException(ApiError):
    """There are too many requests for an on-demand table, or for this server. SDKs retry later.

    For a table, `throttlingReasons` says which limit was reached.
    """

    namespace = "com.amazon.coral.availability#"


class ProvisionedThroughputExceededException(ApiError):
    """A provisioned table or index has no units left.

    `ThrottlingReasons` says which limits of which tables and indexes were reached.
    """


class RequestLimitExceeded(ApiError):
    """The throughput of the account is exceeded. `ThrottlingReasons` names the tables concerned."""


class TableNotFoundException(ApiError):
    pass


class ConditionalCheckFailedException(ApiError):
    """The condition of a write is not met.

    The error has the `Item` if ReturnValuesOnConditionCheckFailure asked for it.
    """


class ItemCollectionSizeLimitExceededException(ApiError):
    pass


class TransactionCanceledException(ApiError):
    """A transaction was refused as a whole.

    `CancellationReasons` has an entry for each action of the request, in the same order.
    """

    message_member = "Message"


class TransactionConflictException(ApiError):
    """A write of a single item conflicts with a transaction that has not ended."""


class TransactionInProgressException(ApiError):
    """An earlier transaction with the same token has not ended."""

    message_member = "Message"


class IdempotentParameterMismatchException(ApiError):
    message_member = "Message"


class DuplicateItemException(ApiError):
    pass


class ExpiredIteratorException(ApiError):
    pass


class TrimmedDataAccessException(ApiError):
    pass


class PointInTimeRecoveryUnavailableException(ApiError):
    pass


class InvalidRestoreTimeException(ApiError):
    pass


class BackupNotFoundException(ApiError):
    pass


class BackupInUseException(ApiError):
    pass


class TableAlreadyExistsException(ApiError):
    pass


class TableInUseException(ApiError):
    pass


class ExportNotFoundException(ApiError):
    pass


class ImportNotFoundException(ApiError):
    pass


class ImportConflictException(ApiError):
    pass


class ExportConflictException(ApiError):
    pass


class InvalidExportTimeException(ApiError):
    pass


class GlobalTableNotFoundException(ApiError):
    pass


class PolicyNotFoundException(ApiError):
    pass
