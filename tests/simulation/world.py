"""Two processes on one store, in one thread. A seed decides which takes a step, and what fails.

A process is a runtime with an event loop and a thread for commits, neither of which is real:
what they were asked to do waits in a list until the world picks it. So a read may come between
any two steps of a commit, another process may find the store taken, a process may die with a
transaction open, and all of it happens again with the same seed.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from itertools import count
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
from small import steps_of

from hashrange import kv
from hashrange.model.errors import ApiError, InternalServerError
from hashrange.operations import OPERATIONS
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.clock import Clock
from hashrange.runtime.drive import SLICE_SECONDS
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.storage import MemoryStore
from hashrange.testing import FaultyStore
from hashrange.testing.async_memory import AsyncMemoryStore
from hashrange.testing.faulty import InjectedError, LandedUnknown, LostUnknown
from hashrange.upkeep.integrity import problems

Response = dict[str, Any]
Told = Callable[[Response | BaseException], None]
Job = tuple[Callable[..., object], tuple[Any, ...]]

NOON = 1_800_000_000.0
FAULT_RATE = 0.01
CRASH_RATE = 0.004
FAULTS = {
    "begin": (kv.Busy,),
    "read": (InjectedError,),
    "write": (kv.Full, InjectedError),
    "commit": (
        *[kv.Conflict] * 3,
        kv.Full,
        kv.ReadOnly,
        LandedUnknown,
        LostUnknown,
    ),
}

PROCESSES = 2
LOOP_STEPS = 4
"""How much likelier a step of a loop is than one of its thread: a commit takes its time."""


class Violation(Exception):
    """A promise did not hold."""


class Loop:
    """The part of an event loop that the runtime needs."""

    def __init__(self) -> None:
        self.ready: deque[Job] = deque()
        self.closed = False

    def call_soon(self, function: Callable[..., object], *arguments: Any, **_: Any) -> Any:
        if self.closed:
            raise RuntimeError("the loop is closed")
        self.ready.append((function, arguments))

    call_soon_threadsafe = call_soon

    def close(self) -> None:
        self.closed = True

    def is_closed(self) -> bool:
        return self.closed

    def is_running(self) -> bool:
        return not self.closed


class TaskLoop(Loop):
    """A loop that runs tasks as well."""

    def __init__(self) -> None:
        super().__init__()
        self._works: list[Coroutine[Any, Any, Any]] = []

    def create_task(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        self._works.append(work)
        return asyncio.Task(work, loop=self)  # type: ignore[arg-type]

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)  # type: ignore[arg-type]

    def close(self) -> None:
        super().close()
        for work in self._works:
            work.close()

    def call_later(self, seconds: float, function: Callable[..., object], *arguments: Any) -> Any:
        """Of a pause, only the order of events matters. Limits of time never come."""
        if seconds < 1:
            self.call_soon(function, *arguments)
        return asyncio.TimerHandle(0, function, arguments, self)  # type: ignore[arg-type]

    def time(self) -> float:
        """No time passes, so what is remembered for a while is never forgotten."""
        return 0.0

    def _timer_handle_cancelled(self, timer: asyncio.TimerHandle) -> None:
        """There is no timer to stop."""

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Tasks of a process that died end in the middle; no other may fail."""
        if not self.closed:
            raise Violation(context["message"])


class Store(FaultyStore):
    """Says that commits are slow; one that loses a race really does: a rival writes meanwhile."""

    slow_commits = True

    def __init__(self, inner: kv.Store, seed: int, rival: Callable[[], object]) -> None:
        super().__init__(inner, seed=seed, faults=FAULTS)
        self.rival = rival
        self.open: kv.Transaction | None = None

    def begin(self, wait: bool = True, /) -> kv.Transaction:
        self.open = Transaction(self, super().begin(wait))
        return self.open


class Transaction:
    def __init__(self, store: Store, transaction: kv.Transaction) -> None:
        self._store = store
        self._transaction = transaction
        self.read = transaction.read
        self.write = transaction.write

    def commit(self) -> None:
        self._store.open = None
        try:
            self._transaction.commit()
        except kv.Conflict:
            self._store.rival()
            raise

    def rollback(self) -> None:
        self._store.open = None
        self._transaction.rollback()


class QueueingExecutor(Executor):
    """Queues jobs and runs none: the world runs them."""

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()

    def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Any:
        self.jobs.append((function, arguments))


class Process:
    def __init__(self, world: "World", seed: int) -> None:
        self.world = world
        self.store = Store(world.inner, seed, world.rival)
        world.stores.append(self.store)
        self.thread: deque[Job] = deque()
        self.start(Clock(world.now, world.ticks), seed)
        self.store.rate = FAULT_RATE

    def start(self, clock: Clock, seed: int) -> None:
        self.loop = Loop()
        executor = QueueingExecutor()
        self.thread = executor.jobs
        self.runtime: Runtime | AsyncRuntime = Runtime(self.store, clock, executor=executor)

    def steps(self) -> Iterator[Callable[[], object]]:
        if self.loop.ready:
            for _ in range(LOOP_STEPS):
                yield lambda: self._run(self.loop.ready)
        if self.thread and not self._waits_for_store():
            yield lambda: self._run(self.thread)

    def submit(self, operation: str, request: Response, told: Told) -> None:
        def done(outcome: bytes | BaseException) -> None:
            told(msgspec.json.decode(outcome) if isinstance(outcome, bytes) else outcome)

        with self._running():
            self.runtime.submit(operation, msgspec.json.encode(request), done)

    def die(self) -> None:
        self.loop.close()
        if self.store.open:
            self.store.open.rollback()

    def _waits_for_store(self) -> bool:
        """True if its thread would wait for another process to end its transaction."""
        return not self.store.open and any(other.store.open for other in self.world.processes)

    def _run(self, jobs: deque[Job]) -> None:
        function, arguments = jobs.popleft()
        with self._running():
            function(*arguments)

    @contextmanager
    def _running(self) -> Iterator[None]:
        asyncio._set_running_loop(self.loop)  # type: ignore[arg-type]
        try:
            yield
        finally:
            asyncio._set_running_loop(None)


