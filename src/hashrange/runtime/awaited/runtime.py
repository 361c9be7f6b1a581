"""Runs operations by name on an asynchronous store, on one event loop.

Requests may come from any thread or loop, but all work on the store is done on the store's loop.
Requests that arrive in one turn of this loop are answered together.
"""

import asyncio
from asyncio import AbstractEventLoop, Task
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any

from hashrange import forks, kv
from hashrange.metering.meter import Meter
from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.errors import ApiError, ThrottlingException
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.operations import OPERATIONS
from hashrange.operations.operation import Operation
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.aside.evaluation import Here
from hashrange.runtime.aside.jobs import Jobs
from hashrange.runtime.awaited.drive import run_batch
from hashrange.runtime.awaited.propagator import Propagator
from hashrange.runtime.awaited.queued_reads import QueuedRead
from hashrange.runtime.awaited.reads import Reads
from hashrange.runtime.awaited.threads import (
    ON_THE_LOOP,
    STORE_SECONDS_MAX,
    StoreOnLoop,
    is_running_here,
    wait_for,
)
from hashrange.runtime.awaited.writes import Writes
from hashrange.runtime.back_pressure import BackPressure, Lag
from hashrange.runtime.base import BaseRuntime
from hashrange.runtime.batch import Batch, submission_of
from hashrange.runtime.catalog import Catalog
from hashrange.runtime.clock import Clock, TimeSource
from hashrange.runtime.ending import Done, Outcome, call_on, internal_error
from hashrange.runtime.environment import Environment
from hashrange.runtime.mistaken_calls import WouldBlock, closed
from hashrange.runtime.upgrade import bring_up_to_date_async
from hashrange.runtime.vector_views import VectorViews

NEEDS_ONE_PROCESS = (
    "{} needs a database that only one process uses, in a file or in memory; several processes may "
    "use a PostgreSQL database"
)

OPEN_INDEX_LOGS = UPKEEP["upkeep.OpenIndexLogs"]
OPENING_ATTEMPTS = 10
OPENING_PAUSE_SECONDS = 0.5
"""The pause between attempts to open the index logs. If a server ended while it changed a
definition, the opening can be blocked for seconds."""

CLOSING_SECONDS_MAX = 30.0
"""The longest time that closing waits for requests that have arrived."""


class UnsharedTurn:
    """A turn of the event loop over an asynchronous store. Does nothing: an AsyncRuntime groups its
    requests itself, so the requests of a turn share no snapshot."""

    def close(self) -> None:
        """End the turn."""


