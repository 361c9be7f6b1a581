"""Requests that only read, each answered from one snapshot of a synchronous store.

A thread runs a request to its end. An event loop runs it for a slice of time, on the snapshot that
all requests of the loop's turn share. If this is not enough, the request starts again on its own
snapshot, and takes turns with other long reads. The number of long reads under way is limited, also
for threads (`read_queue`). A read of a single row needs no snapshot: a store answers it in one
statement, together with the catalog's version.
"""

from asyncio import AbstractEventLoop, get_running_loop
from collections import deque
from contextlib import closing
from functools import partial
from typing import Any

from hashrange import kv
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace import system
from hashrange.model.caller import Caller
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Operation
from hashrange.runtime import authorisation
from hashrange.runtime.aside.jobs import Jobs
from hashrange.runtime.decisions import Costly
from hashrange.runtime.drive import advance, drive, sliced
from hashrange.runtime.ending import Done, Outcome, call_on, encode, refused, tell
from hashrange.runtime.environment import Environment
from hashrange.runtime.mistaken_calls import closed
from hashrange.runtime.read_queue import HELD_BYTES_MAX, WAIT_SECONDS_MAX, ReadQueue, throttled
from hashrange.runtime.source import LARGE_BYTES, LargeRow, SmallRows
from hashrange.runtime.threaded.long_reads import LongRead
from hashrange.runtime.threaded.snapshot import ReadSnapshot
from hashrange.runtime.threaded.turn import Turn

LONG_READS_PER_TURN = 8
"""The number of reads of one turn that may exceed their slice of time. After that, the remaining
reads of the turn are queued as long reads, because each of them could delay other requests by a
slice."""

OVERRUN_SECONDS = 0.001
"""If a read and its response occupy the event loop for longer than this, all reads are treated as
long ones for `PAUSE_RATIO` times as long, so that they take turns. A page of large items cannot be
divided, so a thousand reads of such pages would otherwise be answered in a row."""

SENDING_SECONDS_PER_BYTE = 3e-9
"""The time per byte of a response that the system call for sending takes, because it copies the
response."""

READING_SECONDS_PER_BYTE = 2e-9
"""The time per byte that it takes to copy a row's JSON into the response. Between 1.3 and 2.8
nanoseconds were measured."""

PAUSE_RATIO = 10


