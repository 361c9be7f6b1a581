"""Runs operations by name on one store, from any thread or on an event loop."""

import os
from asyncio import get_running_loop
from collections.abc import Callable
from typing import Any

from hashrange import kv
from hashrange.engine.decision import Decision
from hashrange.engine.fetch import Moment
from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.errors import ApiError, UnknownOperationException
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.operations import OPERATIONS
from hashrange.operations.operation import Operation
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.batch import Outcome, Submission, encode_response, internal_error
from hashrange.runtime.catalog import Catalog
from hashrange.runtime.clock import Clock
from hashrange.runtime.committer import Committer
from hashrange.runtime.drive import SlicedDrive, drive, glance
from hashrange.runtime.readings import Reading, Readings
from hashrange.runtime.view import View

ENTROPY_BYTES = 16

Done = Callable[[Outcome], None]


class Closed(kv.StoreError):
    """The database has been closed; it is a mistake of whoever still asks it."""


class Runtime:
    """Operations over one store. Its methods may be called from any thread.

    `wake_upkeep` is called after a commit that changed or dropped a table. Once it is closed,
    every operation raises Closed.
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
        self._by_name = {**OPERATIONS, **UPKEEP}
        self._store = store
        self._settings = settings
        self._clock = clock or Clock()
        self._catalog = Catalog()
        self._readings = Readings()
        self._committer = Committer(store, self._catalog, self._clock, wake_upkeep)

    def call(self, name: str, body: bytes, caller: Caller = DEFAULT_CALLER) -> bytes:
        """The response's body. Raises ApiError, InternalServerError for a mistake of ours."""
        operation = self._operation(name)
        try:
            request = operation.request(body)
            if operation.is_write(request):
                return self._committer.execute(self._submission(operation, request, body, caller))
            return self._read(operation, request, caller)
        except ApiError:
            raise
        except Exception as error:
            raise internal_error(error) from error

    def submit(self, name: str, body: bytes, done: Done, caller: Caller = DEFAULT_CALLER) -> None:
        """On an event loop: `done` gets the response's body or the error.

        At once for a read of one row, and within a `turn` for any short read; later, on the loop,
        for the rest.
        """
        self._submit(name, body, done, caller, None)

    def turn(self) -> "Turn":
        """For the requests that one turn of an event loop brings; to be closed at its end."""
        return Turn(self)

    def close(self) -> None:
        """Waits for commits under way, then closes the store."""
        self._by_name = {}
        self._committer.close()
        self._readings.forget_closed_loops()
        self._store.close()

    def _submit(
        self, name: str, body: bytes, done: Done, caller: Caller, turn: "Turn | None"
    ) -> None:
        outcome: Outcome | None = None
        try:
            operation = self._operation(name)
            request = operation.request(body)
            if operation.writes and operation.is_write(request):
                submission = self._submission(operation, request, body, caller, done)
                self._committer.submit(submission, get_running_loop())
                return
            if turn:
                outcome = _read_in_turn(operation, request, caller, turn)
            elif operation.single_read:
                outcome = self._read(operation, request, caller)
            if outcome is None:
                self._read_in_slices(operation, request, caller, done)
                return
        except (ApiError, Closed) as error:
            outcome = error
        except Exception as error:
            outcome = internal_error(error)
        done(outcome)

    def _operation(self, name: str) -> Operation:
        operation = self._by_name.get(name)
        if operation is None:
            raise self._no_operation(name)
        return operation

    def _no_operation(self, name: str) -> Exception:
        if not self._by_name:
            return Closed("the database is closed; connect to it again")
        from difflib import get_close_matches  # only who has made a mistake waits for it

        close = get_close_matches(str(name), self.operations, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return UnknownOperationException(f"{name!r} is no operation of DynamoDB{hint}")

    def _submission(
        self,
        operation: Operation,
        request: Any,
        body: bytes,
        caller: Caller,
        done: Done | None = None,
    ) -> Submission:
        entropy = os.urandom(ENTROPY_BYTES) if operation.random else b""
        return Submission(operation, request, len(body), entropy, caller, self._settings, done)

    def _read(self, operation: Operation, request: Any, caller: Caller) -> bytes:
        if operation.single_read:
            moment = Moment(self._clock.now(), b"", caller, self._settings)
            decision = glance(operation, request, moment, self._store, self._catalog)
            if decision:
                return _response(decision)
        view = self._view()
        try:
            decide = view.begin(operation, request, caller)
            return _response(drive(decide, view.snapshot, view.tables))
        finally:
            view.close()

    def _view(self, brief: bool = False) -> View:
        snapshot = self._store.snapshot(brief)
        try:
            return View(snapshot, self._catalog, self._clock, self._settings)
        except BaseException:
            snapshot.close()
            raise

    def _read_in_slices(
        self, operation: Operation, request: Any, caller: Caller, done: Done
    ) -> None:
        loop = get_running_loop()
        view = self._view()
        try:
            decide = view.begin(operation, request, caller)
        except BaseException:
            view.close()
            raise
        self._readings.add(Reading(decide, view, _response, done), loop)


class Turn:
    """Short reads of one turn of an event loop: they see one moment and pay for it once.

    Their requests had arrived when it is taken, so none can tell that it is shared. `close` it
    before the loop goes on.
    """

    __slots__ = ("_runtime", "_view")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._view: View | None = None

    def submit(self, name: str, body: bytes, done: Done, caller: Caller) -> None:
        """See `Runtime.submit`."""
        self._runtime._submit(name, body, done, caller, self)

    def view(self) -> View:
        if self._view is None:
            self._view = self._runtime._view(brief=True)
        return self._view

    def close(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None


def _read_in_turn(operation: Operation, request: Any, caller: Caller, turn: Turn) -> bytes | None:
    """None if it is not done in a slice of time: it is to begin anew, on its own."""
    view = turn.view()
    decide = view.begin(operation, request, caller)
    if operation.single_read:
        return _response(drive(decide, view.snapshot, view.tables))
    decision = SlicedDrive(decide, view.snapshot, view.tables).advance()
    return _response(decision) if decision else None


def _response(decision: Decision) -> bytes:
    return encode_response(decision.response())
