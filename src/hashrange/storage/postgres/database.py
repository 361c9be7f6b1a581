"""A PostgreSQL database: its connections, its clock, and the reads from it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg

from hashrange.kv import Durability, Read, StoreError, check_durability, slot_of
from hashrange.storage.postgres import settle
from hashrange.storage.postgres.address import (
    check_tls,
    is_citus,
    is_set,
    pool_size,
    without_option,
)
from hashrange.storage.postgres.cluster import direct, fences, routed
from hashrange.storage.postgres.cluster.fences import Fences
from hashrange.storage.postgres.cluster.nodes import LOCKING_SIZE, WIDE_SIZE, Nodes
from hashrange.storage.postgres.cluster.snapshots import SNAPSHOT, NodeSnapshots
from hashrange.storage.postgres.known_spaces import KnownSpaces
from hashrange.storage.postgres.pool import (
    CITUS_PLANS,
    CITUS_TRANSACTIONS,
    COMMIT_SECONDS_MAX,
    LOCK_SECONDS_MAX,
    LOCKING_TRANSACTIONS,
    NEAR_LOCK_SECONDS_MAX,
    NOTHING,
    PLANS,
    Pool,
    limits,
)
from hashrange.storage.postgres.problems import (
    ERRORS,
    explain,
    is_lost,
    is_of_another_node,
    name_of,
)
from hashrange.storage.postgres.reads import Question, ask
from hashrange.storage.postgres.schema import (
    check_clocks,
    check_members,
    check_nodes,
    is_distributed,
    is_on_every_node,
    prepare,
)

T = TypeVar("T")

FENCED_SECONDS_MAX = 15.0
"""How long reads wait, at most, for a change of definitions to reach all nodes."""
FENCED_PAUSE_SECONDS = 0.01

TIDY_SECONDS = 60.0


class HeldSnapshot:
    """A snapshot of PostgreSQL, held by a connection that was taken from `pool`."""

    def __init__(self, database: "PostgresDatabase", pool: Pool, connection: Any) -> None:
        self._database = database
        self._pool = pool
        self._connection: Any = connection

    async def ask(self, question: Question, values: bool = True) -> None:
        if self._connection is None:
            raise StoreError("the snapshot is closed")
        try:
            await self._database.ask_on(self._pool, self._connection, question, values)
        except BaseException as error:
            self._drop()
            raise self._database.explained(error) from None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.execute("COMMIT")
        except ERRORS:
            self._pool.give(connection, sound=False)
        except BaseException:
            self._pool.give(connection, sound=False)
            raise
        else:
            self._pool.give(connection)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._pool.give(connection, sound=False)


class PostgresDatabase:
    """The connections to one database, or to the nodes of a cluster, and what is known about it.

    The store and its transactions read through this object, which also takes the snapshots of
    PostgreSQL that they need.
    """

    def __init__(self, dsn: str, *, durability: Durability = "full", pool: int = 4) -> None:
        check_durability(durability)
        dsn, pgbouncer = without_option(dsn, "pgbouncer")
        dsn, pool_option = without_option(dsn, "pool")
        dsn, dialect = without_option(dsn, "dialect")
        # For tests: accept a server with `fsync` off.
        dsn, unsynced = without_option(dsn, "unsynced")
        self._unsynced = unsynced == "1"
        self.name = name_of(dsn)
        self._limits = limits("on" if durability == "full" else "off")
        check_tls(dsn, self.name)
        is_pooled = is_set(pgbouncer, "pgbouncer", self.name)
        self._size = pool_size(pool_option, self.name) if pool_option else pool
        self.citus = is_citus(dialect, self.name)
        """Whether statements are those of the `citus` dialect: see `routed`."""
        self.dsn, self._is_pooled = dsn, is_pooled
        self.pool = self._new_pool(self._size)
        self.nodes = Nodes(self._pools_of)
        self.fences = Fences(self.nodes)
        self.spaces = KnownSpaces()
        self.distributes = False
        """Whether the database is opened in order to distribute its tables."""
        self.namespace = 0
        """The number that distinguishes the advisory locks of this schema from those of other
        schemas."""
        self.commits = self.conflicts = 0
        self._several = asyncio.Semaphore(self._size)
        self._opening: asyncio.Lock | None = None
        self._opened = False
        self._latest = 0
        self._sampled_at = 0.0
        self._tidied_at = time.monotonic()
        self._tidying: asyncio.Task[None] | None = None

    commit_seconds_max = COMMIT_SECONDS_MAX

    def _new_pool(
        self,
        size: int,
        address: tuple[str, int] | None = None,
        near: bool = False,
        locking: bool = False,
    ) -> Pool:
        settings = self._limits | (CITUS_PLANS if self.citus else PLANS)
        if near:
            settings["lock_timeout"] = f"{NEAR_LOCK_SECONDS_MAX}s"
        inside = CITUS_TRANSACTIONS if self.citus else NOTHING
        if locking:
            inside = LOCKING_TRANSACTIONS
        name = self.name if address is None else f"{self.name} at {address[0]}:{address[1]}"
        # The nodes are reached at their own addresses, not through pgbouncer.
        is_pooled = self._is_pooled and address is None
        return Pool(self.dsn, name, size, settings, is_pooled, address, inside, near)

    def _pools_of(self, host: str, port: int) -> tuple[Pool, Pool, Pool, Pool]:
        near = self._new_pool(self._size, (host, port), near=True)
        return near, *self._other_pools((host, port))

    def _other_pools(self, address: tuple[str, int] | None = None) -> tuple[Pool, Pool, Pool]:
        locking = self._new_pool(LOCKING_SIZE, address, locking=True)
        return self._new_pool(WIDE_SIZE, address), locking, self._new_pool(self._size, address)

    @property
    def connections_max(self) -> int:
        """The number of connections that a pool has to each machine."""
        return self._size

    def machine_of(self, key: bytes, /) -> int | None:
        """See `kv.AsyncStore`."""
        return self.nodes.of(slot_of(key)).number if len(self.nodes.all) > 1 else None

    @property
    def indexes_follow(self) -> bool:
        return self.citus

    async def open(self) -> None:
        """Connect, check the database, and create or upgrade its tables."""
        if self._opened:
            return
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            if self._opened:
                return
            try:
                async with self.pool.connection() as connection:
                    self.namespace = await prepare(connection, self.name, self._unsynced)
                    await self._open_dialect(connection)
            except ERRORS as error:
                raise self.explained(error) from None
            self._opened = True

    async def _open_dialect(self, connection: Any) -> None:
        if await is_distributed(connection):
            if not (self.distributes or await is_on_every_node(connection)):
                raise StoreError(
                    f"{self.name}: the tables were distributed by an earlier release; stop all "
                    "servers, and run hashrange distribute again"
                )
            await check_members(connection, self.name)
            await check_nodes(connection, self.name, LOCK_SECONDS_MAX)
            await check_clocks(connection, self.name)
            self.citus = True
            self.pool.configure(self._limits | CITUS_PLANS, CITUS_TRANSACTIONS)
            await self.nodes.load(connection)
        elif self.citus:
            self.nodes.use_one(self.pool, *self._other_pools())
            await connection.execute(fences.MAKE)
        self.fences.namespace = self.namespace

    # ---- the clock ----

    def now(self) -> float:
        """See `kv.AsyncStore`."""
        return self.milliseconds() / 1000

    def milliseconds(self) -> int:
        """The database's time, in milliseconds, as this process estimates it: the last time that
        was read, plus the time since."""
        if not self._latest:
            return time.time_ns() // 1_000_000
        return self._latest + int((time.monotonic() - self._sampled_at) * 1000)

    def not_before(self, now: int) -> int:
        """The time of an answer, in milliseconds: `now`, which the database's clock showed, or
        later. Within a process this time never decreases."""
        self._latest = max(now, self.milliseconds() if self._latest else 0)
        self._sampled_at = time.monotonic()
        return self._latest

    # ---- for snapshots and transactions ----

    def question(self, reads: Sequence[Read]) -> Question:
        # Definitions may be visible on one node and not yet on another.
        return Question(reads, locks_system=self.nodes.are_distributed)

    async def pool_for(self, question: Question) -> Pool:
        return await self.pool_of(question.slots)

    async def pool_of(self, slots: set[int]) -> Pool:
        """The pool for statements about these slots."""
        await self.open()
        if not self.citus:
            return self.pool
        self.nodes.keep_current()
        return self.nodes.pool_for(slots)

    async def hold_snapshot(
        self, question: Question, values: bool = True
    ) -> HeldSnapshot | NodeSnapshots:
        """Take a snapshot of PostgreSQL, on a connection of its own, and answer a question from it.
        In a cluster, a node's snapshot is taken when the node is first asked."""
        return await self._retried(question, self._hold, question, values)

    async def _hold(self, question: Question, values: bool) -> HeldSnapshot | NodeSnapshots:
        pool = await self.pool_for(question)
        if self.citus:
            snapshots = NodeSnapshots(self.nodes, self._several, self._noting, self.explained)
            await snapshots.begin(question, values)
            return snapshots
        connection = await pool.take()
        try:
            # The first statement after BEGIN takes the snapshot.
            await connection.execute(pool.begin(SNAPSHOT))
            await self.ask_on(pool, connection, question, values)
            return HeldSnapshot(self, pool, connection)
        except BaseException as error:
            await pool.take_back(connection, error)
            raise

    def concerns_several_nodes(self, question: Question) -> bool:
        if not self.citus:
            return False
        slots = question.single_slots()
        return slots is None or len({self.nodes.of(slot) for slot in slots}) > 1

    async def ask(self, question: Question, values: bool = True) -> None:
        """Answer a question, with one statement if it concerns one node. If the connection is lost,
        try again on another connection.

        Without `values`, only the keys and versions of rows are read.
        """
        await self._retried(question, self._ask, question, values)

    async def _ask(self, question: Question, values: bool) -> None:
        pool = await self.pool_for(question)
        if not self.concerns_several_nodes(question):
            async with pool.connection() as connection:
                await self.ask_on(pool, connection, question, values)
        elif question.names or question.ranges:
            await (await self._hold(question, values)).close()
        else:
            await self._noting(direct.ask_several(question, values, self.nodes))

    async def _retried(
        self, question: Question, step: Callable[..., Awaitable[T]], *arguments: Any
    ) -> T:
        """Repeat a step if its connection was lost, if fences made its reads fail, or if a shard
        has moved."""
        lost, deadline = 0, time.monotonic() + FENCED_SECONDS_MAX
        while True:
            try:
                return await step(*arguments)
            except ERRORS as error:
                lost += 1
                # A node may still hold connections to a node that has been restarted since.
                tries = 1 if is_of_another_node(error) else self._size * is_lost(error)
                if lost > tries:
                    raise self.explained(error) from None
            except routed.Fenced:
                if question.compared or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(FENCED_PAUSE_SECONDS)
            except direct.Moved:
                if time.monotonic() > deadline:
                    raise
                await self.nodes.refresh()

    async def ask_on(
        self, pool: Pool, connection: Any, question: Question, values: bool = True
    ) -> None:
        """Like `ask`, on a connection from `pool`."""
        if not self.citus:
            await ask(connection, question, values)
            return
        slots = question.single_slots()
        node = None if slots is None else self.nodes.one_for(slots, pool)
        if slots is None or node is None:
            async with pool.within(connection):
                await self._noting(routed.ask(connection, question, values))
        else:
            asking = direct.ask(connection, question, values, self.nodes, node, slots)
            await self._noting(asking)

    async def _noting(self, asking: Awaitable[set[int]]) -> None:
        """Await an answer, and note the fences that would block the commit of a transaction."""
        try:
            met = await asking
        except routed.Fenced as error:
            self.fences.met(error.met)
            raise
        if met:
            self.fences.met(met)

    async def read_bounded(self, question: Question) -> None:
        """Read under locks the rows that must be as of one moment. Only Citus needs this, because
        its nodes share no snapshot."""
        if not (self.citus and question.bounds):
            return
        pool = self.nodes.of(min(slot_of(key) for _, key in question.bounds)).locking
        try:
            await routed.read_under_locks(pool, self.nodes, question)
        except ERRORS as error:
            raise self.explained(error) from None

    def committed(self) -> None:
        """Count a commit. From time to time, delete the ids of old commits."""
        self.commits += 1
        if time.monotonic() - self._tidied_at > TIDY_SECONDS:
            self._tidied_at = time.monotonic()
            self._tidying = asyncio.create_task(self._tidy())

    async def _tidy(self) -> None:
        if not self.citus:
            with suppress(*ERRORS, StoreError):
                await settle.forget_old(self.pool, self.milliseconds())
        for node in self.nodes.all:
            with suppress(*ERRORS, StoreError):
                await settle.forget_old_at(node, self.milliseconds())

    def explained(self, error: BaseException) -> BaseException:
        if isinstance(error, asyncpg.FeatureNotSupportedError) and not self.citus:
            self._opened = False  # the tables may have just been distributed
        return explain(error, self.name) if isinstance(error, ERRORS) else error

    async def _fetch(self, statement: str, *arguments: Any) -> Any:
        await self.open()
        return await self._fetch_from(self.pool, statement, *arguments)

    async def _fetch_at(self, slot: int, statement: str, *arguments: Any) -> Any:
        return await self._fetch_from(await self.pool_of({slot}), statement, *arguments)

    async def _fetch_from(self, pool: Pool, statement: str, *arguments: Any) -> Any:
        try:
            async with pool.transaction() as connection:
                return await connection.fetch(statement, *arguments)
        except ERRORS as error:
            raise self.explained(error) from None
