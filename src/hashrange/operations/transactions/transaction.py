"""Decides the writes of TransactWriteItems and ExecuteTransaction: all of them or none.

For ten minutes, a repeated request with the same token succeeds without writing again.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from hashrange.engine import client_tokens, fetch, throughput, writes
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import AnyChange, Decide, Decision, ItemChange, Response, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.writes import ItemWrite
from hashrange.model.errors import ApiError, IdempotentParameterMismatchException
from hashrange.model.tables import Table
from hashrange.operations.transactions import cancellation

Tables = dict[str, Table]
"""Tables by the name or ARN that the request uses."""

Respond = Callable[[Receipt, Tables], Response]
"""Makes the response from the receipt."""


SMALL_BYTES = 4 * 1024
"""After an item that is larger is decided on, other requests have a turn."""


class ClientToken(NamedTuple):
    """The ClientRequestToken, if there is one, and the fingerprint of the request."""

    text: str | None
    fingerprint: bytes


def fingerprint(content: Any, *returned: str | None) -> bytes:
    """A digest of what a request writes, regardless of the order of its attributes.

    `returned` is what else shall be in the response. Some SDKs, such as Go's, write the members
    of a map in a different order each time.
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
    """The decision. `item_writes` returns the tables and what each action writes."""
    used = (yield from client_tokens.find(token.text)) if token.text is not None else None
    if used and used.is_current(moment):
        if used.fingerprint != token.fingerprint:
            raise IdempotentParameterMismatchException(
                "Specified idempotent token was used with different request parameters within "
                "the idempotency window"
            )
        return (yield from _repeat(item_writes, respond, used.sizes))
    tables, wanted = yield from item_writes()
    if moment.settings.throughput == "enforced":
        yield from throughput.admit(*map(writes.asking, wanted), transactional=True)
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
    item_changes = cancellation.succeeded(results)
    changes: list[AnyChange] = list(item_changes)
    if token.text is not None:
        sizes = [
            max(change.new_size, change.old.size if change.old else 0) for change in item_changes
        ]
        changes.append(client_tokens.remember(token.text, token.fingerprint, sizes, moment, used))
    return Decision(changes, lambda receipt: respond(receipt, tables), transactional=True)


def _repeat(
    item_writes: Callable[[], Fetch[tuple[Tables, list[ItemWrite]]]],
    respond: Respond,
    sizes: list[int],
) -> Decide:
    """The answer to a repeated request: success, charged as reads of what was written then."""
    tables, wanted = yield from item_writes()
    receipt = Receipt(transactional=True)
    for write, size in zip(wanted, sizes or [0] * len(wanted), strict=True):
        receipt.add_read(write.table, write.key, size, consistent=True)
    return answer(respond(receipt, tables), receipt)