class Reads:
    """Answers requests that only read, in any thread or on event loops."""

    def __init__(self, store: kv.Store, environment: Environment, jobs: Jobs) -> None:
        self._store = store
        self._environment = environment
        self._jobs = jobs
        self._queue = ReadQueue()
        self.open_brief = partial(self._open, True)
        """Opens the snapshot of a turn of an event loop."""
        self._running: dict[AbstractEventLoop, deque[LongRead]] = {}
        self._pause_end = 0.0
        """Until this time, all reads are treated as long ones."""
        self._closed = False

    def call(self, operation: Operation, request: Any, body: bytes, caller: Caller) -> bytes:
        """From any thread: return the response, or raise the error."""
        weight = self._weight(operation, request) if self._jobs.evaluator.elsewhere else 0
        if operation.single_read and not weight:
            response = self._glance(operation, request, caller)
            if response is not None:
                return response
        entered = self._queue.enter(caller.access_key)
        try:
            opened = self._open(False)
            try:
                steps = opened.begin(operation, request, caller, weight, body)
                return opened.response(drive(steps, opened.source))
            except Costly:
                pass
            finally:
                opened.snapshot.close()
            return self._jobs.call(operation.name, body, caller)
        finally:
            if entered:
                self._queue.leave()

    def start(
        self,
        operation: Operation,
        request: Any,
        body: bytes,
        caller: Caller,
        done: Done,
        turn: Turn | None,
    ) -> bytes | None:
        """On an event loop: return the response if one slice of time is enough for it.

        Otherwise return None; the outcome is passed to `done` later. `turn` is None for a request
        that shares no snapshot.
        """
        weight = self._weight(operation, request)
        if turn is None:
            if operation.single_read and not weight:
                return self.call(operation, request, body, caller)
            with closing(Turn(self.open_brief)) as turn:
                return self.start(operation, request, body, caller, done, turn)
        timer = self._environment.clock.timer
        if operation.single_read and not weight:
            try:
                return self._single(operation, request, caller, turn)
            except LargeRow:
                self._add(LongRead(operation, request, body, caller, done, weight, timer()))
                return None
        began = timer()
        busy = turn.long_reads >= LONG_READS_PER_TURN or began < self._pause_end
        if operation.long or (busy and not operation.single_read):
            self._add(LongRead(operation, request, body, caller, done, weight, began))
            return None
        opened = turn.snapshot()
        steps = opened.begin(operation, request, caller, weight, body)
        costly, response = False, None
        try:
            decision = advance(sliced(steps, opened.source, timer))
            if decision is not None:
                response = opened.response(decision)
        except Costly:
            costly = True
        kept = timer() - began + len(response or b"") * SENDING_SECONDS_PER_BYTE
        if kept > OVERRUN_SECONDS:
            self._pause_end = began + (PAUSE_RATIO + 1) * kept
        if response is None:
            turn.long_reads += 1
            self._add(LongRead(operation, request, body, caller, done, weight, began, costly))
        return response

    def _single(self, operation: Operation, request: Any, caller: Caller, turn: Turn) -> bytes:
        """The response to a read of one row. While large rows may not be read (see `_pause_end`),
        raises LargeRow for a large row."""
        timer = self._environment.clock.timer
        opened = turn.snapshot()
        source = opened.source
        if self._pause_end and timer() < self._pause_end:
            source = SmallRows(source)
        response = opened.response(drive(opened.begin(operation, request, caller), source))
        if len(response) > LARGE_BYTES:
            seconds = len(response) * (READING_SECONDS_PER_BYTE + SENDING_SECONDS_PER_BYTE)
            self._pause_end = timer() + PAUSE_RATIO * seconds
        return response

    def close(self) -> None:
        """From any thread: refuse waiting reads."""
        self._closed = True
        self.forget_closed_loops()

    def forget_closed_loops(self) -> None:
        """From any thread: close the snapshots of reads whose event loops are closed."""
        for loop in tuple(self._running):
            if loop.is_closed():
                for read in self._running.pop(loop, ()):
                    self._leave(read)

    def _weight(self, operation: Operation, request: Any) -> int:
        """The weight of a request (see `engine.cost`).

        It is 0 while reads may be answered with old values. Such reads are never decided aside,
        however costly they are.
        """
        lagging = self._environment.lagging
        return 0 if lagging and lagging.is_active() else operation.weight(request)

    def _open(self, brief: bool) -> ReadSnapshot:
        snapshot = self._store.snapshot(brief)
        try:
            return ReadSnapshot(snapshot, self._environment)
        except BaseException:
            snapshot.close()
            raise

    def _glance(self, operation: Operation, request: Any, caller: Caller) -> bytes | None:
        """Read one row, and check in the same read that the cached tables are current.

        Returns None if the tables are outdated. Also returns None if the request is refused,
        because outdated tables may be the reason for the refusal.
        """
        catalog, clock, settings, meter, lagging, *_ = self._environment
        version, tables = catalog.known
        moment = Moment(clock.now(), b"", caller, settings)
        table = tables.get(request.body.table_name)
        if table is None or moment.now < table.active_at or meter or lagging:
            return None
        try:
            if caller.principal is not None:
                authorisation.check_on_table(operation, request, table, moment)
            steps = operation.decide(request, table, moment)
            read = next(steps)
            assert type(read) is kv.Get
            [key] = read.keys
            current, value = self._store.glance(system.CATALOG_VERSION, key)
            if current != version:
                return None
            steps.send([value])
        except StopIteration as end:
            return encode(end.value.response())
        except ApiError:
            return None
        raise AssertionError("the operation must make only one read")

    def _add(self, read: LongRead) -> None:
        """Begin a long read, or queue it if no place is free."""
        loop = get_running_loop()
        self.forget_closed_loops()
        admitted = partial(call_on, loop, self._begin_late, read, loop)
        if self._queue.request(read.caller.access_key, admitted):
            self._begin(read, loop)

    def _begin_late(self, read: LongRead, loop: AbstractEventLoop) -> None:
        if self._environment.clock.timer() - read.asked > WAIT_SECONDS_MAX:
            self._end(read, throttled())
        else:
            self._begin(read, loop)

    def _begin(self, read: LongRead, loop: AbstractEventLoop) -> None:
        """Run a read that has a place. The place is released at its end."""
        again = partial(call_on, loop, self._begin, read, loop)
        if not self._queue.prepared(read.operation, again):
            return
        if self._closed:
            self._end(read, closed())
            return
        if read.costly:
            self._go_aside(read, loop)
            return
        try:
            read.begin(self._open(False), self._environment.clock.timer)
        except Exception as error:
            self._end(read, refused(error, None, 0.0))
            return
        except BaseException:
            self._leave(read)
            raise
        if loop not in self._running:
            self._running[loop] = deque()
            loop.call_soon(self._run_slice, loop)
        self._running[loop].append(read)

    def _go_aside(self, read: LongRead, loop: AbstractEventLoop) -> None:
        """Start a read again as a costly request. It keeps its place among the long reads."""
        read.close()

        def done(outcome: Outcome) -> None:
            self._leave(read)
            call_on(loop, read.done, outcome)

        self._jobs.read(read.operation.name, read.body, read.caller, done)

    def _end(self, read: LongRead, outcome: Outcome) -> None:
        self._leave(read)
        tell(read.done, outcome)

    def _leave(self, read: LongRead) -> None:
        """Close the snapshot of a read, and release its place."""
        try:
            read.close()
        finally:
            self._queue.leave()

    def _run_slice(self, loop: AbstractEventLoop) -> None:
        """Run one read for a slice of time.

        Reads take turns, but only while they hold few bytes together. Otherwise one read continues
        and the other reads wait: each may read 16 MB, and its response is even larger.
        """
        running = self._running[loop]
        read = running.popleft()
        try:
            outcome = read.step()
            if outcome is not None:
                self._end(read, outcome)
                return
            running.appendleft(read)
            if sum([each.held_bytes for each in running]) <= HELD_BYTES_MAX:
                running.rotate(-1)
        except Costly:
            self._go_aside(read, loop)
        finally:
            if running:
                loop.call_soon(self._run_slice, loop)
            else:
                del self._running[loop]
