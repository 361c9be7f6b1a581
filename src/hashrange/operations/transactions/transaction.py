"""Decides the writes of TransactWriteItems and ExecuteTransaction: all of them or none.

For ten minutes after a transaction with a token, a repeated request succeeds without writing again.
If the transaction was cancelled, the repeated request is decided anew. In both cases, a different
request with the same token is refused.
"""

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from hashrange.engine import client_tokens, fetch, throughput, writes
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import (
    AnyChange,
    Decide,
    Decision,
    ItemChange,
    Response,
    answer,
    refusal,
)
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.writes import ItemWrite
from hashrange.model.errors import (
    ApiError,
    IdempotentParameterMismatchException,
    TransactionCanceledException,
)
from hashrange.model.tables import Table
from hashrange.operations.transactions import cancellation

Tables = dict[str, Table]
"""Tables by the name or ARN that the request uses."""

Respond = Callable[[Receipt, Tables], Response]
"""Makes the response from the receipt and the tables."""

SMALL_BYTES = 4 * 1024
"""If a stored item is larger than this, other requests get a turn after the decision on it."""


class ClientToken(NamedTuple):
    """The ClientRequestToken, if any, and the fingerprint of the request."""

    text: str | None
    fingerprint: bytes


def fingerprint(content: Any, *returned: str | None) -> bytes:
    """A digest of a request's writes. It does not depend on the order of attributes, which some
    SDKs, such as that for Go, change from one attempt to the next.

    `returned` are the parameters that ask for additional members of the response.
    """
    wanted = [mode for mode in returned if mode not in (None, "NONE")]
    canonical = msgspec.json.encode([content, wanted] if wanted else content, order="deterministic")
    return blake2b(canonical, digest_size=32).digest()


def decide(
    token: ClientToken,
    item_writes: Callable[[], Fetch[tuple[Tables, list[ItemWrite]]]],
    respond: Respond,
    moment: Moment,
) -> Decide:
    """The decision on a request. `item_writes` returns the tables, and the write of each action.

    Raises IdempotentParameterMismatchException if the token was used for a different request.
    """
    if token.text is None:
        return (yield from _write(item_writes, respond, moment))
    used = yield from client_tokens.find(token.text)
    current = used if used and used.is_current(moment) else None
    if current and current.fingerprint != token.fingerprint:
        raise IdempotentParameterMismatchException(
            "Specified idempotent token was used with different request parameters within "
            "the idempotency window"
        )
    if current and current.sizes is not None:
        return (yield from _repeat(item_writes, respond, current.sizes))
    remember = partial(client_tokens.remember, token.text, token.fingerprint)
    try:
        decision = yield from _write(item_writes, respond, moment)
    except TransactionCanceledException as cancelled:
        if current:
            raise
        return refusal(cancelled.with_traceback(None), [remember(None, moment, used)])
    sizes = [_larger_size(change) for change in decision.changes]
    decision.changes = [*decision.changes, remember(sizes, moment, used)]
    return decision


def _larger_size(change: AnyChange) -> int:
    assert isinstance(change, ItemChange), "a transaction must change only items"
    return max(change.new_size, change.old.size if change.old else 0)


def _write(
    item_writes: Callable[[], Fetch[tuple[Tables, list[ItemWrite]]]],
    respond: Respond,
    moment: Moment,
) -> Decide:
    """The decision on the actions of a request, whose token has already been checked.

    Raises TransactionCanceledException if an action cannot be carried out.
    """
    tables, wanted = yield from item_writes()
    if moment.asks_admission:
        yield from throughput.admit_transaction(map(writes.admission, wanted))
    before = yield from writes.read(wanted, cancellation.check_stored)
    results: list[ItemChange | ApiError] = []
    for write, old in zip(wanted, before, strict=True):
        results.append(cancellation.attempt(writes.decide, write, old, moment))
        if old.row is not None and old.row.size > SMALL_BYTES:
            yield from fetch.pause()
    if any(isinstance(result, ApiError) for result in results):
        results = [
            writes.condition_failed() if write.failed_if_absent and old.row is None else result
            for write, old, result in zip(wanted, before, results, strict=True)
        ]
    try:
        changes = cancellation.succeeded(results)
    except TransactionCanceledException as cancelled:
        cancelled.receipt = Receipt(transactional=True)
        for write, old in zip(wanted, before, strict=True):
            size = old.row.size if old.row is not None else 0
            cancelled.receipt.add_refused(write.table, write.key, size)
        raise
    return Decision(changes, lambda receipt: respond(receipt, tables), transactional=True)


def _repeat(
    item_writes: Callable[[], Fetch[tuple[Tables, list[ItemWrite]]]],
    respond: Respond,
    sizes: list[int],
) -> Decide:
    """The response to a repeated request. It is charged as reads of the items of the first request.

    `sizes` has the size in bytes of each item before or after the write, whichever is larger.
    """
    tables, wanted = yield from item_writes()
    receipt = Receipt(transactional=True)
    for write, size in zip(wanted, sizes or [0] * len(wanted), strict=True):
        receipt.add_read(write.table, write.key, size, consistent=True)
    return answer(respond(receipt, tables), receipt)
