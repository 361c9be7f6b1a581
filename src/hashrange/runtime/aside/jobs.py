"""Runs costly requests in turns, one step at a time: a step ends at the request's next read.

A request is costly if evaluating one of the rows that it has read, or all of them, would delay
other requests too long (`engine.cost`). A job starts such a request again, over a snapshot of its
own. A request that only reads is answered from the snapshot. A request that writes is decided
outside the write lock. Its writes are committed in a later batch if the reads of the decision still
have the same answers then. Costly writes often go to the same item, so a costly write is decided
only after the previous one has been committed.
"""

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, cast

from msgspec import Struct

from hashrange import forks, kv
from hashrange.engine.fetch import Admit
from hashrange.metering.account import Account
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError, InternalServerError, ThrottlingException
from hashrange.runtime.aside.evaluation import Evaluation, Evaluator, WorkerLost
from hashrange.runtime.batch import Submission
from hashrange.runtime.decisions import Proposal, Reading
from hashrange.runtime.ending import Done, Outcome, charged, internal_error, refused
from hashrange.runtime.environment import HEAD, Environment
from hashrange.runtime.fair_queue import FairQueue
from hashrange.runtime.mistaken_calls import closed

WAITING_MAX = 256
"""The largest number of costly requests that wait. Further requests are refused, and SDKs try them
again later."""

BEGINNINGS_MAX = 2
"""The largest number of times that the evaluation of a request is begun, if the evaluating process
ends each time: the request may be the cause."""

PROPOSALS_MAX = 8
"""The largest number of times that a costly write is decided. If no decision could be committed,
its caller is told to try again."""

_log = logging.getLogger("hashrange")


class Job(Struct, eq=False):
    """A costly request that waits or is under way. `decided` is called with its outcome, in the
    thread of the jobs."""

    name: str
    body: bytes
    entropy: bytes
    caller: Caller
    writes: bool
    decided: Callable[[Proposal | BaseException], None]
    account: Account | None = None
    snapshot: kv.Snapshot | None = None
    evaluation: Evaluation | None = None
    beginnings: int = 0
    reply: Any = None
    reads: list[Reading] = []

    def drop(self) -> None:
        """End the evaluation, and close its snapshot. The job may begin again."""
        if self.evaluation is not None:
            self.evaluation.close()
            self.evaluation = None
        if self.snapshot is not None:
            self.snapshot.close()
            self.snapshot = None
        self.reply = None


