"""Runs operations by name on an asynchronous store, on one event loop.

Requests may come from any thread or loop; all work for the store is done on the loop that it
belongs to. Requests of one turn of that loop are answered together: the reads share a snapshot,
and the writes are one batch. Only one batch is under way at a time, so commits are in the order
of arrival. Requests that arrive meanwhile are the next batch.
"""

import asyncio
from asyncio import AbstractEventLoop, Task
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

from hashrange import kv
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Moment
from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.errors import ApiError
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.operations import OPERATIONS
from hashrange.operations.operation import Operation
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.batch import (
    Batch,
    Done,
    Outcome,
    Submission,
    call_done,
    encode_response,
    internal_error,
    submission_of,
    take,
    tell,
)
from hashrange.runtime.catalog import Catalog, Tables
from hashrange.runtime.clock import Clock
from hashrange.runtime.decisions import begin
from hashrange.runtime.drive import Driven, advance_together, drive_together, run_batch
from hashrange.runtime.environment import HEAD, Environment
from hashrange.runtime.names import API, closed, unknown
from hashrange.runtime.upgrade import bring_up_to_date_async


class Turn:
    """Does nothing: the runtime itself collects the requests of a turn."""

    def close(self) -> None:
        """End the turn."""


class ReadRequest:
    """A parsed request that only reads. Its caller is answered once."""

    def __init__(self, operation: Operation, request: Any, caller: Caller, done: Done) -> None:
        self._operation = operation
        self._request = request
        self._caller = caller
        self._done: Done | None = done

    def begin(self, tables: Tables, now: float, settings: Settings) -> Driven[Decision]:
        """Run the decision up to its first read, or its end. The caller is not answered yet."""
        moment = Moment(now, b"", self._caller, settings)
        return Driven(begin(self._operation, self._request, moment, tables), self.finish)

    def finish(self, result: Decision | Exception) -> None:
        outcome: Outcome
        try:
            if isinstance(result, Exception):
                raise result
            outcome = encode_response(result.response())
        except ApiError as error:
            outcome = error
        except Exception as error:
            outcome = internal_error(error)
        self.tell(outcome)

    def tell(self, outcome: Outcome) -> None:
        """Answer the caller, unless it has been answered already."""
        if self._done:
            done, self._done = self._done, None
            tell(done, outcome)


