"""Requests that write, decided and committed in batches, several of them at once.

Requests that arrive within a moment go into one batch. A batch begins as soon as a place is free;
requests that arrive while all places are taken form the next batch. Requests for the same items
stay in order (`tickets`).

A batch may fail because it did not get a lock in time, or because one of several machines cannot be
reached. Then each of its requests is decided again in a batch of its own. So a row that stays
locked delays only the requests for this row.
"""

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from hashrange import kv
from hashrange.model.errors import ApiError
from hashrange.runtime.aside.jobs import Jobs
from hashrange.runtime.awaited.backlog import Backlog, throttled
from hashrange.runtime.awaited.divided import parts_of
from hashrange.runtime.awaited.drive import run_batch
from hashrange.runtime.awaited.locked import LockedTickets
from hashrange.runtime.awaited.machines import ONE, SEVERAL, machine_of
from hashrange.runtime.awaited.tickets import EVERY, Ticket, take, tickets_of
from hashrange.runtime.batch import BATCH_REQUESTS_MAX, Batch, Submission
from hashrange.runtime.decisions import Suspended, begin, is_timeless
from hashrange.runtime.ending import Done, Outcome, call_on, internal_error, tell
from hashrange.runtime.environment import Environment
from hashrange.runtime.gathering import Gathering, Spawn