class Jobs(forks.Forkable):
    """The costly requests of a runtime, and the thread that makes their steps.

    Steps are submitted to the `executor`. Without an executor, the jobs have a thread of their own,
    which is started when it is needed.

    At most `together_max` jobs are under way at once. Each holds a snapshot. If they held all
    snapshots of the store, the thread would wait for a snapshot that only its own next step can
    release.
    """

    def __init__(
        self,
        store: kv.Store,
        environment: Environment,
        evaluator: Evaluator,
        executor: Executor | None = None,
        together_max: int = WAITING_MAX,
    ) -> None:
        self._together_max = together_max
        self._store = store
        self._environment = environment
        self.evaluator = evaluator
        self._executor = executor
        self.after_fork_in_child()
        forks.watch(self)

    def after_fork_in_child(self) -> None:
        """Forget the jobs, which belong to the parent."""
        self._lock = Lock()
        self._running: deque[Job] = deque()
        self._reads: deque[Job] = deque()
        self._writes: FairQueue[Job] = FairQueue()
        self._writing = False
        self._stepping = False
        self._count = 0
        self._closed = False
        self._thread: ThreadPoolExecutor | None = None

    def add(self, job: Job) -> None:
        """From any thread: queue a job. The job is refused if too many jobs wait, or after
        `close`."""
        with self._lock:
            refusal = self._refusal()
            if refusal is None:
                self._count += 1
                if job.writes:
                    self._writes.add(job.caller.access_key, job)
                else:
                    self._reads.append(job)
        if refusal is None:
            self._go_on()
        else:
            job.decided(refusal)

    def _refusal(self) -> Exception | None:
        if self._closed:
            return closed()
        if self._count >= WAITING_MAX:
            return ThrottlingException("Too many costly requests at once. Try again later.")
        return None

    def call(self, name: str, body: bytes, caller: Caller) -> bytes:
        """From any thread: answer a request that only reads."""
        answer: Future[Outcome] = Future()
        self.read(name, body, caller, answer.set_result)
        outcome = answer.result()
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    def read(self, name: str, body: bytes, caller: Caller, done: Done) -> None:
        """From any thread: like `call`, but `done` is called with the outcome."""

        def decided(outcome: Proposal | BaseException) -> None:
            done(outcome.response if isinstance(outcome, Proposal) else outcome)

        self.add(Job(name, body, b"", caller, False, decided))

    def propose(self, submission: Submission, proposed: Callable[[bool], object]) -> None:
        """From any thread: decide a costly write, for the first time or again.

        `proposed` is called with True if the submission can now join a batch, and with False if it
        already has an outcome. A submission is refused after too many proposals, or if too many
        jobs are waiting.
        """
        if submission.proposal is not None:
            submission.proposal = None
            submission.attempts += 1
            self.settled()
        decided = partial(self._proposed, submission, proposed)
        if submission.attempts >= PROPOSALS_MAX:
            decided(ThrottlingException("The items of a costly write keep changing. Try again."))
            return
        name, body, entropy = submission.operation.name, submission.body, submission.entropy
        self.add(Job(name, body, entropy, submission.caller, True, decided, submission.account))

    def _proposed(
        self,
        submission: Submission,
        proposed: Callable[[bool], object],
        outcome: Proposal | BaseException,
    ) -> None:
        in_batch = isinstance(outcome, Proposal) and bool(outcome.writes)
        if not isinstance(outcome, Proposal):
            submission.outcome = outcome
        elif outcome.changes_tables:  # needs further work in a batch, which decides it again
            submission.request = submission.operation.request(submission.body)
            self.settled()
        elif outcome.writes:
            submission.proposal = outcome
        else:
            submission.outcome = outcome.response
            self.settled()
        proposed(in_batch)

    def settled(self) -> None:
        """From any thread: let the next costly write begin. Call this when the previous one has
        been committed or refused."""
        with self._lock:
            self._writing = False
        self._go_on()

    def close(self) -> None:
        """Drop unfinished jobs. Their callers are told that nothing was written."""
        with self._lock:
            self._closed = True
        if self._thread:
            self._thread.shutdown()
        with self._lock:
            left = [*self._running, *self._reads, *self._writes]
            self._running.clear()
            self._reads.clear()
            self._writes = FairQueue()
        for job in left:
            self._end(job, closed())
        self.evaluator.close()

    def _go_on(self) -> None:
        with self._lock:
            if self._stepping:
                return
            self._admit()
            self._stepping = bool(self._running)
            if not self._stepping:
                return
        if self._executor:
            self._executor.submit(self._step_in, self._executor)
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "hashrange-costly")
        with suppress(RuntimeError):  # closed: the job fails later
            self._thread.submit(self._step_on)

    def _step_in(self, executor: Executor) -> None:
        """Make one step in the executor, and submit the next one."""
        if self._step():
            executor.submit(self._step_in, executor)

    def _step_on(self) -> None:
        """Make all steps in the jobs' own thread.

        The steps are not submitted one by one: `submit` may have to wait for a fork, and the fork
        waits for the jobs to close their snapshots.
        """
        while self._step():
            pass

    def _admit(self) -> None:
        """Begin the next write if no write is under way, then begin reads until no place is free.

        Writes take at most one place, so no read waits for long.
        """
        if not self._writing and self._writes.length and self._has_place():
            self._running.append(self._writes.pop())
            self._writing = True
        while self._reads and self._has_place():
            self._running.append(self._reads.popleft())

    def _has_place(self) -> bool:
        return len(self._running) < self._together_max

    def _step(self) -> bool:
        """Make a step of the next job in turn. Returns whether there is more to do."""
        with self._lock:
            if self._closed:
                return False
            job = self._running.popleft()
        ended = self._advance(job)
        with self._lock:
            if ended:
                self._count -= 1
            else:
                self._running.append(job)
            self._admit()
            self._stepping = bool(self._running)
            return self._stepping

    def _advance(self, job: Job) -> bool:
        """Make one step of a job. Returns whether it was the last one."""
        try:
            if job.evaluation is None:
                self._begin(job)
            assert job.evaluation is not None
            assert job.snapshot is not None
            read = job.evaluation.send(job.reply)
            if type(read) is Admit:
                admission = self._environment.back_pressure or job.account
                job.reply = admission.limits(read)  # type: ignore[union-attr]
                return False
            job.reply = job.snapshot.read(read)
            if job.writes:
                job.reads.append((read, job.reply))
            return False
        except StopIteration as end:
            proposal: Proposal = end.value
            proposal.reads = job.reads
            if not proposal.writes:  # otherwise it is charged at its commit
                assert isinstance(proposal.response, bytes), (
                    "a proposal without writes has a response, not a refusal"
                )
                proposal.response = charged(
                    proposal.response, proposal.receipt, job.account, self._now()
                )
            self._end(job, proposal)
        except ApiError as refusal:
            self._end(job, refused(refusal, job.account, self._now()))
        except WorkerLost:
            if job.beginnings < BEGINNINGS_MAX:
                job.drop()
                return False
            _log.error(
                "a costly %s was given up, because the process that evaluated it ended twice",
                job.name,
            )
            self._end(job, InternalServerError("Internal server error"))
        except BaseException as error:
            self._end(job, internal_error(error))
            if not isinstance(error, Exception):
                raise
        return True

    def _begin(self, job: Job) -> None:
        job.beginnings += 1
        job.snapshot = self._store.snapshot()
        head = cast(tuple[bytes | None, int], job.snapshot.read(HEAD))
        _, now = self._environment.at(head)
        meter = self._environment.meter
        if meter is not None:
            if job.account is None:
                job.account = meter.account(job.name, job.caller, now)
            job.account.asked = 0
        asks = meter is not None and meter.asks
        asks |= job.writes and self._environment.pressure() is not None
        moment = self._environment.moment(now, job.caller, job.entropy, asks)
        job.evaluation = self.evaluator.begin(job.name, job.body, moment)
        job.reads = []

    def _now(self) -> float:
        return self._environment.clock.now()

    def _end(self, job: Job, outcome: Proposal | BaseException) -> None:
        job.drop()
        if job.writes and not isinstance(outcome, Proposal):
            with self._lock:
                self._writing = False
        job.decided(outcome)
