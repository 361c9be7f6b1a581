"""Requests that are decided in one transaction, in the order they came, and committed once.

Each decision sees the writes of those before it. A request that is refused writes nothing, and
does not affect the others. Outcomes are set while deciding; the callers get them after the commit.
"""

import logging
import os
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Generator, Sequence
from math import ceil
from threading import Event
from typing import Any

import msgspec
from msgspec import Struct

from hashrange import kv
from hashrange.engine import transition
from hashrange.engine.capacity import Charge, Receipt
from hashrange.engine.decision import Decision, TableChange
from hashrange.engine.fetch import Admit, Moment
from hashrange.engine.keyspace import system
from hashrange.engine.price import UNITS_MAX, is_long, price
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError, InternalServerError
from hashrange.model.tables import Index, Table, VectorIndex
from hashrange.operations.operation import Operation
from hashrange.runtime.decisions import Costly, Memory, Proposal, begin
from hashrange.runtime.environment import HEAD, Environment
from hashrange.runtime.meter.account import Account
from hashrange.runtime.meter.metered import metered

BATCH_REQUESTS_MAX = 128
BATCH_BYTES_MAX = 8 * 1024 * 1024
BATCH_SECONDS_MAX = 0.01
"""After this time a batch ends; the rest of its requests wait for the next one."""
BULK_SECONDS_MAX = 0.1
"""The same for a batch of bulk writes: enough for all that are submitted together."""

ENTROPY_BYTES = 16

CONFLICTS_MAX = 100
"""How often a batch is decided before its requests are refused.

While several servers keep changing the same few items, two attempts out of three may fail.
"""

logger = logging.getLogger("hashrange")
encode_response = msgspec.json.Encoder().encode

Outcome = bytes | BaseException
"""The body of the response, or the error."""

Done = Callable[[Outcome], None]


class Submission(Struct, eq=False):
    """A parsed request on its way to a commit.

    `outcome` is None until it is decided, and is final when the submission is `settled`. If it
    came from an event loop, `done` is called on that `loop` with the outcome. `news` wakes a
    thread that sleeps until then. If it is costly and has been decided aside, it has a `proposal`;
    `attempts` counts the proposals that could not be committed. A batch whose first submission is
    `bulk` may take longer, and others wait as long.
    """

    operation: Operation
    request: Any
    body: bytes
    entropy: bytes
    caller: Caller
    done: Done | None = None
    loop: AbstractEventLoop | None = None
    news: Event | None = None
    account: Account | None = None
    settled: bool = False
    outcome: Outcome | None = None
    proposal: Proposal | None = None
    attempts: int = 0
    bulk: bool = False

    def price(self, answer: kv.Answer) -> int:
        return price(self.operation.weight(self.request), self.body, answer)


def submission_of(
    operation: Operation, request: Any, body: bytes, caller: Caller, done: Done | None = None
) -> Submission:
    entropy = os.urandom(ENTROPY_BYTES) if operation.random else b""
    return Submission(operation, request, body, entropy, caller, done)


def take(waiting: deque[Submission]) -> list[Submission]:
    """The submissions of the next batch, in the order they came."""
    taken: list[Submission] = []
    size = 0
    while waiting and len(taken) < BATCH_REQUESTS_MAX and size < BATCH_BYTES_MAX:
        submission = waiting.popleft()
        if submission.loop and submission.loop.is_closed() and submission.proposal is None:
            continue  # there is no longer a caller to tell
        size += len(submission.body)
        taken.append(submission)
    return taken


def call_done(submissions: Sequence[Submission]) -> None:
    for submission in submissions:
        if submission.done and submission.outcome is not None:
            tell(submission.done, submission.outcome)


def tell(done: Done, outcome: Outcome) -> None:
    try:
        done(outcome)
    except Exception:  # an error in one caller must not keep the others waiting
        logger.exception("a caller could not be told of its outcome")


def internal_error(error: BaseException) -> InternalServerError:
    """The caller's error for a bug of ours or a failure of the store, which is logged.

    Only an Exception is logged: anything else, such as Ctrl-C, is raised again by the caller. The
    `__cause__` of the returned error is `error`.
    """
    if isinstance(error, kv.StoreError):
        logger.error("storage: %s", error)
    elif isinstance(error, Exception):
        logger.error("unexpected %s", type(error).__name__, exc_info=error)
    refusal = InternalServerError("Internal server error")
    refusal.__cause__ = error
    return refusal


def _gone(change: TableChange) -> set[int]:
    """The spaces of the table and of its indexes that a change drops."""
    old, new = ({each.space for each in _sources(table)} for table in change)
    return old - new


def _sources(table: Table | None) -> tuple[Table | Index | VectorIndex, ...]:
    return () if table is None else (table, *table.declared_indexes)