class AsyncRuntime:
    """Operations over one asynchronous store on `loop`. See `Runtime`.

    `call` waits, so it must not be called on that loop; the loop has to run meanwhile.
    """

    def __init__(
        self,
        store: kv.AsyncStore,
        loop: AbstractEventLoop,
        clock: Clock | None = None,
        settings: Settings = DEFAULT_SETTINGS,
        wake_upkeep: Callable[[], None] = lambda: None,
    ) -> None:
        self.operations = API
        """The names of the operations that `call` and `submit` know: those of the API."""
        self._store = store
        self._loop = loop
        self._opened = False
        self._closed = False
        self._wake_upkeep = wake_upkeep
        self._environment = Environment(Catalog(), clock or Clock(), settings)
        self._reads: list[ReadRequest] = []
        self._writes: deque[Submission] = deque()
        self._tasks: set[Task[None]] = set()
        self._committing: Task[None] | None = None

    def call(self, name: str, body: bytes, caller: Caller = DEFAULT_CALLER) -> bytes:
        """Returns the response's body. Raises ApiError, or InternalServerError for a bug."""
        return self._call(self._find(OPERATIONS, name), body, caller)

    def submit(
        self,
        name: str,
        body: bytes,
        done: Done,
        caller: Caller = DEFAULT_CALLER,
        turn: Turn | None = None,
    ) -> None:
        """On any event loop: `done` is called there with the response's body or the error."""
        try:
            operation = self._find(OPERATIONS, name)
        except Exception as error:
            done(error)
            return
        here = asyncio.get_running_loop()
        if here is not self._loop:
            self._enter(operation, body, partial(_call_on, here, done), caller)
        else:
            self._enter(operation, body, done, caller)

    def turn(self) -> Turn:
        return Turn()

    def call_upkeep(self, name: str, body: bytes) -> bytes:
        """Run an operation of upkeep, which outside callers cannot use."""
        return self._call(self._find(UPKEEP, name), body, DEFAULT_CALLER)

    def close(self) -> None:
        """From a thread: answer what has arrived, then close the store."""
        asyncio.run_coroutine_threadsafe(self.aclose(), self._loop).result()

    async def aclose(self) -> None:
        """On the runtime's loop: answer what has arrived, then close the store."""
        if self._closed:
            return
        self._closed = True
        while self._tasks or self._reads:
            await asyncio.sleep(0)
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._store.close()

    # ---- requests ----

    def _find(self, operations: dict[str, Operation], name: str) -> Operation:
        if self._closed:
            raise closed()
        operation = operations.get(name)
        if operation is None:
            raise unknown(name)
        return operation

    def _call(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        answer: Future[Outcome] = Future()
        self._enter(operation, body, answer.set_result, caller)
        outcome = answer.result()
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    def _enter(self, operation: Operation, body: bytes, done: Done, caller: Caller) -> None:
        """Parse the request in the caller's thread, then go on in the loop."""
        start: Callable[[], None]
        try:
            request = operation.request(body)
            if operation.writes and operation.is_write(request):
                submission = submission_of(operation, request, body, caller, done)
                start = partial(self._add_write, submission)
            else:
                start = partial(self._add_read, ReadRequest(operation, request, caller, done))
        except ApiError as error:
            done(error)
        except Exception as error:
            done(internal_error(error))
        else:
            if self._is_running_here():
                start()
            else:
                self._loop.call_soon_threadsafe(start)

    def _is_running_here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:  # the thread runs no loop
            return False

    async def _open(self) -> None:
        """Upgrade the stored rows before the first request."""
        if not self._opened:
            await bring_up_to_date_async(self._store)
            self._opened = True

    def _spawn(self, work: Any) -> Task[None]:
        task: Task[None] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ---- writes ----

    def _add_write(self, submission: Submission) -> None:
        self._writes.append(submission)
        if self._committing is None:
            self._committing = self._spawn(self._commit_all())

    async def _commit_all(self) -> None:
        try:
            while self._writes:
                batch = Batch(self._environment, take(self._writes))
                try:
                    await self._run(batch)
                except GeneratorExit:  # the loop is gone: the outcome is not known
                    raise
                except BaseException:
                    call_done(batch.submissions)
                    raise
                call_done(batch.submissions)
                if batch.needs_upkeep:
                    self._wake_upkeep()
        finally:
            self._committing = None

    async def _run(self, batch: Batch) -> None:
        try:
            await self._open()
        except GeneratorExit:
            raise
        except BaseException as error:
            batch.fail(error)
        else:
            await run_batch(batch, self._store)

    # ---- reads ----

    def _add_read(self, read: ReadRequest) -> None:
        if not self._reads:
            self._loop.call_soon(self._start_reads)
        self._reads.append(read)

    def _start_reads(self) -> None:
        reads, self._reads = self._reads, []
        self._spawn(self._answer(reads))

    async def _answer(self, reads: list[ReadRequest]) -> None:
        try:
            await self._open()
            snapshot = await self._store.snapshot()
            try:
                await self._answer_from(snapshot, reads)
            except GeneratorExit:  # the loop is gone, and nothing can be awaited
                raise
            except BaseException:
                await snapshot.close()
                raise
            await snapshot.close()
        except GeneratorExit:
            raise
        except BaseException as error:
            refusal = internal_error(error)
            for read in reads:
                read.tell(refusal)
            if not isinstance(error, Exception):
                raise

    async def _answer_from(self, snapshot: kv.AsyncSnapshot, reads: list[ReadRequest]) -> None:
        """Begin with the cached tables; if those are outdated, begin again with the new ones."""
        environment = self._environment
        catalog, clock, settings = environment.catalog, environment.clock, environment.settings
        (version, tables), now = catalog.known, clock.now()
        driven = [read.begin(tables, now, settings) for read in reads]
        [head] = await advance_together(driven, snapshot, HEAD)
        if head[0] != version or head[1] > now * 1000:
            tables, now = self._environment.at(head)
            driven = [read.begin(tables, now, settings) for read in reads]
        await drive_together(driven, snapshot)


def _call_on(loop: AbstractEventLoop, done: Done, outcome: Outcome) -> None:
    with suppress(RuntimeError):  # the loop has been closed meanwhile
        loop.call_soon_threadsafe(done, outcome)


class LoopThread:
    """An event loop that runs in a thread of its own, for programs that have none."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, name="hashrange-loop", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
