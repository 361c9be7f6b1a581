"""A store that any number of servers share: one PostgreSQL database, 14 or later.

The rows of all spaces are in one set of tables: see `schema`. Nothing is kept in the process that
another server could change, so servers come and go at will.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from hashrange.kv import Answer, Durability, Read, StoreError, check_durability
from hashrange.storage.postgres import check, routed, schema, settle
from hashrange.storage.postgres.address import (
    check_tls,
    is_citus,
    is_set,
    pool_size,
    without_option,
)
from hashrange.storage.postgres.pool import (
    COMMIT_SECONDS_MAX,
    LOCK_SECONDS_MAX,
    PLANS,
    Pool,
    limits,
)
from hashrange.storage.postgres.problems import ERRORS, explain, is_lost, name_of
from hashrange.storage.postgres.reads import Question, ask
from hashrange.storage.postgres.schema import check_nodes, is_distributed, prepare
from hashrange.storage.postgres.transaction import (
    HeldSnapshot,
    PostgresSnapshot,
    PostgresTransaction,
)

SNAPSHOT = "REPEATABLE READ READ ONLY"

TIDY_SECONDS = 60.0


class PostgresStore:
    """The database at `dsn`, such as `postgresql://user@host:port/name?sslmode=verify-full`.

    The tables are made in the first schema of the search path, which must be empty or ours. The
    password is taken from the DSN, `PGPASSWORD` or `PGPASSFILE`; it is in no message. Behind
    pgbouncer in transaction mode, add `pgbouncer=1` to the DSN.

    `durability` says what an acknowledged commit survives: a power cut ("full"), or only the end of
    this process ("relaxed" and "memory"; the database server may lose the last commits). `pool` is
    the number of connections, unless the DSN gives another, as in `pool=8`: four to eight serve
    best.

    It connects when it is first used, or by `open`, and belongs to the event loop that runs then.
    Raises the errors of `hashrange.kv`.
    """

    def __init__(self, dsn: str, *, durability: Durability = "full", pool: int = 4) -> None:
        check_durability(durability)
        dsn, pgbouncer = without_option(dsn, "pgbouncer")
        dsn, given = without_option(dsn, "pool")
        dsn, dialect = without_option(dsn, "dialect")
        # For tests: admit a server with `fsync` off.
        dsn, unsynced = without_option(dsn, "unsynced")
        self._unsynced = unsynced == "1"
        self.name = name_of(dsn)
        self._limits = limits("on" if durability == "full" else "off")
        check_tls(dsn, self.name)
        is_pooled = is_set(pgbouncer, "pgbouncer", self.name)
        size = pool_size(given, self.name) if given else pool
        self.citus = is_citus(dialect, self.name)
        """Whether statements are those of the `citus` dialect: see `routed`."""
        self.pool = Pool(dsn, self.name, size, self._limits | PLANS, is_pooled)
        self.namespace = 0
        """Sets the advisory locks of this schema apart from those of others in the database."""
        self.commits = self.conflicts = 0
        self._opening: asyncio.Lock | None = None
        self._opened = False
        self._latest = 0
        self._sampled_at = 0.0
        self._tidied_at = time.monotonic()
        self._tidying: asyncio.Task[None] | None = None

    commit_seconds_max = COMMIT_SECONDS_MAX

    @property
    def connections_max(self) -> int:
        return self.pool.size

    @property
    def indexes_follow(self) -> bool:
        return self.citus

    async def open(self) -> None:
        """Connect, check the database, and make or upgrade its tables."""
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
                    if await is_distributed(connection):
                        await check_nodes(connection, self.name, LOCK_SECONDS_MAX)
                        self.citus = True
            except ERRORS as error:
                raise self.explained(error) from None
            if self.citus:  # a generic plan does not know the shard
                self.pool.configure(self._limits)
                if self.pool.size == 1:
                    raise StoreError(f"{self.name}: pool must be 2 or more on Citus")
            self._opened = True

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        question = Question(reads)
        await self.ask(question)
        await self.read_bounded(question)
        return question.answers(reads, self.not_before)

    async def snapshot(self) -> PostgresSnapshot:
        return PostgresSnapshot(self, await self.hold_snapshot())

    async def begin(self, locking: bool = False, /) -> PostgresTransaction:
        return PostgresTransaction(self, locking)

    async def place(self) -> str:
        [[place]] = await self._fetch(schema.PLACE)
        return str(place)

    async def backup(self, path: str, /, compact: bool = False) -> None:
        raise StoreError(f"{self.name}: back up a PostgreSQL database with pg_dump")

    async def verify(self) -> AsyncIterator[str]:
        """See `kv.Store`. Each page is checked as of its own moment."""
        await self.open()
        async for problem in check.verify(self._fetch, self.citus):
            yield problem

    def figures(self) -> dict[str, int]:
        """See `kv.AsyncStore`."""
        return {
            "commits": self.commits,
            "conflicts": self.conflicts,
            "database_connections_max": self.pool.size,
            "database_connections": self.pool.in_use,
            "database_connections_opened": self.pool.opened,
            "database_connections_waiting": self.pool.waiting,
        }

    async def close(self) -> None:
        if self._tidying is not None:
            await self._tidying
        await self.pool.close()

    # ---- the clock ----

    def now(self) -> float:
        """See `kv.AsyncStore`."""
        return self.milliseconds() / 1000

    def milliseconds(self) -> int:
        """The database's time as far as it is known here: as last read, plus the time since."""
        if not self._latest:
            return time.time_ns() // 1_000_000
        return self._latest + int((time.monotonic() - self._sampled_at) * 1000)

    def not_before(self, now: int) -> int:
        """The time of an answer, in milliseconds. It never falls within a process."""
        self._latest = max(now, self.milliseconds() if self._latest else 0)
        self._sampled_at = time.monotonic()
        return self._latest

    # ---- for snapshots and transactions ----

    async def take(self) -> Any:
        await self.open()
        return await self.pool.take()

    async def hold_snapshot(self) -> HeldSnapshot:
        """A snapshot of PostgreSQL, on a connection of its own."""
        await self.open()
        while True:
            # A snapshot that is held on Citus may need a second connection: see `read_bounded`.
            connection = await self.pool.take(wants_two=self.citus)
            try:
                # The first statement after BEGIN takes the snapshot.
                await connection.execute(f"{self.pool.begin(SNAPSHOT)}; SELECT 1")
                return HeldSnapshot(self, connection)
            except BaseException as error:
                self.let_go(connection, sound=False)
                if not (isinstance(error, ERRORS) and is_lost(error)):
                    raise self.explained(error) from None

    def let_go(self, connection: Any, sound: bool = True) -> None:
        """Give back the connection of a snapshot."""
        self.pool.give(connection, sound, wants_two=self.citus)

    async def ask(self, question: Question, values: bool = True) -> None:
        """Answer in one statement. A connection that was lost meanwhile is replaced."""
        await self.open()
        for attempt in range(self.pool.size + 1):
            try:
                async with self.pool.connection() as connection:
                    await self.ask_on(connection, question, values)
                    return
            except ERRORS as error:
                if not is_lost(error) or attempt == self.pool.size:
                    raise self.explained(error) from None

    async def ask_on(self, connection: Any, question: Question, values: bool = True) -> None:
        await (routed.ask if self.citus else ask)(connection, question, values)

    async def read_bounded(self, question: Question) -> None:
        """On Citus, read under locks what must be of one moment: nodes share no snapshot."""
        if not (self.citus and question.bounds):
            return
        connection = await self.take()
        sound = False
        try:
            await connection.execute(self.pool.begin("READ COMMITTED"))
            await routed.read_locked(connection, question)
            await connection.execute("ROLLBACK")
            sound = True
        except ERRORS as error:
            raise self.explained(error) from None
        finally:
            self.pool.give(connection, sound)

    def committed(self) -> None:
        """Count a commit. Now and then, forget the ids of old commits."""
        self.commits += 1
        if time.monotonic() - self._tidied_at > TIDY_SECONDS:
            self._tidied_at = time.monotonic()
            self._tidying = asyncio.create_task(self._tidy())

    async def _tidy(self) -> None:
        with suppress(*ERRORS, StoreError):
            await settle.forget_old(self.pool, self.milliseconds(), self.citus)

    def explained(self, error: BaseException) -> BaseException:
        if isinstance(error, asyncpg.FeatureNotSupportedError) and not self.citus:
            self._opened = False  # the tables may have just been distributed
        return explain(error, self.name) if isinstance(error, ERRORS) else error

    async def _fetch(self, statement: str, *arguments: Any) -> Any:
        await self.open()
        try:
            async with self.pool.connection() as connection:
                return await connection.fetch(statement, *arguments)
        except ERRORS as error:
            raise self.explained(error) from None
