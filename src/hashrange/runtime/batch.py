"""Requests that are decided in one transaction, in the order of arrival, and committed once.

Each decision sees the writes of earlier decisions. A refused request writes nothing, and does not
affect other requests. Outcomes are set by the decisions, but callers get them after the commit.
"""

import os
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from math import ceil
from threading import Event
from typing import Any

from msgspec import Struct

from hashrange import kv
from hashrange.engine import transition
from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.cost import UNITS_MAX, cost, is_long
from hashrange.engine.decision import BackupChange, Decision, JobChange, TableChange
from hashrange.engine.fetch import Admit, Moment
from hashrange.engine.keyspace import system
from hashrange.metering.account import Account
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError, ThrottlingException
from hashrange.model.tables import Index, Table, VectorIndex
from hashrange.operations.operation import Operation
from hashrange.paging import bytes_of
from hashrange.runtime.decisions import Costly, Proposal, Reading, Suspended, begin, concluded
from hashrange.runtime.ending import Done, Outcome, charged, internal_error, refused, tell
from hashrange.runtime.environment import HEAD, Environment

BATCH_REQUESTS_MAX = 128
BATCH_BYTES_MAX = 8 * 1024 * 1024
BATCH_SECONDS_MAX = 0.01
"""The time after which no further request of a batch is decided. The remaining requests wait for
the next batch."""
BULK_SECONDS_MAX = 0.1
"""The time limit of a batch that begins with a bulk write. It is long enough for all writes that
are submitted together."""

ENTROPY_BYTES = 16

CONFLICTS_MAX = 100
"""The number of attempts to commit a batch after which its requests are refused.

While several servers keep changing the same few items, two attempts out of three may fail.
"""


class Submission(Struct, eq=False):
    """A parsed request on its way to a commit.

    `outcome` is None until the request is decided. `done` is called with the outcome on an event
    loop. A costly request that has been decided aside has a `proposal`; `attempts` counts the
    proposals that could not be committed.
    """

    operation: Operation
    request: Any
    body: bytes
    entropy: bytes
    caller: Caller
    done: Done | None = None
    account: Account | None = None
    outcome: Outcome | None = None
    proposal: Proposal | None = None
    attempts: int = 0

    # ---- over a synchronous store ----

    settled: bool = False
    """Whether the outcome is final."""
    loop: AbstractEventLoop | None = None
    """The event loop that the request came from."""
    news: Event | None = None
    """Wakes a thread that sleeps until the outcome is final."""
    bulk: bool = False
    """Whether the request is a bulk write. A batch that begins with a bulk write may take up to
    BULK_SECONDS_MAX, and other requests wait for that time."""

    # ---- over an asynchronous store ----

    first: Sequence[kv.Read] = ()
    """The reads that the decision will make, as far as they are known beforehand."""
    suspended: Suspended | None = None
    """The decision, if it was begun before the batch."""
    earlier: Proposal | None = None
    """The last decision of the request. It is used again if the batch is decided again and the
    reads of the decision still have the same answers."""
    tickets: frozenset[kv.Key] = frozenset()
    machine: int = 0
    running: bool = False
    """Whether the request is in a batch."""
    apart: bool = False
    """Whether the request has a batch of its own."""

    def cost(self, answer: kv.Answer) -> int:
        return cost(self.operation.weight(self.request), self.body, answer)


def submission_of(
    operation: Operation, request: Any, body: bytes, caller: Caller, done: Done | None = None
) -> Submission:
    entropy = os.urandom(ENTROPY_BYTES) if operation.random else b""
    return Submission(operation, request, body, entropy, caller, done)


def take(waiting: deque[Submission]) -> list[Submission]:
    """Take the submissions of the next batch out of `waiting`, in the order of their arrival."""
    taken: list[Submission] = []
    size = 0
    while waiting and len(taken) < BATCH_REQUESTS_MAX and size < BATCH_BYTES_MAX:
        submission = waiting.popleft()
        if submission.loop and submission.loop.is_closed() and submission.proposal is None:
            continue  # its caller is gone
        size += len(submission.body)
        taken.append(submission)
    return taken


