"""Throughput: asks whether reads and writes are admitted, and makes the errors for refused ones.

If throughput is enforced, an operation asks the meter of the runtime whether it is admitted. Reads
and writes are admitted while there is any credit, no matter how much they will consume. If this
results in a debt, reads and writes are refused until the debt is paid off. The errors and their
reasons were captured on the service in 2026, unless a comment says otherwise.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hashrange.engine.fetch import Admit, Fetch
from hashrange.engine.keyspace.keys import RowKey
from hashrange.model.errors import (
    ApiError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
)
from hashrange.model.tables import Index, Table

TABLE_PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. Consider "
    "increasing your provisioning level with the UpdateTable API."
)
INDEX_PROVISIONED = (
    "The level of configured provisioned throughput for one or more global secondary indexes of "
    "the table was exceeded. Consider increasing your provisioning level for the under-provisioned "
    "global secondary indexes with the UpdateTable API"
)
ON_DEMAND = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "
    "scaling your table or index so please try again shortly. If exceptions persist, check if you "
    "have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "bp-partition-key-design.html"
)
ON_DEMAND_MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"
ON_DEMAND_INDEX = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is "
    "automatically scaling your index so please try again shortly."
)
ACCOUNT = (
    "Throughput exceeds the current throughput quota for your account. Please contact AWS Support "
    "to request a quota increase."
)
"""This text is from the API reference. It was not captured on the service."""


class Limit(Struct, frozen=True):
    """A limit that has been reached: of an index or, if `index` is None, of the table.

    `kind` is the middle of the reason's name: ProvisionedThroughput, KeyRangeThroughput,
    MaxOnDemandThroughput or, for an injected fault, AccountLimit.
    """

    table: Table
    index: Index | None
    written: bool
    kind: str

    @property
    def reason(self) -> dict[str, str]:
        where = "Table" if self.index is None else "Index"
        arn = self.table.arn
        return {
            "reason": f"{where}{'Write' if self.written else 'Read'}{self.kind}Exceeded",
            "resource": arn if self.index is None else f"{arn}/index/{self.index.name}",
        }


def of_read(table: Table, key: RowKey, consistent: bool) -> Admit:
    """The question whether the read of an item is admitted."""
    return Admit(table, table, key.key, False, 1.0 if consistent else 0.5, key.raw)


def admit(asked: Admit) -> Fetch[None]:
    """Raises the error if the read or write of a request is not admitted."""
    limits: Sequence[Limit] = yield asked
    if limits:
        raise error(limits)


def admit_transaction(every: Iterable[Admit]) -> Fetch[None]:
    """Raises the error if one of the reads or writes of a transaction is not admitted.

    It is assumed that a transaction is admitted while there is any credit, like a single write,
    however much its members consume together.
    """
    for asked in every:
        asked.units = 0
        limits: Sequence[Limit] = yield asked
        if limits:
            raise error(limits, transactional=True)


def admit_each(every: Sequence[Admit]) -> Fetch[list[ApiError | None]]:
    """For each member of a batch, its error, or None if it is admitted."""
    refused: list[ApiError | None] = []
    for asked in every:
        limits: Sequence[Limit] = yield asked
        refused.append(error(limits) if limits else None)
    return refused


def admit_some(every: Sequence[Admit]) -> Fetch[list[ApiError | None]]:
    """Like `admit_each`, but raises the first error if no member is admitted."""
    refused = yield from admit_each(every)
    if refused and all(refused):
        assert refused[0] is not None
        raise refused[0]
    return refused


def error(limits: Sequence[Limit], *, transactional: bool = False) -> ApiError:
    """The service's error for limits that have been reached. The first limit determines its
    type."""
    first = limits[0]
    reasons = [limit.reason for limit in limits]
    if first.kind == "AccountLimit":
        return RequestLimitExceeded(ACCOUNT, ThrottlingReasons=reasons)
    on_demand = first.table.on_demand
    if not on_demand:
        text = TABLE_PROVISIONED if first.index is None else INDEX_PROVISIONED
        return _provisioned(text, reasons)
    if first.index is not None and first.written:
        if first.kind == "MaxOnDemandThroughput" and not transactional:
            return _provisioned(INDEX_PROVISIONED, reasons)  # the text is assumed
        return ThrottlingException(ON_DEMAND_INDEX, throttlingReasons=reasons)
    text = ON_DEMAND_MAXIMUM if first.kind == "MaxOnDemandThroughput" else ON_DEMAND
    return ThrottlingException(text, throttlingReasons=reasons)


def _provisioned(text: str, reasons: list[dict[str, str]]) -> ApiError:
    return ProvisionedThroughputExceededException(text, ThrottlingReasons=reasons)