class AsyncRuntime(BaseRuntime):
    """Operations over one asynchronous store on `loop`. See `Runtime`.

    Do not call methods that wait (`call`, `explain`, `inspect`, `probe`, `close`) on `loop`: it has
    to run while they wait. Raises StoreError for settings that need a single process.
    """

    def __init__(
        self,
        store: kv.AsyncStore,
        loop: AbstractEventLoop,
        clock: TimeSource | None = None,
        settings: Settings = DEFAULT_SETTINGS,
        wake_upkeep: Callable[[], None] = lambda: None,
    ) -> None:
        settings.check()
        _check_processes(settings)
        self._store = store
        self._loop = loop
        self._opened = self._logs_opened = False
        meter = Meter(settings, wake_upkeep) if settings.throughput != "off" else None
        times = Clock.of(clock or store)
        environment = Environment(
            *(Catalog(), times, settings, meter),
            commit_seconds=store.commit_seconds_max,
            awaited=store,
            back_pressure=BackPressure(self._lags),
            views=VectorViews(settings.vector_cache_bytes),
        )
        threads = StoreOnLoop(store, loop)
        together_max = max(1, store.connections_max // 2)
        jobs = Jobs(threads, environment, Here(), together_max=together_max)
        super().__init__(threads, environment, jobs)
        self._tasks: set[Task[None]] = set()
        common: Any = (store, loop, environment, jobs, self._spawn, self.open)
        self._reads = Reads(*common)
        self._propagator = Propagator(store, environment, self._spawn)
        common = (*common, wake_upkeep, self._propagator.committed)
        self._writer = self._writes = Writes(*common)
        forks.watch(self)

    async def open(self) -> None:
        """Prepare the store. Called before each group of requests.

        The first call upgrades the stored rows. If global indexes are updated from logs, a call
        also opens these logs: the first call, or the first one after a running server's tables were
        distributed.
        """
        if not self._opened:
            await bring_up_to_date_async(self._store)
            self._opened = True
        if self._store.indexes_follow and not self._logs_opened:
            await self._open_index_logs()
            self._logs_opened = True

    async def _open_index_logs(self) -> None:
        for _ in range(OPENING_ATTEMPTS):
            submission = submission_of(OPEN_INDEX_LOGS, None, b"", DEFAULT_CALLER)
            await run_batch(Batch(self.environment, [submission]), self._store, ())
            if not isinstance(submission.outcome, ThrottlingException):
                break
            await asyncio.sleep(OPENING_PAUSE_SECONDS)
        outcome = submission.outcome
        if isinstance(outcome, BaseException):
            cause = outcome.__cause__  # a failure of the store is told as such
            raise cause if isinstance(cause, kv.StoreError) else outcome

    def submit(
        self,
        name: str,
        body: bytes,
        done: Done,
        caller: Caller = DEFAULT_CALLER,
        turn: UnsharedTurn | None = None,
    ) -> None:
        """On any event loop: run an operation. `done` is called on this loop with the response's
        body or the error."""
        operation = OPERATIONS.get(name)
        if operation is None or self._closed:
            done(self._refusal(name))
            return
        here = asyncio.get_running_loop()
        if here is not self._loop:
            done = partial(call_on, here, done)
        self._enter(operation, body, done, caller, here is self._loop)

    def turn(self) -> UnsharedTurn:
        return UnsharedTurn()

    def take_steps(self) -> list[dict[str, Any]]:
        """The upkeep steps that the load requires: none, because no process sees the whole load."""
        return []

    def close(self) -> None:
        """From a thread: answer the requests that have arrived, then close the store."""
        if is_running_here(self._loop):
            raise WouldBlock(ON_THE_LOOP)
        if not self._loop.is_closed():
            closing = asyncio.run_coroutine_threadsafe(self.aclose(), self._loop)
            wait_for(closing, self._loop, CLOSING_SECONDS_MAX + STORE_SECONDS_MAX)

    async def aclose(self) -> None:
        """On the runtime's loop: answer the requests that have arrived, then close the store."""
        if self._closed:
            return
        self._closed = True
        self._propagator.closing = True
        end = self._loop.time() + CLOSING_SECONDS_MAX
        while self._is_busy() and (left := end - self._loop.time()) > 0:
            await asyncio.sleep(0 if self._tasks else 0.01)
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=left)
        await asyncio.to_thread(self._jobs.close)
        await self._store.close()

    def _is_busy(self) -> bool:
        """Whether a request waits or a task still runs. A task may still run when no request waits:
        a read is answered before its snapshot is closed."""
        waiting = len(self._reads) + len(self._writes) + len(self._propagator)
        return bool(self._tasks) or waiting > 0

    def _lags(self) -> dict[str, Lag]:
        return self._propagator.lags()

    def after_fork_in_child(self) -> None:
        """Mark the runtime as closed in the child: the loop and the connections belong to the
        parent."""
        self._closed = True

    # ---- requests ----

    def _call(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        if is_running_here(self._loop):
            raise WouldBlock(ON_THE_LOOP)
        answer: Future[Outcome] = Future()
        self._enter(operation, body, answer.set_result, caller, False)
        return self._result(answer)

    def _call_elsewhere(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        if is_running_here(self._loop):
            raise WouldBlock(ON_THE_LOOP)
        return super()._call_elsewhere(operation, body, caller)

    def _write_elsewhere(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        answer: Future[Outcome] = Future()
        submission = submission_of(operation, None, body, caller, answer.set_result)
        if not call_on(self._loop, self._writes.add_aside, submission):
            raise closed()
        return self._result(answer)

    def _result(self, answer: Future[Outcome]) -> bytes:
        outcome = wait_for(answer, self._loop)
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    def _enter(
        self, operation: Operation, body: bytes, done: Done, caller: Caller, here: bool
    ) -> None:
        """Parse the request in the caller's thread, and continue on the loop. `here` says whether
        the caller's thread runs the loop."""
        start: Callable[[], None]
        try:
            request = operation.request(body)
            if operation.writes and operation.is_write(request):
                submission = submission_of(operation, request, body, caller, done)
                start = partial(self._writes.add, submission)
            else:
                read = QueuedRead(operation, request, body, caller, done)
                start = partial(self._reads.add, read)
            if here:
                start()
            elif not call_on(self._loop, start):
                done(closed())
        except ApiError as error:
            done(error)
        except Exception as error:
            done(internal_error(error))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task: Task[None] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _check_processes(settings: Settings) -> None:
    """Check that the settings work with several processes on one database. Raises StoreError."""
    if settings.record is not None:
        raise kv.StoreError(NEEDS_ONE_PROCESS.format("record"))
    if settings.throughput == "enforced":
        raise kv.StoreError(NEEDS_ONE_PROCESS.format('throughput="enforced"'))
    if settings.consistency is not None:
        raise kv.StoreError(NEEDS_ONE_PROCESS.format("consistency=Eventual()"))
    if settings.faults is not None:
        raise kv.StoreError(NEEDS_ONE_PROCESS.format("faults=Faults()"))