def call_done(submissions: Sequence[Submission]) -> None:
    for submission in submissions:
        if submission.done and submission.outcome is not None:
            tell(submission.done, submission.outcome)


def _gone(change: TableChange) -> set[int]:
    """The spaces that a change drops: the spaces of a whole table, or of some of its indexes."""
    old, new = ({each.space for each in _sources(table)} for table in (change.old, change.new))
    return old - new


def _sources(table: Table | None) -> tuple[Table | Index | VectorIndex, ...]:
    return () if table is None else (table, *table.declared_indexes)


class Batch(Struct, eq=False):
    """Submissions that are decided in one transaction, and committed together.

    A batch that `remembers`, as on an asynchronous store, keeps its decisions. If the batch has to
    be decided again, only decisions whose reads would now have other answers are made again.

    `decide` leaves only decided submissions in `submissions`. Costly requests, which have to be
    decided in another process or thread, are moved to `costly`. When the time is over or the batch
    has read too much, `decide` moves the remaining submissions to `late`.
    """

    environment: Environment
    submissions: Sequence[Submission]
    remembers: bool = False
    costly: Sequence[Submission] = ()
    late: Sequence[Submission] = ()
    needs_upkeep: bool = False
    """Whether the batch changed or dropped a table, began a job, or changed a backup."""
    read_bytes: int = 0
    """The number of bytes that the remembered decisions have read."""
    failure: BaseException | None = None

    def decide(self) -> Generator[kv.Read | list[kv.Write], Any, list[kv.Write] | None]:
        """Decide the submissions, and set their outcomes.

        Yields reads, and writes that later reads must see. Returns the remaining writes, or None if
        there is nothing to commit.
        """
        head: tuple[bytes | None, int] = yield HEAD
        tables, now = self.environment.at(head)
        settings, meter = self.environment.settings, self.environment.meter
        awaited = self.environment.awaited
        follow = awaited is not None and awaited.indexes_follow
        pressure = self.environment.pressure() if follow else None
        asks = pressure is not None or (meter is not None and meter.asks)
        remembers, timer = self.remembers, self.environment.clock.timer
        deadline = self._deadline() if len(self.submissions) > 1 else 0.0
        self.needs_upkeep = redefined = wrote = False
        self.read_bytes = decided = 0
        writes: list[kv.Write] = []
        costly: list[Submission] = []
        for submission in self.submissions:
            if decided and (self._is_full() if remembers else timer() > deadline):
                break
            decided += 1
            if writes:
                yield writes
                writes, wrote = [], True
            account = submission.account
            if meter is not None:
                if account is None:
                    account = meter.account(submission.operation.name, submission.caller, now)
                    submission.account = account
                account.asked = 0
            reads: list[Reading] = []
            try:
                proposal = submission.proposal or submission.earlier
                if proposal is not None:
                    if (yield from proposal.holds((head[0], redefined))):
                        self.read_bytes += proposal.read_bytes
                        writes = self._carry_out(submission, proposal, now)
                        continue
                    if submission.proposal is not None:
                        raise Costly
                begun, submission.suspended = submission.suspended, None
                # This loop is not a generator of its own, which would have to be resumed again for
                # each read.
                reply: Any
                units = 0
                try:
                    if begun is None or begun.version != head[0] or redefined or asks:
                        caller, entropy = submission.caller, submission.entropy
                        moment = Moment(now, entropy, caller, settings, 0.0, follow, asks)
                        steps = begin(submission.operation, submission.request, moment, tables)
                        read = next(steps)
                    else:
                        steps, read = begun.steps, begun.read
                    while True:
                        if type(read) is Admit:
                            reply = (pressure or account).limits(read)  # type: ignore[union-attr]
                            read = steps.send(reply)
                            continue
                        reply = yield read
                        if remembers:
                            reads.append((read, reply))
                            self.read_bytes += bytes_of(reply)
                        if type(reply) is list and is_long(reply):
                            units += submission.cost(reply)
                            if units > UNITS_MAX:
                                raise Costly
                        read = steps.send(reply)
                except StopIteration as end:
                    decision: Decision = end.value
                writes, response = concluded(decision, now)
                receipt = decision.receipt
                submission.outcome = (
                    response if meter is None else self._ended(submission, response, receipt, now)
                )
            except Costly:
                costly.append(submission)
            except Exception as error:
                submission.outcome = refused(error, account, now)
                if remembers and isinstance(error, ApiError):
                    made = Proposal([], error, error.receipt)
                    submission.earlier = made.of(reads, (head[0], redefined))
            else:
                if remembers:
                    made = Proposal(writes, response, receipt)
                    submission.earlier = made.of(reads, (head[0], redefined))
                for change in decision.changes:
                    if type(change) is TableChange:
                        tables, redefined = {}, True
                        submission.earlier = None
                        self._redefine(change)
                    elif type(change) is JobChange:
                        self.needs_upkeep |= change.old is None
                    elif type(change) is BackupChange:
                        self.needs_upkeep = True
        if costly or decided < len(self.submissions):
            self._leave(costly, decided)
        if not wrote and not writes:
            return None
        if redefined:
            writes.append(system.new_version(os.urandom(8)))
        if (milliseconds := ceil(now * 1000)) > head[1]:
            writes.append(kv.Max(system.CLOCK, milliseconds))
        return writes

    def remembered_reads(self) -> Iterator[kv.Read]:
        """All reads of the decisions that the batch has kept."""
        for submission in self.submissions:
            proposal = submission.proposal or submission.earlier
            if proposal is not None:
                yield from [read for read, _ in proposal.reads]

    def _deadline(self) -> float:
        seconds = BULK_SECONDS_MAX if self.submissions[0].bulk else BATCH_SECONDS_MAX
        return self.environment.clock.timer() + seconds

    def _is_full(self) -> bool:
        return self.read_bytes >= kv.READ_BYTES_MAX

    def _carry_out(self, submission: Submission, proposal: Proposal, now: float) -> list[kv.Write]:
        """The writes of a proposal that is still valid. The proposal's response becomes the
        outcome."""
        submission.outcome = self._ended(submission, proposal.response, proposal.receipt, now)
        return transition.postponed(proposal.writes, now)

    def _ended(
        self,
        submission: Submission,
        response: bytes | ApiError,
        receipt: Receipt | Charge | None,
        now: float,
    ) -> bytes | ApiError:
        """The outcome of a request, after its units are charged."""
        if isinstance(response, ApiError):
            return refused(response, submission.account, now)
        return charged(response, receipt, submission.account, now)

    def _redefine(self, change: TableChange) -> None:
        self.needs_upkeep |= change.old is not None
        if self.environment.meter is not None:
            self.environment.meter.redefine(change.new, _gone(change))

    def _leave(self, costly: list[Submission], decided: int) -> None:
        """Remove the `costly` submissions from the batch, and all submissions after the first
        `decided` ones."""
        late = list(self.submissions[decided:])
        for submission in late:
            submission.outcome = submission.earlier = None  # it may be from before a conflict
        self.submissions = [each for each in self.submissions[:decided] if each not in costly]
        self.costly = [*self.costly, *costly]
        self.late = [*self.late, *late]

    def fail(self, error: BaseException) -> None:
        """Answer every submission with an internal error. If `error` is not an Exception, raise it.

        Nothing of the batch was written, unless the error is `kv.OutcomeUnknown`: then either all
        of it was written or nothing.
        """
        self.failure = error
        self.refuse(internal_error(error))
        if not isinstance(error, Exception):
            raise error

    def give_up(self) -> None:
        """Refuse every submission, because CONFLICTS_MAX attempts to commit the batch have
        failed."""
        self.refuse(ThrottlingException("Other writers keep changing the items. Try again."))

    def refuse(self, refusal: ApiError) -> None:
        """Answer every submission with the same error. Nothing of the batch was written."""
        for submission in self.submissions:
            submission.outcome = refusal
