"""Group commit: the thread or loop that holds the lock decides and commits all waiting requests.

A thread that calls `execute` runs the next batch itself if no other thread is running one.
Otherwise it sleeps until its request is committed, or until it can run a batch. An event loop runs
a batch when a turn of the loop has added no more requests. The loop itself decides the batch,
because a second thread would compete with it for the interpreter. Only the commit, which may wait
for a disk, goes to a thread. The loop never waits for a lock.
"""

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Event, Lock
from typing import Any

from hashrange import forks, kv
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.runtime.aside.jobs import Jobs
from hashrange.runtime.batch import (
    BATCH_REQUESTS_MAX,
    Batch,
    Submission,
    call_done,
    submission_of,
    take,
)
from hashrange.runtime.drive import commit_batch, decide_batch
from hashrange.runtime.ending import Outcome, call_on
from hashrange.runtime.environment import Environment
from hashrange.runtime.gathering import Gathering


class Committer(forks.Forkable):
    """Decides and commits the requests that write, in batches.

    `wake_upkeep` is called after each commit that changed or dropped a table. `watch` is called
    with each transaction, and returns the transaction to use in its place. If `executor` is None,
    the committer starts a thread of its own when it first needs one.
    """

    def __init__(
        self,
        store: kv.Store,
        environment: Environment,
        wake_upkeep: Callable[[], None],
        jobs: Jobs,
        executor: Executor | None = None,
        watch: Callable[[kv.Transaction], kv.Transaction] | None = None,
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._watch = watch
        self._environment = environment
        self._wake_upkeep = wake_upkeep
        self._executor = executor
        self.refusal = ""
        """The reason why all writes are refused; empty if they are not."""
        self.after_fork_in_child()
        forks.watch(self)

    def after_fork_in_child(self) -> None:
        """Forget all requests and locks: the parent answers these requests."""
        self._waiting: deque[Submission] = deque()
        self._lock = Lock()
        self._gatherings: dict[AbstractEventLoop, Gathering] = {}
        self._thread: ThreadPoolExecutor | None = None

    def execute(self, submission: Submission) -> bytes:
        """From any thread: wait for the commit, then return the response or raise the error."""
        self._waiting.append(submission)
        return self._outcome_of(submission)

    def execute_all(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """From any thread: like `execute`, but for several submissions, which share commits."""
        self._waiting.extend(submissions)
        outcomes: list[Outcome] = []
        for submission in submissions:
            try:
                outcomes.append(self._outcome_of(submission))
            except ApiError as error:
                outcomes.append(error)
        return outcomes

    def execute_aside(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        """From any thread: like `execute`, but the request is parsed and decided aside."""
        submission = submission_of(operation, None, body, caller)
        self._propose(submission)
        return self._outcome_of(submission)

    def _outcome_of(self, submission: Submission) -> bytes:
        while not submission.settled:
            if self._waiting and self._lock.acquire(blocking=False):
                try:
                    while self._waiting and not submission.settled:
                        self._work()
                finally:
                    self._let_go()
            elif submission.news is None:
                submission.news = Event()  # try again: the outcome may have come before this
            else:
                self._wait(submission, submission.news)
        outcome = submission.outcome
        assert outcome is not None, "a settled submission must have an outcome"
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    def submit(self, submission: Submission, loop: AbstractEventLoop) -> None:
        """Submit a request that has arrived on `loop`. After the commit, the loop calls
        `submission.done`."""
        submission.loop = loop
        self._waiting.append(submission)
        (self._gatherings.get(loop) or self._gathering_on(loop)).begin()

    def close(self) -> None:
        """Carry out the waiting requests. Returns when no commit is under way."""
        self._lock.acquire()
        try:
            while self._waiting:
                self._work()
        finally:
            self._let_go()
        if self._thread:
            self._thread.shutdown()

    def _wait(self, submission: Submission, news: Event) -> None:
        try:
            news.wait()
            news.clear()
        except BaseException:  # Ctrl-C: wake the next one instead
            with suppress(ValueError):
                self._waiting.remove(submission)
                if submission.proposal is not None:
                    self._jobs.settled()
            self._wake_next()
            raise

    def _let_go(self) -> None:
        """Release the lock, and wake the thread or loop of a submission that waits for it."""
        self._lock.release()
        if self._waiting:
            self._wake_next()

    def _wake_next(self) -> None:
        for submission in tuple(self._waiting):
            if self._wake(submission):
                return

    def _wake(self, submission: Submission) -> bool:
        """Wake the thread or loop that waits for a submission. Returns False if none is waiting."""
        if submission.news:
            submission.news.set()
            return True
        loop = submission.loop
        # A loop that is not running may never run again.
        return (
            loop is not None and call_on(loop, self._gathering_on(loop).begin) and loop.is_running()
        )

    def _gathering_on(self, loop: AbstractEventLoop) -> Gathering:
        gathering = self._gatherings.get(loop)
        if gathering is not None:
            return gathering
        for each in tuple(self._gatherings):
            if each.is_closed():
                self._gatherings.pop(each, None)
        work, timer = partial(self._work_on_loop, loop), self._environment.clock.timer
        gathering = Gathering(loop, self._waiting, BATCH_REQUESTS_MAX, work, timer=timer)
        self._gatherings[loop] = gathering
        return gathering

    def _work_on_loop(self, loop: AbstractEventLoop) -> None:
        if not self._waiting or not self._lock.acquire(blocking=False):
            return
        try:
            batch, transaction = self._next_batch(wait=False)
        except kv.Busy:
            self._in_thread(self._work_off)  # another process is writing: wait for it there
            return
        except BaseException:
            self._let_go()
            raise
        if transaction and self._store.slow_commits:
            self._in_thread(self._commit, batch, transaction)
        else:
            self._commit(batch, transaction, loop)

    def _in_thread(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function in the executor or the committer's thread.

        The caller holds the lock, and the function releases it. So two functions never run at the
        same time.
        """
        if self._executor:
            self._executor.submit(function, *arguments)
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "hashrange-commit")
        try:
            self._thread.submit(function, *arguments)
        except RuntimeError:  # the database is being closed
            function(*arguments)

    def _commit(
        self,
        batch: Batch,
        transaction: kv.Transaction | None,
        here: AbstractEventLoop | None = None,
    ) -> None:
        try:
            if transaction:
                commit_batch(batch, transaction, self._store)
        finally:
            if batch.costly or batch.late:
                self._pass_on(batch)
            self._let_go()
            self._tell(batch.submissions, here)
            if batch.needs_upkeep:
                self._wake_upkeep()

    def _work_off(self) -> None:
        try:
            self._work()
        finally:
            self._let_go()

    def _work(self) -> None:
        """Decide and commit one batch. The caller holds the lock."""
        batch, transaction = self._next_batch(wait=True)
        try:
            if transaction:
                commit_batch(batch, transaction, self._store)
        finally:
            if batch.costly or batch.late:
                self._pass_on(batch)
            self._tell(batch.submissions)
            if batch.needs_upkeep:
                self._wake_upkeep()

    def _next_batch(self, wait: bool) -> tuple[Batch, kv.Transaction | None]:
        """Decide a batch. Returns it, and its transaction; None if there is nothing to commit.

        The caller holds the lock. Raises Busy only if `wait` is false.
        """
        try:
            if self.refusal:
                raise kv.Damaged(self.refusal)
            transaction = self._store.begin(wait)
            if self._watch is not None:
                transaction = self._watch(transaction)
        except kv.StoreError as error:
            if isinstance(error, kv.Busy) and not wait:
                raise
            batch = Batch(self._environment, take(self._waiting))
            batch.fail(error)
            return batch, None
        batch = Batch(self._environment, take(self._waiting))
        try:
            return batch, transaction if decide_batch(batch, transaction) else None
        except BaseException:
            self._tell(batch.submissions)
            raise

    def _pass_on(self, batch: Batch) -> None:
        """Queue the late requests of a batch for the next batch, and have costly requests decided
        aside."""
        self._waiting.extendleft(reversed(batch.late))
        for submission in batch.costly:
            self._propose(submission)

    def _propose(self, submission: Submission) -> None:
        """Have a submission decided aside. Its proposal then goes into a batch."""
        self._jobs.propose(submission, partial(self._proposed, submission))

    def _proposed(self, submission: Submission, in_batch: bool) -> None:
        if in_batch:
            self._waiting.append(submission)
            self._wake(submission)
        else:
            self._tell([submission])

    def _tell(
        self, submissions: Sequence[Submission], here: AbstractEventLoop | None = None
    ) -> None:
        """Tell the callers their outcomes. This wakes the waiting threads, and calls `done` of each
        request on its loop. `here` is the loop that runs this method; None outside of a loop."""
        told: dict[AbstractEventLoop, list[Submission]] = {}
        for submission in submissions:
            submission.settled = True
            if submission.proposal is not None:
                self._jobs.settled()
            if submission.news:
                submission.news.set()
            if submission.loop:
                told.setdefault(submission.loop, []).append(submission)
        for loop, submissions in told.items():
            if loop is here:
                call_done(submissions)
            else:
                call_on(loop, call_done, submissions)
