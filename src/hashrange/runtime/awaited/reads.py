"""Answers requests that only read, in groups: each group from one snapshot of the store.

Reads of a single row need one round trip. They have a queue of their own, so that long reads cannot
delay them. Requests that arrive while a queue has no free place form its next group. The number of
long reads under way is limited (`read_queue`), because each of them keeps the rows that it has read
in memory. Reads of rows that stay locked have queues of their own, which answer one request at a
time.
"""

from asyncio import AbstractEventLoop, TimerHandle, current_task
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from hashrange import kv
from hashrange.engine.decision import Decision
from hashrange.model.errors import ApiError
from hashrange.runtime.aside.jobs import Jobs
from hashrange.runtime.awaited.backlog import REQUEST_SECONDS_MAX, Backlog, throttled
from hashrange.runtime.awaited.locked import LockedTickets
from hashrange.runtime.awaited.machines import ONE, SEVERAL, machine_of
from hashrange.runtime.awaited.queued_reads import Group, QueuedRead, drive_together
from hashrange.runtime.awaited.slices import Slices, is_large
from hashrange.runtime.awaited.tickets import tickets_of
from hashrange.runtime.catalog import Tables
from hashrange.runtime.decisions import Costly, is_timeless
from hashrange.runtime.ending import (
    Outcome,
    call_on,
    charged,
    encode,
    internal_error,
    refused,
    tell,
)
from hashrange.runtime.environment import HEAD, Environment
from hashrange.runtime.gathering import Gathering, Spawn
from hashrange.runtime.read_queue import ReadQueue
from hashrange.runtime.source import small_only

REPEATS_MAX = 3
"""The largest number of times that requests begin again because their snapshot has become invalid.
This happens when rows move to another machine."""
ROWS_PER_GROUP = 64
PAGES_PER_GROUP = 8


