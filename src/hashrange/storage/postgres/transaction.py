"""Snapshots and transactions. At its commit, a transaction checks that its reads are still valid.

A transaction that reads once needs no connection until it commits: its reads are one statement.
When it reads again, it takes a snapshot of PostgreSQL and compares the earlier answers with the
snapshot: if nothing has changed, all reads are as of the snapshot.

A locking transaction is for items that several servers keep changing. It locks the rows that it is
about to read. PostgreSQL grants such locks in the order of the requests, so each server gets its
turn. Absent rows cannot be locked.

A commit takes one round trip: see `script`. It takes a few more if the transaction has read ranges,
or if it creates, drops or purges spaces.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from hashrange.kv import (
    CATALOG,
    CLOCK,
    Answer,
    Conflict,
    Head,
    Range,
    Read,
    StoreError,
    Write,
)
from hashrange.storage.postgres.cluster import routed_writes
from hashrange.storage.postgres.cluster.fences import new_version
from hashrange.storage.postgres.cluster.snapshots import NodeSnapshots
from hashrange.storage.postgres.database import HeldSnapshot, PostgresDatabase
from hashrange.storage.postgres.guards import DROPPED_LIST, Guards, locks_ahead
from hashrange.storage.postgres.landing import Landing
from hashrange.storage.postgres.pool import rolled_back
from hashrange.storage.postgres.problems import ERRORS, is_lost
from hashrange.storage.postgres.reads import Question
from hashrange.storage.postgres.script import ADVISORY, CHANGED, HOLDS, NO_SPACE, Script
from hashrange.storage.postgres.writes import Folded

DOUBT_SECONDS = 0.2
"""After a conflict, the map of shards is read again if it is older than this, because the conflict
may have been caused by a shard that has moved."""


class PostgresSnapshot:
    """A snapshot of the database. Without `held`, PostgreSQL takes the snapshot at the first read,
    at each node of a cluster separately."""

    def __init__(
        self, store: PostgresDatabase, held: HeldSnapshot | NodeSnapshots | None = None
    ) -> None:
        self._store = store
        self._held = held
        self._closed = False

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        if self._closed:
            raise StoreError("the snapshot is closed")
        question = self._store.question(reads)
        await self._ask(question)
        await self._store.read_bounded(question)
        return question.answers(reads, self._store.not_before)

    async def _ask(self, question: Question) -> None:
        if self._held is None:
            self._held = await self._store.hold_snapshot(question)
        else:
            await self._held.ask(question)

    async def close(self) -> None:
        self._closed = True
        if self._held is not None:
            await self._held.close()


class PostgresTransaction:
    """A transaction. It holds a snapshot from its second read on. With `locking`, it holds locks
    from its first read on instead.

    After each later read, a locking transaction compares its earlier answers with the database. If
    nothing has changed, all answers are as of the moment of the latest read.
    """

    def __init__(self, store: PostgresDatabase, locking: bool) -> None:
        self._store = store
        self._locking = locking
        self._snapshot: HeldSnapshot | NodeSnapshots | None = None
        self._pool = store.pool
        self._connection: Any = None
        """The connection that holds the locks; it was taken from `_pool`."""
        self._guards = Guards()
        self._was_read = False
        self._of_one_moment = True
        """Whether all reads are as of one moment even on a cluster, because they were sent together
        to one slot."""

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        if self._locking:
            question = await self._read_locked(reads)
        else:
            question = Question(reads, compared=True)
            if self._was_read and self._snapshot is None:
                again = self._guards.question(rows=True)
                self._snapshot = await self._store.hold_snapshot(again, values=False)
                self._guards.compare(again, rows=True)
            await (self._snapshot or self._store).ask(question)
        one_slot = len(question.slots) == 1 and not question.ranges
        self._of_one_moment = one_slot and not self._was_read
        self._was_read = True
        answers = question.answers(reads, self._store.not_before)
        self._guards.add(reads[: len(answers)], question)
        return answers

    async def _read_locked(self, reads: Sequence[Read]) -> Question:
        store = self._store
        question = Question(reads, compared=True)
        try:
            if self._connection is None:
                self._pool = await store.pool_for(question)
                self._connection = await self._pool.take()
                await self._lock(self._connection, reads)
            await store.ask_on(self._pool, self._connection, question)
            if self._was_read:
                again = self._guards.question(rows=True)
                await store.ask_on(self._pool, self._connection, again, values=False)
                self._guards.compare(again, rows=True)
        except BaseException as error:
            raise _problem(error, store) from None
        return question

    async def _lock(self, connection: Any, reads: Sequence[Read]) -> None:
        await connection.execute(self._store.pool.begin("READ COMMITTED"))
        locks, rows = locks_ahead(reads)
        script = Script(begun=True)
        if self._store.citus:
            store, ranges = self._store, [read for read in reads if isinstance(read, Range)]
            await routed_writes.lock_alone(
                connection, store.nodes, store.namespace, ranges, DROPPED_LIST in locks
            )
            await routed_writes.lock(connection, store.nodes, rows)
        else:
            script.add(ADVISORY, [(self._store.namespace, *lock) for lock in locks.items()])
            script.add(HOLDS, [row[:3] for row in rows])
            await script.run(connection)

    async def confirm(self) -> None:
        """See `kv.AsyncTransaction`. On plain PostgreSQL nothing is checked: all reads are as of
        one moment already."""
        if self._store.citus and not self._of_one_moment:
            await self.commit([])
        else:
            await self.rollback()

    async def rollback(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            await snapshot.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            sound = False
            try:
                sound = await rolled_back(connection)
            finally:
                self._pool.give(connection, sound)

    async def commit(self, writes: Sequence[Write], /) -> None:
        store = self._store
        try:
            folded = Folded(writes)
        except LookupError:
            await self.rollback()
            raise
        if store.citus and folded.redefines:
            await self.rollback()
            await self._redefine(folded)
        else:
            await self._commit(folded)

    async def _redefine(self, folded: Folded) -> None:
        """Commit a change of definitions while all fences are closed: see `fences`."""
        store = self._store
        if CATALOG not in self._guards.versions:
            await self.read([Head(CATALOG, CLOCK)])
        try:
            async with store.fences.changing(self._guards.versions[CATALOG]):
                await self._change(folded)
        except BaseException as error:
            raise _problem(error, store) from None

    async def _change(self, folded: Folded) -> None:
        fences = self._store.fences
        try:
            closed = await fences.close()
            version, value = await self._commit(folded, closed)
        except BaseException:
            with suppress(*ERRORS, StoreError):
                await fences.rescue()
            raise
        with suppress(*ERRORS, StoreError):  # fences that stay closed are opened when they are met
            await fences.open(closed, version, value)

    async def _commit(self, folded: Folded, closed: int | None = None) -> tuple[int, bytes]:
        """Write and commit. If definitions change, `closed` is the number in the closed fences.

        Returns the version and the value of the catalog's row if the row was changed.
        """
        store = self._store
        connection, self._connection = self._connection, None
        await self.rollback()
        begun = connection is not None
        if folded.is_empty and not begun and not store.citus:
            await self._compare(store)
            return 0, b""
        if not begun:
            self._pool = await store.pool_of(routed_writes.slots_of(folded, self._guards))
            connection = await self._pool.take()
        sound = False
        version = new_version()
        try:
            landing = Landing(store, folded, self._guards, version, closed)
            sound = await landing.run(self._pool, connection, begun)
        except BaseException as error:
            if isinstance(error, (StoreError, LookupError, asyncpg.PostgresError)):
                sound = await rolled_back(connection)
            problem: BaseException
            if isinstance(error, NO_SPACE) and sound:
                problem = await landing.missing_space(connection)
            else:
                problem = _problem(error, store)
            if isinstance(problem, Conflict):
                store.conflicts += 1
                store.nodes.keep_current(DOUBT_SECONDS)
            raise problem from None
        finally:
            self._pool.give(connection, sound)
        if not folded.is_empty:
            store.committed()
        return landing.catalog

    async def _compare(self, source: HeldSnapshot | NodeSnapshots | PostgresDatabase) -> None:
        """Raises Conflict if anything that was read is different in `source`."""
        question = self._guards.question(rows=True)
        await source.ask(question, values=False)
        self._guards.compare(question, rows=True)


def _problem(error: BaseException, store: PostgresDatabase) -> BaseException:
    """The error to raise for a commit that failed before COMMIT. Nothing was written."""
    if isinstance(error, (CHANGED, asyncpg.UndefinedTableError)):  # or a shard has moved
        return Conflict("something that was read has changed")
    if isinstance(error, ERRORS) and is_lost(error):
        return Conflict("the connection was lost before the commit")
    return store.explained(error)
