"""Runs operations by name on one store, from any thread or on an event loop."""

from asyncio import get_running_loop
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from hashrange import forks, kv
from hashrange.metering.recording import RecordingMeter, meter_of
from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.errors import ApiError
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.operations import OPERATIONS
from hashrange.operations.operation import Operation
from hashrange.runtime.aside.evaluation import Here
from hashrange.runtime.aside.jobs import Jobs
from hashrange.runtime.base import BaseRuntime
from hashrange.runtime.batch import Submission, submission_of
from hashrange.runtime.catalog import Catalog
from hashrange.runtime.clock import Clock, TimeSource
from hashrange.runtime.consistency.history import History
from hashrange.runtime.consistency.lagging import Lagging
from hashrange.runtime.ending import Done, Outcome, internal_error
from hashrange.runtime.environment import Environment
from hashrange.runtime.threaded.committer import Committer
from hashrange.runtime.threaded.reads import Reads
from hashrange.runtime.threaded.turn import Turn
from hashrange.runtime.upgrade import bring_up_to_date
from hashrange.runtime.vector_views import VectorViews


class Runtime(BaseRuntime):
    """Operations over one synchronous store. Its methods may be called from any thread.

    The constructor upgrades rows that an older version has stored. `wake_upkeep` is called after a
    commit that changed or dropped a table. For requests from an event loop, commits that may wait
    for a disk run in `executor` or, if it is None, in a thread of the runtime's own.
    """

    def __init__(
        self,
        store: kv.Store,
        clock: TimeSource | None = None,
        settings: Settings = DEFAULT_SETTINGS,
        wake_upkeep: Callable[[], None] = lambda: None,
        executor: Executor | None = None,
    ) -> None:
        bring_up_to_date(store)
        settings.check()
        meter = meter_of(settings, wake_upkeep)
        times = Clock.of(clock)
        lagging, watch = None, None
        if settings.consistency is not None or settings.throughput == "enforced":
            history = History(settings.consistency, times.now, meter)
            lagging, watch = Lagging(settings.consistency, history, meter), history.watch
        # A search that may show old values reads former rows, which no cached view has.
        keeps_views = settings.consistency is None
        views = VectorViews(settings.vector_cache_bytes if keeps_views else 0)
        environment = Environment(Catalog(), times, settings, meter, lagging, views=views)
        super().__init__(store, environment, Jobs(store, environment, Here(), executor))
        self._store = store
        self._reads = Reads(store, environment, self._jobs)
        self._writer = self._committer = Committer(
            store, environment, wake_upkeep, self._jobs, executor, watch
        )
        forks.watch(self)

    def call_all(self, name: str, bodies: Sequence[bytes]) -> list[Outcome]:
        """Like `call`, but for several requests that write and share commits, as in programs that
        load data. Other writers may wait longer because of it (see `Submission.bulk`).

        Returns the outcome of each request: the body of its response, or the error.
        """
        operation = self._find(OPERATIONS, name)
        outcomes: list[Outcome] = [b""] * len(bodies)
        submissions: dict[int, Submission] = {}
        for number, body in enumerate(bodies):
            try:
                request = operation.request(body)
            except ApiError as error:
                outcomes[number] = error
            else:
                submission = submission_of(operation, request, body, DEFAULT_CALLER)
                submission.bulk = True
                submissions[number] = submission
        settled = self._committer.execute_all(list(submissions.values()))
        for number, outcome in zip(submissions, settled, strict=True):
            outcomes[number] = outcome
        return outcomes

    def submit(
        self,
        name: str,
        body: bytes,
        done: Done,
        caller: Caller = DEFAULT_CALLER,
        turn: Turn | None = None,
    ) -> None:
        """On an event loop: run an operation. `done` is called with the response's body or the
        error.

        For a short read, `done` is called before `submit` returns. Otherwise it is called later on
        the loop. Reads of one `turn` share its snapshot.
        """
        operation = OPERATIONS.get(name)
        if operation is None or self._closed:
            done(self._refusal(name))
            return
        outcome: Outcome | None
        try:
            request = operation.request(body)
            writes = operation.writes
            if writes and (writes is True or operation.is_write(request)):
                submission = submission_of(operation, request, body, caller, done)
                loop = get_running_loop() if turn is None else turn.loop
                self._committer.submit(submission, loop)
                return
            outcome = self._reads.start(operation, request, body, caller, done, turn)
        except ApiError as error:
            outcome = error
        except Exception as error:
            outcome = internal_error(error)
        if outcome is not None:
            done(outcome)

    def turn(self) -> Turn:
        """A Turn, which the requests of one turn of an event loop share. Close it at the end of the
        turn."""
        return Turn(self._reads.open_brief)

    def take_steps(self) -> list[dict[str, Any]]:
        """The upkeep steps that the load requires, such as splits of hot partitions."""
        meter = self.environment.meter
        now = self.environment.clock.now()
        return meter.take_steps(now) if meter is not None else []

    def close(self) -> None:
        """Carry out the writes that wait, then close the store."""
        self._closed = True
        self._reads.close()
        self._jobs.close()
        self._committer.close()
        if isinstance(self.environment.meter, RecordingMeter):
            self.environment.meter.close(self.environment.clock.now())
        self._store.close()

    def _call(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        try:
            request = operation.request(body)
            writes = operation.writes
            if writes and (writes is True or operation.is_write(request)):
                return self._committer.execute(submission_of(operation, request, body, caller))
            return self._reads.call(operation, request, body, caller)
        except ApiError:
            raise
        except Exception as error:
            raise internal_error(error) from error

    def _write_elsewhere(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        return self._committer.execute_aside(operation, body, caller)
