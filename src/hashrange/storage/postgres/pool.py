"""A small pool of connections.

Connections need no reset between two uses, because every setting is made when the connection is
opened, or for one transaction. pgbouncer in transaction mode lends a server's connection only for a
transaction. So behind pgbouncer every use is a transaction that begins with the settings, and no
statements stay prepared.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from hashrange.kv import Busy, StoreError
from hashrange.storage.postgres.problems import ERRORS, explain, invalid_address, is_lost

CONNECT_SECONDS_MAX = 10.0
"""The time for which the database may be unreachable before callers are refused."""
NODE_SECONDS_MAX = 2.0
"""The time that a node of a cluster has to accept a connection."""
AWAY_SECONDS = 0.5
"""The pause before an unreachable node is tried again."""
ANSWER_SECONDS_MAX = 15.0
"""The time that a node has to answer a statement. A machine that has lost power closes no
connections, so without this limit a statement would wait for ever."""
WAIT_SECONDS_MAX = 30.0
"""The time for which a caller waits for a free connection."""
STATEMENT_SECONDS_MAX = 30
LOCK_SECONDS_MAX = 10
NEAR_LOCK_SECONDS_MAX = 2
"""How long a write at one node of a cluster waits for its locks. The limit is short, because a row
stays locked while the node that began the transaction cannot be reached, and a waiting request
delays others."""
LOCKING_SECONDS_MAX = 3
"""How long a locking read over several nodes waits for its locks. This is longer than Citus needs
to find a deadlock."""
IDLE_SECONDS_MAX = 10
"""How long the database server waits for the next statement of a transaction before it ends the
transaction. If the connection was lost, the outcome of its commit may be unknown for this time."""
COMMIT_SECONDS_MAX = 300.0
"""The longest time between the moment when a transaction reads the clock and its commit. It exceeds
the sum of all limits above."""

PLANS = {
    # Every access is by primary key. A plan made while a table was small must not scan it after it
    # has grown, and rows are locked in the order of the arguments.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
CITUS_PLANS = PLANS | {
    # By default, Citus examines each table in the query with which asyncpg looks up a type. That
    # takes two seconds.
    "citus.override_table_visibility": "off",
    # The tables of shards are used directly: see `direct`.
    "citus.enable_manual_changes_to_shards": "on",
    # PostgreSQL estimates the cost of planning as a multiple of this value, so a high value makes
    # it keep plans whenever it may choose.
    "cpu_operator_cost": "100",
}
CITUS_TRANSACTIONS = {
    # A generic plan does not know the shard.
    "plan_cache_mode": "auto",
    # Rows of several shards of a node are inserted on one connection.
    "citus.multi_shard_modify_mode": "sequential",
}
"""The settings that are made at the beginning of each transaction on Citus. All statements for
Citus are in transactions."""
LOCKING_TRANSACTIONS = CITUS_TRANSACTIONS | {
    # The settings that follow are sent to the other nodes too.
    "citus.propagate_set_commands": "local",
    "lock_timeout": f"{LOCKING_SECONDS_MAX}s",
}

PIN = """BEGIN; SET LOCAL citus.enable_ddl_propagation = off; SET LOCAL synchronous_commit = off;
CREATE FUNCTION pg_temp.pin(shards bigint[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE locked text;
BEGIN
    IF shards = '{}' THEN RETURN 0; END IF;
    locked := lock_shard_metadata(5, shards);
    RETURN (SELECT count(*) FROM pg_dist_placement WHERE shardid = ANY (shards)
        AND groupid = (SELECT groupid FROM pg_dist_local_group));
END $$;
COMMIT"""
"""Defines a function for one connection. The function locks shards in their places, with the lock
(ShareLock) that Citus's own writers take, and returns how many of the shards are at this node. Only
a function can do both in one statement: its query sees moves that ended while it waited for the
lock. The definition is committed without waiting for a standby. Otherwise, while no standby
answers, no connection could be opened even for reads."""

STATEMENTS_KEPT = 256
"""The number of prepared statements that each connection keeps, whatever their length."""


NOTHING: Mapping[str, str] = {}


def limits(synchronous_commit: str) -> dict[str, str]:
    return {
        "statement_timeout": f"{STATEMENT_SECONDS_MAX}s",
        "lock_timeout": f"{LOCK_SECONDS_MAX}s",
        "idle_in_transaction_session_timeout": f"{IDLE_SECONDS_MAX}s",
        "idle_session_timeout": "0",
        "synchronous_commit": synchronous_commit,
        "default_transaction_isolation": "read committed",
    }


async def rolled_back(connection: Any) -> bool:
    """Roll back the transaction after an error. Returns whether the connection is still usable."""
    with suppress(*ERRORS):
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
            return True
    return False


class Pool:
    """A pool of connections to a database, or to one node of a cluster.

    With `address`, which replaces the address in the DSN, the pool is for one node. While the node
    cannot be reached, callers are refused at once, and the pool tries to connect in the background.
    In a pool that is `near`, all statements concern this node alone. So if a statement is not
    answered, the node is considered unreachable.

    The `settings` are made for each connection, and those in `in_transactions` at the beginning of
    each transaction.
    """

    def __init__(
        self,
        dsn: str,
        name: str,
        size: int,
        settings: dict[str, str],
        pgbouncer: bool,
        address: tuple[str, int] | None = None,
        in_transactions: Mapping[str, str] = NOTHING,
        near: bool = False,
    ) -> None:
        self.near = near
        self.size = size
        self._address = {"host": address[0], "port": address[1]} if address else {}
        self._is_away = False
        self._try_at = 0.0
        """The time at which an unreachable node is tried again."""
        self._trying: asyncio.Task[None] | None = None
        self.pgbouncer = pgbouncer
        self.waiting = 0
        self.opened = 0
        """The number of connections opened so far."""
        self._dsn = dsn
        self.name = name
        self._idle: list[Any] = []
        self._taken: set[Any] = set()
        self._outdated: set[Any] = set()
        """The connections in use that were opened with earlier settings."""
        self.configure(settings, in_transactions)
        self._free = asyncio.Semaphore(size)
        self._random = random.Random()
        self._closed = False

    def configure(
        self, settings: Mapping[str, str], in_transactions: Mapping[str, str] = NOTHING
    ) -> None:
        """Use other settings for all connections. A connection in use is closed when it is
        returned."""
        self._outdated |= self._taken
        self._options: dict[str, Any] = {
            "server_settings": settings,
            "statement_cache_size": STATEMENTS_KEPT,
            "max_cacheable_statement_size": 0,
            "max_cached_statement_lifetime": 0,
            "command_timeout": ANSWER_SECONDS_MAX if self._address else None,
        }
        if self.pgbouncer:
            self._options = {"statement_cache_size": 0}
            in_transactions = {**settings, **in_transactions}
        self._settings = "".join(f"; SET LOCAL {k} = '{v}'" for k, v in in_transactions.items())
        while self._idle:
            self._idle.pop().terminate()

    @property
    def in_use(self) -> int:
        return self.size - self._free._value

    def begin(self, mode: str) -> str:
        """The SQL that begins a transaction of the isolation level `mode`."""
        return f"BEGIN ISOLATION LEVEL {mode}{self._settings}"

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection for statements that need no transaction. After an error that PostgreSQL has
        reported, the connection is kept: a new one costs more than a statement. Any other error
        closes it."""
        connection = await self.take()
        try:
            async with self._use(connection):
                yield connection
        except BaseException as error:
            await self.take_back(connection, error)
            raise
        self.give(connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A connection for the statements of one transaction, or for a statement that needs a
        transaction."""
        async with self.connection() as connection, self.within(connection):
            yield connection

    @asynccontextmanager
    async def within(self, connection: Any) -> AsyncIterator[None]:
        """Run the block in a transaction: the one that the connection is in, or a new one."""
        if connection.is_in_transaction():
            yield
            return
        await connection.execute(self.begin("READ COMMITTED"))
        yield
        await connection.execute("COMMIT")

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Any]:
        """A new connection for one use. It does not count towards the size of the pool."""
        connection = await self._connect()
        try:
            async with self._use(connection):
                yield connection
        finally:
            connection.terminate()

    @asynccontextmanager
    async def _use(self, connection: Any) -> AsyncIterator[None]:
        if not self.pgbouncer:
            yield
            return
        async with self.within(connection):
            yield

    async def take(self) -> Any:
        """Take a connection; return it with `give` or `take_back`. Raises StoreError if no
        connection is free in time, or the node cannot be reached."""
        if self._closed:
            raise StoreError(f"{self.name}: the store is closed; open it again")
        if not self._idle:
            self.refuse_if_away()
        await self.wait(self._free)
        try:
            if not self._idle:
                self.refuse_if_away()
            connection = await self._idle_or_new()
            self._taken.add(connection)
            return connection
        except BaseException:
            self._free.release()
            raise

    def refuse_if_away(self) -> None:
        """Raises StoreError while the node cannot be reached."""
        if self._is_away:
            if self._trying is None and time.monotonic() > self._try_at:
                self._trying = asyncio.create_task(self._try())
            raise StoreError(f"{self.name}: this node cannot be reached")

    async def _try(self) -> None:
        try:
            (await self._connect()).terminate()
        except (StoreError, *ERRORS):
            pass
        finally:
            self._trying = None

    def _note_away(self) -> None:
        """Note that the node cannot be reached, and close its idle connections, which would not
        answer."""
        self._is_away, self._try_at = True, time.monotonic() + AWAY_SECONDS
        while self._idle:
            self._idle.pop().terminate()

    async def _idle_or_new(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await self._connect()

    async def wait(self, places: asyncio.Semaphore) -> None:
        """Wait for one of the `places`. Raises Busy if none is free in time."""
        self.waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await places.acquire()
        except TimeoutError:
            raise Busy(f"{self.name}: all {self.size} connections are in use") from None
        finally:
            self.waiting -= 1

    def give(self, connection: Any, sound: bool = True) -> None:
        sound = sound and connection not in self._outdated
        self._taken.discard(connection)
        self._outdated.discard(connection)
        if sound and not self._closed and not connection.is_closed():
            self._idle.append(connection)
        else:
            connection.terminate()
        self._free.release()

    async def take_back(self, connection: Any, error: BaseException) -> None:
        """Like `give`, for a connection whose use ended with an error."""
        if self.near and isinstance(error, TimeoutError):
            self._note_away()
        sound = False
        try:
            sound = isinstance(error, asyncpg.PostgresError) and await rolled_back(connection)
        finally:
            self.give(connection, sound)

    async def close(self) -> None:
        self._closed = True
        if self._trying is not None:
            await self._trying
        idle, self._idle = self._idle, []
        for connection in idle:
            try:
                await connection.close(timeout=1)
            except ERRORS:
                connection.terminate()

    async def _connect(self) -> Any:
        """Connect. While the server cannot be reached, try again after random pauses, so that many
        clients do not try at the same time."""
        seconds = NODE_SECONDS_MAX if self._address else CONNECT_SECONDS_MAX
        deadline = time.monotonic() + seconds
        pause = 0.05
        while True:
            try:
                left = max(0.1, deadline - time.monotonic())
                connection = await self._connect_once(left)
                self.opened += 1
                self._is_away = False
                return connection
            except (ValueError, *ERRORS) as error:
                if isinstance(error, ValueError) and not isinstance(error, OSError):
                    raise invalid_address(self.name) from None
                if self._address and is_lost(error):
                    self._note_away()
                if not is_lost(error) or self._address or time.monotonic() + pause > deadline:
                    raise explain(error, self.name) from None
            await asyncio.sleep(pause * self._random.uniform(0.5, 1.5))
            pause = min(2 * pause, 1.0)

    async def _connect_once(self, seconds: float) -> Any:
        options = self._options | self._address
        connection = await asyncpg.connect(self._dsn, timeout=seconds, **options)
        if self.near:
            try:
                await connection.execute(PIN, timeout=seconds)
            except BaseException:
                connection.terminate()
                raise
        return connection
