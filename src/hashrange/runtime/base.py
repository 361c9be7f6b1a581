"""The code that the runtimes of all stores share."""

from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol

from hashrange import forks, kv
from hashrange.engine import fetch
from hashrange.metering.usage import SourceReport
from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.model.tables import Table
from hashrange.operations import OPERATIONS
from hashrange.operations.operation import Operation
from hashrange.operations.upkeep import UPKEEP
from hashrange.runtime.aside.jobs import Jobs
from hashrange.runtime.aside.worker import Worker
from hashrange.runtime.drive import drive
from hashrange.runtime.environment import Environment
from hashrange.runtime.health import probe
from hashrange.runtime.inspection.capacities import Capacity, capacities
from hashrange.runtime.inspection.explain import Explanation, explain
from hashrange.runtime.inspection.inspect import inspect
from hashrange.runtime.mistaken_calls import API, closed, unknown

if TYPE_CHECKING:
    from hashrange.runtime.cut import Cut

LARGE_BODY_BYTES = 512 * 1024
"""The largest body that a server decodes in its own process. Decoding a larger body may take tens
of milliseconds."""


class Writer(Protocol):
    refusal: str
    """The reason why all writes are refused; empty if they are not."""


class BaseRuntime(forks.Forkable):
    """Runs operations on a database, and explains the database and its requests to users.

    Its methods may be called from any thread. Methods of `store` block the calling thread. After
    `close`, every operation raises Closed.
    """

    _writer: Writer

    def __init__(self, store: kv.Store, environment: Environment, jobs: Jobs) -> None:
        self.operations = API
        """The names of the operations that `call` and `submit` know: the operations of the API."""
        self.environment = environment
        self._threads = store
        self._jobs = jobs
        self._closed = False

    def call(self, name: str, body: bytes, caller: Caller = DEFAULT_CALLER) -> bytes:
        """Run an operation. Returns the response's body. Raises ApiError; a bug raises an
        InternalServerError."""
        operation = OPERATIONS.get(name)
        if operation is None or self._closed:
            raise self._refusal(name)
        if len(body) > LARGE_BODY_BYTES and self._jobs.evaluator.elsewhere:
            return self._call_elsewhere(operation, body, caller)
        return self._call(operation, body, caller)

    def call_upkeep(self, name: str, body: bytes) -> bytes:
        """Run an operation of the upkeep, which clients cannot call."""
        return self._call(self._find(UPKEEP, name), body, DEFAULT_CALLER)

    def refuse_writes(self, reason: str) -> None:
        """Refuse all writes from now on, because the stored data is damaged. Reads continue."""
        self._writer.refusal = reason

    def probe(self) -> None:
        """Read from the store, and make a test commit. Raises StoreError if either fails."""
        if self._writer.refusal:
            raise kv.Damaged(self._writer.refusal)
        probe(self._threads)

    def explain(self, name: str, body: bytes, caller: Caller = DEFAULT_CALLER) -> Explanation:
        """Explain what a request would consume now. Nothing is written. Raises ApiError for an
        invalid request.

        A refusal that depends on the stored data is not raised, but is part of the explanation.
        """
        operation = self._find(OPERATIONS, name)
        request = operation.request(body)
        with closing(self._threads.snapshot()) as snapshot:
            return explain(operation, request, caller, snapshot, self.environment)

    def inspect(self, table_name: str | None = None) -> list[dict[str, Any]]:
        """The contents and the load of tables: see `Database.inspect`."""
        environment = self.environment
        return inspect(self._threads, environment.meter, environment.clock.now(), table_name)

    def definitions(self) -> list[Table]:
        """The definitions of all tables."""
        with closing(self._threads.snapshot()) as snapshot:
            steps: Any = fetch.all_tables()
            tables: list[Table] = drive(steps, snapshot)
        return tables

    def cut(self, table_name: str) -> "Cut":
        """A table with its history. Close the Cut soon, because the store keeps overwritten rows
        until then."""
        from hashrange.runtime.cut import Cut

        return Cut(self._threads, table_name)

    def capacities(self) -> list[Capacity]:
        """The provisioned capacity of tables and global indexes."""
        environment = self.environment
        return capacities(self._threads, environment.clock.now(), environment.meter)

    def usage(self) -> list[SourceReport]:
        """The units that this process has consumed and refused since its start.

        Empty unless throughput is measured.
        """
        meter = self.environment.meter
        return meter.usage.reports() if meter is not None else []

    def tell_units(self) -> None:
        """Add the consumed units to each response from now on, if throughput is measured.

        See `hashrange.metering.metered.Metered`.
        """
        if self.environment.meter is not None:
            self.environment.meter.tells = True

    def evaluate_elsewhere(self) -> None:
        """From now on, evaluate costly requests in a separate process, as servers do, not in a
        thread."""
        self._jobs.evaluator = Worker()

    def at_exit(self) -> None:
        """When the process ends, refuse new requests, which daemon threads may still send. The
        store waits for requests under way."""
        self._closed = True

    def _call(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        raise NotImplementedError

    def _call_elsewhere(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        """Answer a request whose body is so large that this process would be blocked for too
        long."""
        if operation.writes:
            return self._write_elsewhere(operation, body, caller)
        return self._jobs.call(operation.name, body, caller)

    def _write_elsewhere(self, operation: Operation, body: bytes, caller: Caller) -> bytes:
        raise NotImplementedError

    def _find(self, operations: dict[str, Operation], name: str) -> Operation:
        operation = operations.get(name)
        if operation is None or self._closed:
            raise self._refusal(name)
        return operation

    def _refusal(self, name: object) -> Exception:
        """The error for an unknown operation, or for a closed database."""
        return closed() if self._closed else unknown(name)