class Line:
    """The requests that wait for one machine, and the number of batches under way there.

    Requests that are decided `apart` have a separate line, and each of them has its own batch.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        start: Callable[["Line"], None],
        machine: int,
        batches_max: int,
        apart: bool,
    ) -> None:
        self.waiting: deque[Submission] = deque()
        self.machine = machine
        self.batches = 0
        self.batches_max = 1 if apart else batches_max
        self.requests_max = 1 if apart else BATCH_REQUESTS_MAX
        begin = partial(start, self)
        patient = machine not in (ONE, SEVERAL)
        self.gathering = Gathering(loop, self.waiting, BATCH_REQUESTS_MAX, begin, patient)


class Writes:
    """The requests that write, and their batches.

    Call its methods on the loop, unless their description says otherwise. `prepare` is awaited
    before the first batch. At most `batches_max` batches are under way at once for each machine.
    `committed` is called with the writes of each batch.
    """

    def __init__(
        self,
        store: kv.AsyncStore,
        loop: AbstractEventLoop,
        environment: Environment,
        jobs: Jobs,
        spawn: Spawn,
        prepare: Callable[[], Coroutine[Any, Any, None]],
        wake_upkeep: Callable[[], None],
        committed: Callable[[Sequence[kv.Write]], None],
    ) -> None:
        self.refusal = ""
        """The reason why all writes are refused; empty if they are not."""
        self.batches_max = max(1, store.connections_max // 2)
        self._store = store
        self._loop = loop
        self._environment = environment
        self._jobs = jobs
        self._spawn = spawn
        self._prepare = prepare
        self._wake_upkeep = wake_upkeep
        self._committed = committed
        self._backlog = Backlog(loop, self._overdue, environment.clock.timer)
        self._lines: dict[tuple[int, bool], Line] = {}
        """The lines by two keys: the machine (`SEVERAL` for requests that concern several
        machines), and whether each request has a batch of its own."""
        self._held: set[Ticket] = set()
        self._locked = LockedTickets()

    def __len__(self) -> int:
        return len(self._backlog)

    def add(self, submission: Submission) -> None:
        self._enter(submission, self._queue)

    def add_aside(self, submission: Submission) -> None:
        """Like `add`, but for a request that is parsed and decided aside."""
        self._enter(submission, self._propose)

    def _enter(self, submission: Submission, go_on: Callable[[Submission], None]) -> None:
        try:
            self._backlog.enter(submission, len(submission.body))
        except ApiError as refusal:
            self._tell(submission.done, refusal)
            return
        go_on(submission)

    def _queue(self, submission: Submission) -> None:
        self._look_ahead(submission)
        tables = self._environment.catalog.known[1]
        if parts := parts_of(submission, tables, self._store):
            self._backlog.divide(submission, [(part, len(part.body)) for part in parts])
            for part in parts:
                self._queue(part)
            return
        submission.apart |= self._locked.has(submission.tickets)
        line = self._line_of(submission)
        line.waiting.append(submission)
        if line.batches < line.batches_max:
            line.gathering.begin(line.batches)

    def _line_of(self, submission: Submission) -> Line:
        key = submission.machine, submission.apart
        line = self._lines.get(key)
        if line is None:
            machine, apart = key
            line = Line(self._loop, self._start, machine, self.batches_max, apart)
            self._lines[key] = line
        return line

    # ---- what a submission will read ----

    def _look_ahead(self, submission: Submission) -> None:
        if submission.proposal is not None:
            submission.first = [read for read, _ in submission.proposal.reads]
            submission.tickets = tickets_of(submission.first)
        else:
            self._begin(submission)
        if self._store.machine_of(b"") is not None:
            elsewhere = EVERY in submission.tickets
            submission.machine = SEVERAL if elsewhere else machine_of(self._store, submission.first)

    def _begin(self, submission: Submission) -> None:
        """Run the decision up to its first read. If possible, the batch continues from there."""
        environment = self._environment
        version, tables = environment.catalog.known
        now = environment.clock.now()
        moment = environment.moment(now, submission.caller, submission.entropy)
        try:
            steps = begin(submission.operation, submission.request, moment, tables)
            read = next(steps)
        except Exception:  # a refusal or a bug: it will recur in the batch
            return
        submission.first = [read, *_ahead(read)]
        if submission.operation.on_table:
            if not is_timeless(read):
                submission.tickets = frozenset([EVERY])
                return
            submission.suspended = Suspended(steps, read, version)
        submission.tickets = tickets_of(submission.first)

    # ---- batches ----

    def _start(self, line: "Line") -> None:
        while line.waiting and line.batches < line.batches_max:
            wanted = self._wanted_by_others(line)
            submissions = take(line.waiting, self._held, wanted, line.requests_max)
            if not submissions:
                return
            for submission in submissions:
                submission.running = True
                self._held |= submission.tickets
            line.batches += 1
            self._spawn(self._run(line, submissions))

    def _wanted_by_others(self, line: "Line") -> set[Ticket]:
        """The tickets of waiting requests that concern several machines.

        These requests precede requests for one machine. Otherwise they might never find all of
        their tickets free.
        """
        several = self._lines.get((SEVERAL, False))
        if several is None or several is line:
            return set()
        return {ticket for submission in several.waiting for ticket in submission.tickets}

    async def _run(self, line: "Line", submissions: Sequence[Submission]) -> None:
        batch = Batch(self._environment, submissions)
        first = [read for submission in submissions for read in submission.first]
        try:
            await self._decide_and_commit(batch, first)
        except GeneratorExit:  # the loop is gone: the outcome is not known
            raise
        except BaseException:
            self._end(batch, line, submissions)
            raise
        self._end(batch, line, submissions)

    async def _decide_and_commit(self, batch: Batch, first: Sequence[kv.Read]) -> None:
        try:
            if self.refusal:
                raise kv.Damaged(self.refusal)
            await self._prepare()
        except GeneratorExit:
            raise
        except BaseException as error:
            batch.fail(error)
        else:
            writes = await run_batch(batch, self._store, first)
            self._committed(writes)

    def _end(self, batch: Batch, line: "Line", submissions: Sequence[Submission]) -> None:
        line.batches -= 1
        costly, late = set(batch.costly), set(batch.late)
        left = [each for each in submissions if each in late and each in self._backlog]
        line.waiting.extendleft(reversed(left))
        tickets = (ticket for submission in submissions for ticket in submission.tickets)
        self._locked.note(tickets, type(batch.failure) is kv.Locked, self._loop.time())
        if len(batch.submissions) > 1 and _is_divided(batch.failure, line.machine):
            left += self._divide(batch)
        for submission in submissions:
            self._held -= submission.tickets
            if submission in costly:
                self._propose(submission)
            elif submission in left:
                submission.running = False
            else:
                self._answer(submission)
        if batch.needs_upkeep:
            self._wake_upkeep()
        for each in self._lines.values():
            if each.waiting and each.batches < each.batches_max:
                each.gathering.begin(each.batches)

    def _divide(self, batch: Batch) -> list[Submission]:
        """Queue the submissions of a failed batch again, each for a batch of its own.

        Submissions whose callers no longer wait are dropped.
        """
        divided = [submission for submission in batch.submissions if submission in self._backlog]
        for submission in divided:
            submission.outcome = submission.earlier = None
            submission.apart = True
            self._line_of(submission).waiting.append(submission)
        return divided

    def _answer(self, submission: Submission) -> None:
        if submission.proposal is not None:
            self._jobs.settled()
        if self._backlog.leave(submission) and submission.outcome is not None:
            self._tell(submission.done, submission.outcome)

    def _overdue(self, submission: Any) -> None:
        """Tell a caller that it has waited too long. Its write may still be committed."""
        if submission.running:
            outcome: ApiError = internal_error(kv.OutcomeUnknown("the database has not answered"))
        else:
            outcome = throttled()
            with suppress(ValueError):
                self._line_of(submission).waiting.remove(submission)
                if submission.proposal is not None:
                    self._jobs.settled()
        self._tell(submission.done, outcome)

    def _tell(self, done: Done | None, outcome: Outcome) -> None:
        if done is not None:
            tell(done, outcome)

    # ---- costly submissions, which are decided aside ----

    def _propose(self, submission: Submission) -> None:
        """Have a submission decided aside. Its proposal then goes into a batch."""
        submission.running = False
        self._jobs.propose(submission, partial(call_on, self._loop, self._go_on, submission))

    def _go_on(self, submission: Submission, in_batch: bool) -> None:
        if in_batch and submission in self._backlog:
            self._queue(submission)
        else:  # if it is no longer in the backlog, its caller was told that nothing was written
            self._answer(submission)


def _ahead(first: kv.Read) -> list[kv.Read]:
    """The reads that a decision will probably make after its first read."""
    keys = first.then if type(first) is kv.Get else ()
    return [kv.Get((key,)) for key in keys]


def _is_divided(failure: BaseException | None, machine: int) -> bool:
    """Whether some requests of a failed batch may succeed in batches of their own."""
    if type(failure) is kv.Locked:
        return True
    return machine == SEVERAL and type(failure) is kv.StoreError