class AwaitedProcess(Process):
    """Its store is awaited, and its transactions do not exclude those of other processes."""

    def start(self, clock: Clock, seed: int) -> None:
        self.loop = TaskLoop()
        store = AsyncMemoryStore(self.store, seed=seed)
        self.runtime = AsyncRuntime(store, self.loop, clock)  # type: ignore[arg-type]


class World:
    """`clients` are generators that yield (operation, request) and are sent what came of it.

    A response, an error, or None where the process died before it answered.
    """

    def __init__(self, seed: int, kind: type[Process] = Process) -> None:
        self.random = Random(seed)
        self.kind = kind
        self.inner = MemoryStore()
        self.inner.busy_seconds = 0.0
        self.trace: list[str] = []
        self.stores: list[Store] = []
        self.rival_writes: Callable[[Runtime], object] = lambda runtime: None
        self._seconds = count()
        self._slices = count()
        self._rival = Runtime(self.inner, Clock(self.now))
        self.processes = [self._process() for _ in range(PROCESSES)]
        self._clients: dict[str, Any] = {}
        self._waiting: dict[str, tuple[Process, object]] = {}
        self._wrong: list[str] = []
        """What clients were told that no runtime may tell them, even if the runtime goes on."""
        self._answers: dict[str, Response | BaseException | None] = {}

    def now(self) -> float:
        return NOON + next(self._seconds) / 10

    def ticks(self) -> float:
        """Each reading of this clock advances it by half a slice."""
        return next(self._slices) * SLICE_SECONDS / 2

    def rival(self) -> None:
        self.rival_writes(self._rival)

    def call(self, operation: str, request: Response) -> Response:
        """Executed at once, outside of both processes, without faults."""
        body = self._rival.call(operation, msgspec.json.encode(request))
        return msgspec.json.decode(body, type=Response)

    def run(self, clients: dict[str, Any], steps: int) -> None:
        """Run `steps` steps with faults, then steps without faults until every client ends."""
        self._clients = clients
        self._answers = dict.fromkeys(clients)
        # Clients name the operations of upkeep as they name any other.
        with patch.dict(OPERATIONS, UPKEEP), steps_of(4):
            for number in range(steps):
                self._step()
                if number % 50 == 0:
                    self.check()
            self._settle()
        self.check()

    def close(self) -> None:
        for process in self.processes:
            process.loop.close()

    def check(self) -> None:
        found = self._wrong or list(problems(self.inner))
        if found:
            raise Violation("; ".join(found))

    def unknown_outcomes(self) -> int:
        """The number of commits whose outcome is unknown."""
        return sum(
            store.struck[fault] for store in self.stores for fault in (LandedUnknown, LostUnknown)
        )

    def _process(self) -> Process:
        return self.kind(self, self.random.randrange(1 << 30))

    def _step(self) -> None:
        if self.random.random() < CRASH_RATE:
            self._crash(self.random.randrange(len(self.processes)))
        steps = [step for process in self.processes for step in process.steps()]
        steps += [partial(self._turn, name) for name in self._answers]
        if not steps:
            raise Violation(f"nobody tells {sorted(self._waiting)}")
        self.random.choice(steps)()

    def _settle(self) -> None:
        for at, process in enumerate(self.processes):
            if process.store.struck[kv.ReadOnly]:
                self._crash(at)
        for process in self.processes:
            process.store.rate = 0.0
        for client in self._clients.values():
            client.end()
        while self._waiting or self._answers:
            steps = [step for process in self.processes for step in process.steps()]
            if steps:
                self.random.choice(steps)()
            elif self._answers:
                self._turn(next(iter(self._answers)))
            else:
                raise Violation(f"nobody tells {sorted(self._waiting)}")

    def _crash(self, at: int) -> None:
        died = self.processes[at]
        died.die()
        self.trace.append(f"process {at} dies")
        self.processes[at] = self._process()
        for name in [n for n, (process, _) in self._waiting.items() if process is died]:
            del self._waiting[name]
            self._answers[name] = None

    def _turn(self, name: str) -> None:
        """A client takes the answer it got and sends its next request."""
        answer = self._answers.pop(name)
        wanted = self._clients[name].next(answer)
        if wanted is None:
            return
        operation, request = wanted
        process = self.random.choice(self.processes)
        asked = object()  # an answer of a process that died is nobody's any more
        self._waiting[name] = (process, asked)

        def told(outcome: Response | BaseException) -> None:
            if self._waiting.get(name, (None, None))[1] is not asked:
                self._wrong.append(f"{name} was told twice, or by the dead")
                return
            cause = outcome.__cause__ if isinstance(outcome, InternalServerError) else None
            if cause is not None and not isinstance(cause, kv.StoreError):
                self._wrong.append(f"{operation} met a bug: {cause!r}")
            del self._waiting[name]
            self._answers[name] = outcome
            self.trace.append(f"{name}: {operation} {_short(outcome)}")

        process.submit(operation, request, told)


def _short(outcome: Response | BaseException) -> str:
    return outcome.code if isinstance(outcome, ApiError) else "done"
