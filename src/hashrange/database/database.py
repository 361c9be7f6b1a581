"""The in-process interface of a database: operations by name, with dicts in wire form."""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec.structs import replace

from hashrange import kv
from hashrange.model.caller import DEFAULT_ACCOUNT, DEFAULT_REGION, Caller
from hashrange.model.errors import SerializationException
from hashrange.model.settings import DEFAULT_SETTINGS, Settings
from hashrange.runtime.awaited.threads import StoreOnLoop
from hashrange.runtime.background import Background
from hashrange.runtime.clock import TimeSource
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.upkeep.integrity import problems
from hashrange.upkeep.scrubber import Scrubber
from hashrange.upkeep.upkeep import Upkeep

if TYPE_CHECKING:
    import boto3

    from hashrange.access.generation import Access
    from hashrange.database.states import States
    from hashrange.runtime.awaited.runtime import AsyncRuntime

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode

_WIRE_FORM = (
    "A request is a dict, and so is each attribute value in it: its type and its value, as in "
    '{"S": "x"}, {"N": "1.5"}, {"B": b"x"}, {"BOOL": True}, {"L": [{"S": "x"}]}. For plain Python '
    'values, use boto3_session().resource("dynamodb").'
)


class Database:
    """One database. Its methods may be called from many threads, which share commits.

    It is also a context manager that closes the database; on an event loop, use `async with`.

    If the store belongs to an event loop (`StoreOnLoop`), only `execute_async` and `aclose` may be
    called on that loop. The other methods block, so they raise RuntimeError there.
    """

    def __init__(
        self,
        store: kv.Store,
        *,
        clock: TimeSource | None = None,
        region: str = DEFAULT_REGION,
        settings: Settings = DEFAULT_SETTINGS,
        access: "Access | None" = None,
    ) -> None:
        arguments: Any = (store, clock, settings, self.start_upkeep)
        self.runtime: Runtime | AsyncRuntime
        if isinstance(store, StoreOnLoop):
            from hashrange.runtime.awaited import runtime as awaited  # which takes time to import

            self.runtime = awaited.AsyncRuntime(store.store, store.loop, *arguments[1:])
        elif settings.faults is None:
            self.runtime = Runtime(*arguments)
        else:
            from hashrange.runtime.faults.unreliable import UnreliableRuntime

            self.runtime = UnreliableRuntime(*arguments, faults=settings.faults)
        self._workers: list[Background] = []
        shared = isinstance(store, StoreOnLoop)
        asked = self.runtime.take_steps
        self._upkeep = Upkeep(
            self.runtime, settings, asked=asked, shared=shared, elected=store.elected
        )
        self._scrubber = Scrubber(store, self.runtime)
        self._store = store
        self.access = access
        self._caller = Caller(region, access.account if access else DEFAULT_ACCOUNT)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run an operation of the API: `execute("GetItem", {"TableName": ..., "Key": ...})`.

        `request` and the response are in wire form: a value is {"S": "x"}, for example, and binary
        data is base64 text (`bytes` are accepted as well). Raises the errors of
        `hashrange.model.errors`, and StoreError if the database is closed.
        """
        try:
            return _decode(self.runtime.call(operation, _encode(request), self._caller) or b"{}")
        except SerializationException as error:  # the message is DynamoDB's
            error.add_note(_WIRE_FORM)
            raise

    async def execute_async(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Like `execute`, but never blocks the event loop for a disk or a lock."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def done(outcome: bytes | BaseException) -> None:
            if answer.cancelled():
                return
            if isinstance(outcome, bytes):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)

        self.runtime.submit(operation, _encode(request), done, self._caller)
        try:
            return _decode(await answer or b"{}")
        except SerializationException as error:
            error.add_note(_WIRE_FORM)
            raise

    def states(self) -> "States":
        """An object that keeps states of a database in memory, and restores them. Its initial state
        is the state at this call."""
        from hashrange.database.states import States
        from hashrange.storage.memory import MemoryStore

        assert isinstance(self._store, MemoryStore), "only a database in memory can restore states"
        return States(self._store, self.runtime)

    def explain(
        self, operation: str, request: dict[str, Any], *, principal: str | None = None
    ) -> dict[str, Any]:
        """Explain what a request would consume now. Nothing is written or charged.

        `principal` is the ARN of a principal in the access file. With it, the member `access` has,
        for each action, the policy statement that decides, and the condition keys.

        Returns the members of `hashrange.runtime.inspection.explain.Explanation`: the units read
        and written, the partitions in which they are consumed, the number of rows read and of items
        returned, and the effect of a write on each index. Raises the service's error if the request
        is invalid, and ValueError if there is no such principal. An error that depends on the state
        of the database is not raised; it is the member `error`.
        """
        caller = self._caller
        if principal is not None:
            if self.access is None:
                raise ValueError(f"the database has no access file that names {principal}")
            caller = replace(caller, principal=self.access.principal(principal))
        explained = self.runtime.explain(operation, _encode(request), caller)
        result: dict[str, Any] = msgspec.to_builtins(explained)
        return result

    def inspect(self, table_name: str | None = None) -> list[dict[str, Any]]:
        """Describe all tables, or one table: partitions, largest item collections and indexes.

        Sizes are in bytes. `from` and `to` are the ends of a partition's range of hashes, in
        hexadecimal. If a partition begins in the middle of an item collection, `from_key` is its
        first key. `contributor_insights` has the reports of a table or index for which they are
        enabled.

        With `Settings(throughput=)` "measured" or "enforced", `load` has the units that this
        process has consumed, the throttled requests, and the hottest keys. If throughput is
        enforced, `read_credit` and `write_credit` are the units that each partition can still serve
        at once; those in `load` are for the whole table or index. A debt is negative, None means no
        limit.

        On Citus, and if throughput is enforced, `lag_seconds` of a global index is the age of the
        oldest change that the index does not show yet.
        """
        return self.runtime.inspect(table_name)

    def expired_items(self) -> dict[str, int]:
        """The number of expired items that this process has deleted, by table."""
        return dict(self._upkeep.expired)

    def boto3_session(
        self, region: str = DEFAULT_REGION, principal: str | None = None
    ) -> "boto3.Session":
        """A boto3 session whose clients and resources are answered in this process.

        The session acts as the principal with this ARN in the database's access file; without an
        ARN it may do everything. Raises ValueError if there is no such principal.
        """
        from hashrange.failing import needing

        with needing("boto3"):
            from hashrange.clients.boto import boto3_session
        settings = self.runtime.environment.settings
        may_fail = settings.faults is not None or settings.throughput == "enforced"
        return boto3_session(self, region, retry=may_fail, principal=principal)

    def backup(self, path: str | os.PathLike[str], *, compact: bool = False) -> None:
        """Copy the database as of one moment to a new file, while it is in use.

        A `compact` copy has no free pages, and takes longer. Raises `StoreError` if the file
        exists, or if the database is in memory.
        """
        self._store.backup(os.fsdecode(path), compact)

    def figures(self) -> dict[str, int]:
        """Numbers for monitoring, by name: sizes in bytes, and counts since the database was
        opened."""
        figures = self._store.figures()
        for worker in self._workers:
            figures |= worker.figures()
        return figures

    def place(self) -> str:
        """An identifier of a PostgreSQL database, which does not depend on the address. Empty for
        other databases."""
        store = self._store
        return store.wait(store.store.place()) if isinstance(store, StoreOnLoop) else ""

    def check(self) -> Iterator[str]:
        """Check the file, the rows, the indexes and the counters. Yields one line for each
        problem."""
        yield from self._store.verify()
        yield from problems(self._store)

    def start_upkeep(self) -> None:
        """Start the upkeep threads. They look for work now and at intervals, also for work that an
        earlier process has not finished."""
        for worker in (self._upkeep, *self._workers):
            worker.wake()

    def run_upkeep(self) -> None:
        """Do all work that is due: index builds, the deletion of expired items, transfers.

        A thread does this work within seconds anyway. A test that has moved its clock calls this
        method in order not to wait.
        """
        workers: list[Background] = [*self._workers, self._upkeep]
        while True in [worker.run_once() for worker in workers]:
            pass

    def employ(self, worker: Background) -> None:
        """Add a background thread, which is closed together with the database."""
        self._workers.append(worker)
        worker.wake()

    def start_scrubber(self) -> None:
        """Start a repeated search for damage in the background, which uses about 2 % of one core.

        If damage is found, an error is logged, and all further writes fail; reads continue.
        """
        self._scrubber.start()

    def on_damage(self, tell: Callable[[str], None]) -> None:
        """Set a function that is called with one line when the search finds damage. It may be
        called in any thread."""
        self._scrubber.on_damage(tell)

    def close(self) -> None:
        """Answer the requests that have already arrived, then close the store."""
        for worker in self._workers:
            worker.close()
        self._scrubber.close()
        self._upkeep.close()
        self.runtime.close()
        if isinstance(self._store, StoreOnLoop):
            self._store.end()

    async def aclose(self) -> None:
        """Like `close`, without blocking the event loop."""
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
