"""A store that follows a migration: it changes each of its requests as the phase requires."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.protocols.queries import Page
from hashrange.design.errors import Conflict, InvalidCursor
from hashrange.design.execute.observation import Observer
from hashrange.design.execute.reads.pattern_calls import BoundPattern, PatternCall
from hashrange.design.execute.stamps import EPOCH, OTHER_OWNER
from hashrange.design.execute.steps import ApiCall, ApiFailure, Pause, Steps, T, through
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.migrate.counting import Counting
from hashrange.design.migrate.evaluation import CONDITION_FAILED, answer, refusal
from hashrange.design.migrate.lease import Lease, LeaseOver
from hashrange.design.migrate.phases import READS_NEW, MigrationError, Phase, State
from hashrange.design.migrate.sides import Side
from hashrange.design.migrate.writing import Part, Translation, fenced, needs_images

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})
ATTEMPTS = 12
LONGEST_PAUSE_SECONDS = 0.5
HAS_NEW = frozenset({*READS_NEW, Phase.VERIFY})
"""The phases in which all new items exist. After a `back`, reads of them may end in VERIFY."""
COUNTED = frozenset({Phase.OLD, Phase.EXPAND})
_CHANGES = frozenset({CONDITION_FAILED, "TransactionConflict"})
"""The cancellation reasons after which a transaction is prepared again from the stored items."""


class NewGeneration(str):
    """A table's name, in requests that read new items."""