class Batch(Struct, eq=False):
    """`memory` is set on an asynchronous store, where a batch may have to be decided again.

    `submissions` are those of the batch, and at its end those that it has decided. The others are
    `costly`, and have to be decided aside, or `late`: the time of the batch was over, or the
    submissions before them had read too much.
    """

    environment: Environment
    submissions: Sequence[Submission]
    memory: Memory | None = None
    costly: Sequence[Submission] = ()
    late: Sequence[Submission] = ()
    needs_upkeep: bool = False
    """Whether the batch changed or dropped a table."""

    def decide(self) -> Generator[kv.Read | list[kv.Write], Any, list[kv.Write] | None]:
        """Decide every submission, and set its outcome.

        Yields reads, and writes that later reads must see. Returns the remaining writes, or
        None if there is nothing to commit.
        """
        head: tuple[bytes | None, int] = yield HEAD
        tables, now = self.environment.at(head)
        settings, meter = self.environment.settings, self.environment.meter
        follow, back_pressure = self.environment.indexes_follow, self.environment.back_pressure
        if back_pressure is not None and back_pressure.throttled_tables():
            settings = back_pressure.with_admission(settings)
        else:
            back_pressure = None
        timer, memory = self.environment.clock.timer, self.memory
        deadline = self._deadline() if len(self.submissions) > 1 else 0.0
        self.needs_upkeep = redefined = wrote = False
        writes: list[kv.Write] = []
        decided = 0
        costly: list[Submission] = []
        for submission in self.submissions:
            if decided and (timer() > deadline if memory is None else memory.is_full):
                break
            decided += 1
            if writes:
                yield writes
                writes, wrote = [], True
            account = submission.account
            if account is not None:
                account.asked = 0
            elif meter is not None and meter.enforced:
                account = submission.account = Account(meter, now)
            try:
                if submission.proposal is not None:
                    writes = yield from self._carry_out(submission, submission.proposal, now)
                    continue
                caller, entropy = submission.caller, submission.entropy
                moment = Moment(now, entropy, caller, settings, 0.0, follow)
                steps = begin(submission.operation, submission.request, moment, tables)
                if back_pressure is not None:
                    steps = back_pressure.admit(steps)
                if memory is not None:
                    steps = memory.steps(id(submission), (head[0], redefined), steps)
                # In a generator of its own, this loop would be resumed again for each read.
                reply: Any = None
                units = 0
                try:
                    while True:
                        read = steps.send(reply)
                        if account is not None and type(read) is Admit:
                            reply = account.limits(read)
                            continue
                        reply = yield read
                        if type(reply) is list and is_long(reply):
                            units += submission.price(reply)
                            if units > UNITS_MAX:
                                raise Costly
                except StopIteration as end:
                    decision: Decision = end.value
                writes = self._conclude(submission, decision, now)
            except Costly:
                costly.append(submission)
            except Exception as error:
                submission.outcome = self._refusal(submission, error, now)
            else:
                for change in decision.changes:
                    if type(change) is TableChange:
                        tables, redefined = {}, True
                        self._redefine(change)
        if costly or decided < len(self.submissions):
            self._leave(costly, decided)
        if not wrote and not writes:
            return None
        if redefined:
            writes.append(system.new_version(os.urandom(8)))
        if (milliseconds := ceil(now * 1000)) > head[1]:
            writes.append(kv.Max(system.CLOCK, milliseconds))
        return writes

    def _deadline(self) -> float:
        seconds = BULK_SECONDS_MAX if self.submissions[0].bulk else BATCH_SECONDS_MAX
        return self.environment.clock.timer() + seconds

    def _carry_out(
        self, submission: Submission, proposal: Proposal, now: float
    ) -> Generator[kv.Read, Any, list[kv.Write]]:
        """The writes of a decision that was made aside. Raises Costly if it no longer holds."""
        if not (yield from proposal.holds()):
            raise Costly
        response = proposal.response
        if isinstance(response, ApiError):
            submission.outcome = self._refusal(submission, response, now)
        else:
            submission.outcome = self._charged(submission, response, proposal.receipt, now)
        return transition.postponed(proposal.writes, now)

    def _conclude(self, submission: Submission, decision: Decision, now: float) -> list[kv.Write]:
        """The writes of a decision, after its outcome is set."""
        writes = transition.derive(decision, now)
        try:
            response = encode_response(decision.response())
        except ApiError as error:
            submission.outcome = self._refusal(submission, error, now)
            return writes
        if self.environment.meter is not None:
            response = self._charged(submission, response, decision.receipt, now)
        submission.outcome = response
        return writes

    def _charged(
        self, submission: Submission, response: bytes, receipt: Receipt | Charge | None, now: float
    ) -> bytes:
        """The response, after its units are charged."""
        meter = self.environment.meter
        if meter is None or receipt is None:
            return response
        (submission.account or meter).charge(receipt, now)
        return metered(response, receipt) if meter.tells else response

    def _refusal(self, submission: Submission, error: Exception, now: float) -> ApiError:
        """The outcome of a request whose decision raised an error, after its units are charged."""
        if not isinstance(error, ApiError):
            return internal_error(error)
        meter = self.environment.meter
        if meter is not None and error.receipt is not None:
            (submission.account or meter).charge(error.receipt, now)
        # The traceback would keep the rows that were read in memory, in a cycle.
        return error.with_traceback(None)

    def _redefine(self, change: TableChange) -> None:
        self.needs_upkeep |= change.old is not None
        if self.environment.meter is not None:
            self.environment.meter.redefine(change.new, _gone(change))

    def _leave(self, costly: list[Submission], decided: int) -> None:
        """Take out the costly submissions, and those after the first `decided`."""
        late = list(self.submissions[decided:])
        for submission in late:
            submission.outcome = None  # it may be from before a conflict
        self.submissions = [each for each in self.submissions[:decided] if each not in costly]
        self.costly = [*self.costly, *costly]
        self.late = [*self.late, *late]

    def fail(self, error: BaseException) -> None:
        """Answer every submission with an internal error. Raises an `error` that is no Exception.

        Nothing of the batch was written, unless the error is `kv.OutcomeUnknown`: then all of it
        may have been written.
        """
        self.refuse(internal_error(error))
        if not isinstance(error, Exception):
            raise error

    def refuse(self, refusal: ApiError) -> None:
        """Answer every submission with the same error. Nothing of the batch was written."""
        for submission in self.submissions:
            submission.outcome = refusal
