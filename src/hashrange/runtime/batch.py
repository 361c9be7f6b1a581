"""Submissions that are decided in one transaction, in the order they came, and committed once.

Every decision sees the writes of those before it. One that is refused has written nothing and
drops only itself. Outcomes are set while deciding; they may be told after `commit`.
"""

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from math import ceil
from threading import Event
from typing import Any

import msgspec
from msgspec import Struct

from hashrange import kv
from hashrange.engine import transition
from hashrange.engine.decision import TableChange
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace import system
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError, InternalServerError
from hashrange.model.settings import Settings
from hashrange.operations.operation import Operation
from hashrange.runtime.catalog import Catalog, Tables
from hashrange.runtime.clock import Clock
from hashrange.runtime.drive import begin, drive
from hashrange.runtime.source import counters

CONFLICTS_MAX = 100
"""How often a batch is run again before its requests are refused."""

logger = logging.getLogger("hashrange")
encode_response = msgspec.json.Encoder().encode

Outcome = bytes | BaseException


class Submission(Struct, eq=False):
    """A parsed request on its way to a commit. `outcome` is None until it is known.

    It stands when it is `settled`. One that came from an event loop has `done`, to be called on
    that `loop` with the outcome; a thread that sleeps is woken by `news`.
    """

    operation: Operation
    request: Any
    size_bytes: int
    entropy: bytes
    caller: Caller
    settings: Settings
    done: Callable[[Outcome], None] | None = None
    loop: AbstractEventLoop | None = None
    news: Event | None = None
    settled: bool = False
    outcome: Outcome | None = None


def internal_error(error: BaseException) -> InternalServerError:
    """Our own mistake, or the disk's: the log has it, the caller learns that it failed."""
    if isinstance(error, kv.StoreError):
        logger.error("storage: %s", error)
    else:
        logger.error("unexpected %s", type(error).__name__, exc_info=error)
    return InternalServerError("Internal server error")


class Batch:
    """`now` and the catalog are those of its transaction."""

    def __init__(
        self, store: kv.Store, catalog: Catalog, clock: Clock, submissions: Sequence[Submission]
    ) -> None:
        self.submissions = submissions
        self.needs_upkeep = False
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._transaction: kv.Transaction | None = None

    def decide(self, transaction: kv.Transaction) -> None:
        """Every submission has an outcome afterwards, to be told after `commit`."""
        self._transaction = None
        try:
            wrote = self._decide(transaction)
        except BaseException as error:
            self._rollback(transaction)
            self.fail(error)
            return
        if wrote:
            self._transaction = transaction
        else:
            self._rollback(transaction)

    @property
    def has_writes(self) -> bool:
        return self._transaction is not None

    def commit(self) -> None:
        """Commit, and tell every submission its outcome.

        After a `Conflict` nothing was written, and all of it is decided again on what is there
        now. After any other error nothing is run again: after `OutcomeUnknown` the writes may be
        there, so a second run could do them twice.
        """
        for _ in range(CONFLICTS_MAX):
            if self._transaction is None:
                return
            try:
                self._transaction.commit()
                return
            except kv.Conflict:
                self._decide_again()
            except BaseException as error:
                self.fail(error)
                return
        if self._transaction is not None:
            self._rollback(self._transaction)
            self.fail(kv.Conflict(f"lost {CONFLICTS_MAX} races"))

    def _decide_again(self) -> None:
        try:
            transaction = self._store.begin()
        except kv.StoreError as error:
            self.fail(error)
        else:
            self.decide(transaction)

    def fail(self, error: BaseException) -> None:
        """Answer every submission InternalServerError, which does not say what was written.

        Raises `error` itself if it is not an Exception.
        """
        self._transaction = None
        refusal = internal_error(error)
        for submission in self.submissions:
            submission.outcome = refusal
        if not isinstance(error, Exception):
            raise error

    def _rollback(self, transaction: kv.Transaction) -> None:
        try:
            transaction.rollback()
        except kv.StoreError as error:
            internal_error(error)

    def _decide(self, transaction: kv.Transaction) -> bool:
        """Returns whether anything was written."""
        version, clock = counters(transaction, system.CATALOG_VERSION, system.CLOCK)
        self._clock.observe(clock)
        now = self._clock.now()
        tables = self._catalog.at(version)
        wrote = self.needs_upkeep = False
        for submission in self.submissions:
            writes, table_changes = _decide_one(submission, now, transaction, tables)
            if writes:
                transaction.write(writes)
                wrote = True
            if table_changes:
                tables = {}
                self.needs_upkeep |= any(change.old for change in table_changes)
        if wrote:
            milliseconds = ceil(now * 1000)
            if milliseconds > clock:
                transaction.write([kv.Max(system.CLOCK, milliseconds)])
        return wrote


def _decide_one(
    submission: Submission, now: float, transaction: kv.Transaction, tables: Tables
) -> tuple[list[kv.Write], list[TableChange]]:
    """Sets the outcome; returns the writes, and which tables' definitions they change."""
    moment = Moment(now, submission.entropy, submission.caller, submission.settings)
    try:
        decide = begin(submission.operation, submission.request, moment, transaction, tables)
        decision = drive(decide, transaction, tables)
        writes = transition.derive(decision, now)
        submission.outcome = encode_response(decision.response())
    except ApiError as refusal:
        submission.outcome = refusal
        return [], []
    except kv.StoreError:
        raise
    except Exception as error:
        submission.outcome = internal_error(error)
        return [], []
    return writes, [change for change in decision.changes if isinstance(change, TableChange)]