class FollowingSteps(StoreSteps):
    """The steps of a store that follows a migration.

    `shadows` are the patterns of the old model, planned on the keys of the new one.
    """

    def __init__(
        self,
        side: Side,
        patterns: Sequence[Pattern],
        shadows: Mapping[str, PatternCall],
        lease: Lease,
        observe: Observer | None,
        cursor_key: bytes | None,
        counting: Counting | None = None,
    ) -> None:
        super().__init__(side.model, patterns, observe, cursor_key)
        self.side = side
        self.shadows = shadows
        self.lease = lease
        self.counting = counting

    # ---- patterns ----

    def known(self, bound: BoundPattern) -> BoundPattern | None:
        """The pattern, planned on the keys of the old or the new items, as the phase requires.

        None if the program's lease has ended, so that the phase is not known.
        """
        if not self.lease.holds():
            return None
        return self._shadow(bound) if self.lease.state.phase in READS_NEW else bound

    def resolved(self, bound: BoundPattern) -> Steps[BoundPattern]:
        """Like `known`, but renews a lease that has ended."""
        state = yield from self.lease.current()
        return self._shadow(bound) if state.phase in READS_NEW else bound

    def _shadow(self, bound: BoundPattern) -> BoundPattern:
        call = self.shadows.get(bound.call.pattern.name)
        if call is None or bound.call is call:
            return bound
        if bound.builder is bound.call.complete:
            builder = call.complete
        else:
            names = (argument.name for argument in bound.call.pattern.arguments)
            builder = call.builders[frozenset(n for n in names if bound.arguments.get(n) is None)]
        return BoundPattern(call, builder, bound.arguments, bound.took, bound.reverse, bound.limit)

    def page(
        self, bound: BoundPattern, size: int, at: str | None, max_read: int | None, collect: bool
    ) -> Steps[Page[Any]]:
        """Read a page of a query. A cursor continues in the items, old or new, it was made for."""
        now = yield from self.resolved(bound)
        other = bound if now is not bound else self._shadow(bound)
        try:
            page = yield from super().page(now, size, at, max_read, collect)
        except InvalidCursor:
            lost = other is not bound and self.lease.state.phase not in HAS_NEW
            if at is None or other is now or lost:
                raise
            now = other
            page = yield from super().page(now, size, at, max_read, collect)
        bound.took = now.took
        return page

    # ---- requests ----

    def follow(self, steps: Steps[T]) -> Steps[T]:
        """Run the same steps, but change each request as the phase of the migration requires."""
        followed = through(steps, self._answered)
        return followed if self.lease.holds() else self._renewed(followed)

    def _renewed(self, steps: Steps[T]) -> Steps[T]:
        yield from self.lease.current()
        return (yield from steps)

    def _answered(self, request: ApiCall | Pause) -> Steps[dict[str, Any]]:
        if isinstance(request, Pause):
            return _paused(request)
        if request.operation in WRITES:
            return self._write(request)
        if request.operation == "BatchWriteItem":
            return self._write_batch(request)
        return self._read(request)

    # ---- reads ----

    def _read(self, call: ApiCall) -> Steps[dict[str, Any]]:
        lease = self.lease
        for _ in range(ATTEMPTS):
            state = lease.state if lease.holds() else (yield from lease.current())
            response = yield self._readable(call, state)
            if not lease.holds():
                renewed = yield from lease.current()
                if (renewed.phase, renewed.epoch) != (state.phase, state.epoch):
                    continue
            item = response.get("Item")
            if item is not None and OTHER_OWNER in item:
                response = {**response, "Item": self.side.seen(item)}
            return response
        raise MigrationError(
            "the phase of the migration changed during each attempt to read: read again"
        )

    def _readable(self, call: ApiCall, state: State) -> ApiCall:
        """The request, with a plain table name instead of a NewGeneration.

        Raises MigrationError if it reads new items in a phase in which some of them do not exist.
        """
        name = call.payload.get("TableName") or next(iter(call.payload.get("RequestItems", [""])))
        if not isinstance(name, NewGeneration):
            return call
        if state.phase not in HAS_NEW:
            raise MigrationError(
                "the migration went back to an earlier phase during the read: repeat the read"
            )
        if "TableName" in call.payload:
            return ApiCall(call.operation, {**call.payload, "TableName": str(name)})
        asked = {str(table): keys for table, keys in call.payload["RequestItems"].items()}
        return ApiCall(call.operation, {**call.payload, "RequestItems": asked})

    # ---- writes ----

    def _write_batch(self, call: ApiCall) -> Steps[dict[str, Any]]:
        """Send the writes of a batch one by one, since each may need a mirror."""
        kinds = {"PutRequest": "PutItem", "DeleteRequest": "DeleteItem"}
        for table, requests in call.payload["RequestItems"].items():
            for request in requests:
                [(kind, parameters)] = request.items()
                yield from self._write(ApiCall(kinds[kind], {"TableName": table, **parameters}))
        return {}

    def _write(self, call: ApiCall) -> Steps[dict[str, Any]]:
        if self.counting is not None and (yield from self.lease.current()).phase in COUNTED:
            yield from self.counting.note(call)
        longest, late = 0.01, 0
        for _ in range(ATTEMPTS):
            state = yield from self.lease.current()
            translated = call.payload.get("ClientRequestToken") is not None
            try:
                if translated or needs_images(self.side, state, call):
                    response = yield from self._translated(call, state)
                else:
                    response = yield from self._fenced(call, state)
            except LeaseOver as over:
                if over.attempts:
                    raise MigrationError(
                        "a write got no answer before its lease ended, so it may have happened: "
                        "read the item before you write again"
                    ) from None
                response, late = None, late + 1
            if response is not None:
                return response
            self.lease.end()
            yield Pause(random.uniform(0, longest))
            longest = min(2 * longest, LONGEST_PAUSE_SECONDS)
        if late == ATTEMPTS:
            raise MigrationError(
                f"no write could be signed within the lease of {self.lease.seconds:g} s: raise "
                "lease_seconds of the migration, in all programs"
            )
        raise Conflict(f"other writers changed the item at each of {ATTEMPTS} attempts")

    def _send(self, call: ApiCall) -> Steps[dict[str, Any]]:
        try:
            return (yield call._replace(sign_until=self.lease.until))
        except ApiFailure as failure:
            if isinstance(failure.original, LeaseOver):
                raise failure.original from None
            raise

    def _fenced(self, call: ApiCall, state: State) -> Steps[dict[str, Any] | None]:
        """Send a write without mirrors. Returns None if an item has a later epoch than `state`."""
        try:
            return (yield from self._send(fenced(self.side, state, call)))
        except ApiFailure as failure:
            stored = [failure.item, *(reason.get("Item") for reason in failure.reasons)]
            epochs = [int(item[EPOCH]["N"]) for item in stored if item and EPOCH in item]
            if any(epoch > state.epoch for epoch in epochs):
                return None
            raise

    def _translated(self, call: ApiCall, state: State) -> Steps[dict[str, Any] | None]:
        """Send a write as a transaction that also writes mirrors, markers and checks.

        Returns None if the transaction must be prepared again.
        """
        translation = Translation(self.side, state)
        yield from translation.read(call)
        parts = translation.write(call.payload.get("ClientRequestToken"))
        request = {
            "TransactItems": [part.action for part in parts],
            "ReturnConsumedCapacity": call.payload.get("ReturnConsumedCapacity", "NONE"),
        }
        try:
            response = yield from self._send(ApiCall("TransactWriteItems", request))
        except ApiFailure as failure:
            return self._cancelled(call, parts, failure)
        old, new = translation.images_of_first
        return answer(call, old, new, response)

    def _cancelled(
        self, call: ApiCall, parts: Sequence[Part], failure: ApiFailure
    ) -> dict[str, Any] | None:
        """The response to a request whose transaction failed: empty if its token was used before.

        Returns None if the transaction must be prepared again. Otherwise raises the error for the
        caller.
        """
        if failure.code != "TransactionCanceledException":
            raise failure
        codes = [reason.get("Code") for reason in failure.reasons]
        outcomes = list(zip(parts, codes, strict=False))
        if any(part.receipt and code == CONDITION_FAILED for part, code in outcomes):
            return {}
        reasons = zip(parts, failure.reasons, strict=False)
        members = {
            part.member: reason.get("Item")
            for part, reason in reasons
            if part.member is not None and reason.get("Code") == CONDITION_FAILED
        }
        if members:
            raise refusal(call, members) from failure
        if any(code in _CHANGES for code in codes):
            return None
        raise failure


def _paused(pause: Pause) -> Steps[dict[str, Any]]:
    return (yield pause)