class GroupQueue:
    """A queue of requests, which are answered in groups.

    A group has at most `size_max` requests. At most `groups_max` groups are under way at once.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        groups_max: int,
        size_max: int,
        answer: Callable[[Group], Coroutine[Any, Any, None]],
        spawn: Spawn,
        patient: bool,
    ) -> None:
        self._loop = loop
        self._groups_max = groups_max
        self._size_max = size_max
        self._answer = answer
        self._spawn = spawn
        self._waiting: deque[QueuedRead] = deque()
        self._groups = 0
        self._gathering = Gathering(loop, self._waiting, size_max, self._start, patient)

    def add(self, read: QueuedRead) -> None:
        self._waiting.append(read)
        if self._groups < self._groups_max:
            self._gathering.begin(self._groups)

    def _start(self) -> None:
        while self._waiting and self._groups < self._groups_max:
            size = min(self._size_max, len(self._waiting))
            self._groups += 1
            self._spawn(self._run([self._waiting.popleft() for _ in range(size)]))

    async def _run(self, group: Group) -> None:
        task = current_task()
        assert task is not None
        limit = self._loop.call_later(REQUEST_SECONDS_MAX, task.cancel)
        try:
            await self._answer(group)
        except GeneratorExit:  # the loop is gone, and nothing more can begin
            raise
        except BaseException:
            self._end(limit)
            raise
        self._end(limit)

    def _end(self, limit: TimerHandle) -> None:
        limit.cancel()
        self._groups -= 1
        if self._waiting:
            self._gathering.begin(self._groups)


class Reads:
    """The queues of requests that only read. Call all methods on the loop.

    `prepare` is awaited before each group is answered.
    """

    def __init__(
        self,
        store: kv.AsyncStore,
        loop: AbstractEventLoop,
        environment: Environment,
        jobs: Jobs,
        spawn: Spawn,
        prepare: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._store = store
        self._loop = loop
        self._environment = environment
        self._jobs = jobs
        self._prepare = prepare
        self._backlog = Backlog(loop, self._overdue, environment.clock.timer)
        self._queue = ReadQueue()
        self._slices = Slices(loop)
        self._spawn = spawn
        self._rows: dict[int, GroupQueue] = {}
        """The queues, by machine, of requests that read a single row. Requests that concern several
        machines have the queue `SEVERAL`."""
        self._pages: dict[int, GroupQueue] = {}
        self._apart: dict[int, GroupQueue] = {}
        """The queues, by machine, of requests that would probably wait for a lock in vain: see
        `LockedTickets`."""
        self._locked = LockedTickets()

    def __len__(self) -> int:
        return len(self._backlog)

    def add(self, read: QueuedRead) -> None:
        try:
            self._backlog.enter(read, len(read.body))
            if read.single:
                machine = self._machine_of(read)
                self._group_queue(self._rows, machine, ROWS_PER_GROUP, self._answer_rows).add(read)
            elif self._queue.request(read.caller.access_key, partial(self._admitted, read)):
                self._add_to_pages(read)
        except ApiError as refusal:
            self._backlog.leave(read)
            tell(read.done, refusal)

    def _admitted(self, read: QueuedRead) -> bool:
        if read not in self._backlog:
            return False
        self._add_to_pages(read)
        return True

    def _add_to_pages(self, read: QueuedRead) -> None:
        again = partial(call_on, self._loop, self._add_to_pages, read)
        if self._queue.prepared(read.operation, again):
            machine = self._machine_of(read)
            if self._locked.has(read.locks):
                queue = self._group_queue(self._apart, machine, 1, self._answer_pages)
            else:
                queue = self._group_queue(self._pages, machine, PAGES_PER_GROUP, self._answer_pages)
            queue.add(read)

    def _machine_of(self, read: QueuedRead) -> int:
        """The machine on which the decision begins to read; SEVERAL if there may be several.

        If all rows of the first read must come from one moment, `read.locks` is set to their
        tickets.
        """
        if self._store.machine_of(b"") is None:
            return ONE
        tables, now = self._environment.catalog.known[1], self._environment.clock.now()
        self._begin([read], tables, now)
        first = read.next_read
        if type(first) is kv.Get and first.weight_max is not None:
            read.locks = tickets_of([first])
        return machine_of(self._store, [] if first is None else [first])

    def _group_queue(
        self,
        queues: dict[int, GroupQueue],
        machine: int,
        size_max: int,
        answer: Callable[[Group], Coroutine[Any, Any, None]],
    ) -> GroupQueue:
        queue = queues.get(machine)
        if queue is None:
            groups_max = 1 if size_max == 1 else max(1, self._store.connections_max // 2)
            patient = machine not in (ONE, SEVERAL)
            queue = GroupQueue(self._loop, groups_max, size_max, answer, self._spawn, patient)
            queues[machine] = queue
        return queue

    def _overdue(self, read: Any) -> None:
        tell(read.done, throttled())

    # ---- requests for one row ----

    async def _answer_rows(self, group: Group) -> None:
        """Read all rows, and check in the same round trip that the cached tables are current.

        If the tables are outdated, the requests are decided again on a snapshot. A refused request
        is decided again too, because outdated tables may be the reason for the refusal.
        """
        try:
            await self._prepare()
            left = group
            while left:
                again, left = await self._answer_first(left)
                if again:
                    await self._answer_together(again)
        except GeneratorExit:  # the loop is gone, and nothing can be awaited
            raise
        except BaseException as error:
            self._fail(group, error)

    async def _answer_first(self, group: Group) -> tuple[Group, Group]:
        """Answer the first requests of a group. Returns two lists: the requests that have to be
        decided again, and the requests whose reads the store has not answered yet."""
        version, tables = self._environment.catalog.known
        self._begin(group, tables, self._environment.clock.now())
        asked = [small_only(read.next_read) for read in group if read.next_read is not None]
        head, *answers = await self._store.read([HEAD, *asked])
        if head[0] != version:  # type: ignore[index]
            return group, []
        rest = iter(answers)
        again: Group = []
        for at, read in enumerate(group):
            if read.next_read is not None:
                answer = next(rest, None)
                if answer is None:
                    return again, group[at:]
                if answer == [kv.TOO_LARGE]:
                    self._read_later(read)
                    continue
                read.advance(answer)
            if read.next_read is not None or isinstance(read.result, Exception):
                again.append(read)
            else:
                self._finish(read)
        return again, []

    def _read_later(self, read: QueuedRead) -> None:
        """Queue a request again as a long read, because its row is large."""
        read.decided = True
        if self._backlog.leave(read):
            fields = read.operation, read.request, read.body, read.caller, read.done
            self.add(QueuedRead(*fields, large=True))

    # ---- requests for pages, and other requests that make several reads ----

    async def _answer_pages(self, group: Group, repeats: int = REPEATS_MAX) -> None:
        """Answer a group from one snapshot.

        If one of several machines cannot be reached, or a row stays locked, only requests that need
        this machine or row fail. If the snapshot becomes invalid, the unanswered requests begin
        again, at most `repeats` times.
        """
        try:
            await self._prepare()
            await self._answer_together(group)
        except GeneratorExit:
            raise
        except BaseException as error:
            self._note_locks(group, type(error) is kv.Locked)
            left = [read for read in group if not read.decided]
            if isinstance(error, kv.Conflict) and repeats and left:
                await self._answer_pages(left, repeats - 1)
                return
            divided = type(error) in (kv.StoreError, kv.Locked) and len(left) > 1
            if not divided or self._store.machine_of(b"") is None:
                self._fail(left, error)
                return
            for read in left:
                if self._locked.has(read.locks):
                    self._add_to_pages(read)
                else:
                    await self._answer_pages([read])
        else:
            self._note_locks(group, False)

    def _note_locks(self, group: Group, locked: bool) -> None:
        tickets = (ticket for read in group for ticket in read.locks)
        self._locked.note(tickets, locked, self._loop.time())

    async def _answer_together(self, group: Group) -> None:
        snapshot = await self._store.snapshot()
        try:
            await self._answer_from(snapshot, group)
        except GeneratorExit:
            raise
        except BaseException:
            await snapshot.close()
            raise
        await snapshot.close()

    async def _answer_from(self, snapshot: kv.AsyncSnapshot, group: Group) -> None:
        """Answer a group from a snapshot. The decisions begin with the cached tables, and begin
        again if the snapshot shows that the tables or the time are outdated."""
        environment = self._environment
        (version, tables), now = environment.catalog.known, environment.clock.now()
        self._begin(group, tables, now)
        first_reads = [read.next_read for read in group]
        asked = [read for read in first_reads if read is not None]
        head: Any
        head, *answers = await snapshot.read([HEAD, *asked])
        rest = iter(answers)
        outdated, behind = head[0] != version, head[1] > now * 1000
        tables, now = environment.at(head)
        for read, first in zip(group, first_reads, strict=True):
            answer = None if first is None else next(rest, None)
            if not outdated and answer is not None:
                if is_large(answer):
                    await self._slices.next()
                read.answer(answer)
            refused = read.next_read is None and isinstance(read.result, Exception)
            if outdated or (behind and (refused or not is_timeless(first))):
                self._begin([read], tables, now)
        await drive_together(group, snapshot, self._slices, self._finish)

    # ---- the beginning and the end of each request ----

    def _begin(self, group: Group, tables: Tables, now: float) -> None:
        for read in group:
            read.begin(self._environment.moment(now, read.caller), tables)

    def _finish(self, read: QueuedRead) -> None:
        result = read.end()
        if isinstance(result, Costly):
            self._go_aside(read)
        else:
            self._tell(read, self._outcome(result))

    def _outcome(self, result: Decision | Exception) -> Outcome:
        """The outcome of a request with this result.

        An error is returned, not raised again: its new traceback would form a reference cycle with
        this call, which would keep the rows that were read in memory.
        """
        meter, now = self._environment.meter, self._environment.clock.now()
        if isinstance(result, Exception):
            return refused(result, meter, now)
        try:
            return charged(encode(result.response()), result.receipt, meter, now)
        except Exception as error:
            return refused(error, meter, now)

    def _go_aside(self, read: QueuedRead) -> None:
        """Start the request again as a costly request. It keeps its place among the long reads."""
        told = partial(call_on, self._loop, self._tell, read)
        self._jobs.read(read.operation.name, read.body, read.caller, told)

    def _tell(self, read: QueuedRead, outcome: Outcome) -> None:
        if not read.single:
            self._queue.leave()
        if self._backlog.leave(read):
            tell(read.done, outcome)

    def _fail(self, group: Group, error: BaseException) -> None:
        """Answer the requests that have no answer yet. If `error` is not an Exception, raise it."""
        refusal = internal_error(error)
        for read in group:
            if not read.decided:
                self._tell(read, refusal)
        if not isinstance(error, Exception):
            raise error
