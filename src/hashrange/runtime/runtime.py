"""Runs operations by name on one store, from any thread or on an event loop."""

import os
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable
from typing import Any

from hashrange import kv
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace import system
from hashrange.model.errors import ApiError, UnknownOperationException
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.operations import OPERATIONS
from hashrange.operations.operation import Operation
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.batch import Outcome, Submission, encode_response, internal_error
from hashrange.runtime.catalog import Catalog, Tables
from hashrange.runtime.clock import Clock
from hashrange.runtime.committer import Committer
from hashrange.runtime.drive import SlicedDrive, drive, glance
from hashrange.runtime.source import counters

DEFAULT_REGION = "us-east-1"
ENTROPY_BYTES = 16

_NOTHING_CONSUMED = Receipt()
"""Reads enter what they consume by themselves; a receipt is of changes."""

Done = Callable[[Outcome], None]


class Runtime:
    """Operations over one store. Its methods may be called from any thread.

    `wake_upkeep` is called after a commit that changed or dropped a table.
    """

    def __init__(
        self,
        store: kv.Store,
        clock: Clock | None = None,
        settings: Settings = DEFAULT_SETTINGS,
        wake_upkeep: Callable[[], None] = lambda: None,
    ) -> None:
        self.operations = frozenset(OPERATIONS)
        """The operations of the API; those of upkeep are not for callers from outside."""
        self._store = store
        self._settings = settings
        self._clock = clock or Clock()
        self._catalog = Catalog()
        self._committer = Committer(store, self._catalog, self._clock, wake_upkeep)

    def call(self, name: str, body: bytes, region: str = DEFAULT_REGION) -> bytes:
        """The response's body. Raises ApiError, InternalServerError for a mistake of ours."""
        operation = self._operation(name)
        try:
            request = operation.parse(body)
            if operation.is_write(request):
                return self._committer.execute(self._submission(operation, request, body, region))
            return self._read(operation, request, region)
        except ApiError:
            raise
        except Exception as error:
            raise internal_error(error) from error

    def submit(self, name: str, body: bytes, done: Done, region: str = DEFAULT_REGION) -> None:
        """On an event loop: `done` gets the response's body or the error.

        At once for reads of one row and other short reads; later, on the loop, for the rest.
        """
        outcome: Outcome
        reading: _Reading | None = None
        try:
            operation = self._operation(name)
            request = operation.parse(body)
            if operation.is_write(request):
                submission = self._submission(operation, request, body, region, done)
                self._committer.submit(submission, get_running_loop())
                return
            if operation.single_read:
                outcome = self._read(operation, request, region)
            else:
                reading = self._reading(operation, request, region, done)
        except ApiError as error:
            outcome = error
        except Exception as error:
            outcome = internal_error(error)
        if reading:
            reading.step()
        else:
            done(outcome)

    def close(self) -> None:
        """Waits for commits under way, then closes the store."""
        self._committer.close()
        self._store.close()

    def _operation(self, name: str) -> Operation:
        operation = OPERATIONS.get(name) or UPKEEP.get(name)
        if operation is None:
            raise UnknownOperationException("")
        return operation

    def _submission(
        self,
        operation: Operation,
        request: Any,
        body: bytes,
        region: str,
        done: Done | None = None,
    ) -> Submission:
        entropy = os.urandom(ENTROPY_BYTES) if operation.random else b""
        return Submission(operation, request, len(body), entropy, region, self._settings, done)

    def _read(self, operation: Operation, request: Any, region: str) -> bytes:
        if operation.single_read:
            moment = Moment(self._clock.now(), b"", region, self._settings)
            decision = self._glance(operation, request, moment)
            if decision:
                return _response(decision)
        snapshot = self._store.snapshot()
        try:
            moment, tables = self._moment(snapshot, region)
            return _response(drive(operation.decide(request, moment), snapshot, tables))
        finally:
            snapshot.close()

    def _glance(self, operation: Operation, request: Any, moment: Moment) -> Decision | None:
        """Answer the one read together with the catalog's version, with the table as cached.

        None if the cache does not know the table or was out of date: go the long way.
        """
        version, tables = self._catalog.known
        return glance(operation.decide(request, moment), self._store, version, tables)

    def _moment(self, snapshot: kv.Snapshot, region: str) -> tuple[Moment, Tables]:
        """A time that is not before anything in the snapshot, and the tables of the snapshot."""
        version, clock = counters(snapshot, system.CATALOG_VERSION, system.CLOCK)
        self._clock.observe(clock)
        moment = Moment(self._clock.now(), b"", region, self._settings)
        return moment, self._catalog.at(version)

    def _reading(self, operation: Operation, request: Any, region: str, done: Done) -> "_Reading":
        snapshot = self._store.snapshot()
        try:
            moment, tables = self._moment(snapshot, region)
            run = SlicedDrive(operation.decide(request, moment), snapshot, tables)
        except BaseException:
            snapshot.close()
            raise
        return _Reading(run, snapshot, done, get_running_loop())


class _Reading:
    """A read that gives way to others between its slices."""

    def __init__(
        self, run: SlicedDrive, snapshot: kv.Snapshot, done: Done, loop: AbstractEventLoop
    ) -> None:
        self._run = run
        self._snapshot = snapshot
        self._done = done
        self._loop = loop

    def step(self) -> None:
        outcome: Outcome
        try:
            decision = self._run.advance()
            if decision is None:
                self._loop.call_soon(self.step)
                return
            outcome = _response(decision)
        except ApiError as error:
            outcome = error
        except Exception as error:
            outcome = internal_error(error)
        self._snapshot.close()
        self._done(outcome)


def _response(decision: Decision) -> bytes:
    return encode_response(decision.respond(_NOTHING_CONSUMED))
