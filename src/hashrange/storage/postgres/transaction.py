"""Snapshots, and transactions, which find out at the commit whether what they read has changed.

A transaction that is read from once needs no connection until it commits: its reads are one
statement. When it is read from again, a snapshot of PostgreSQL is taken, and the earlier answers
are compared with it: if nothing has changed, all reads come from its moment.

A locking transaction is for items that several servers keep changing. Before it reads, it locks the
rows that it is about to read. PostgreSQL grants such locks in the order in which they were asked
for, so each server gets its turn. Rows that are not there cannot be locked.

A commit is one round trip: see `script`. It takes a few more if ranges that were read must still
hold, or if spaces are created, dropped or purged.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import asyncpg

from hashrange.kv import (
    Answer,
    Conflict,
    CreateSpace,
    DropSpace,
    Purge,
    Read,
    StoreError,
    Write,
)
from hashrange.storage.postgres import routed, settle
from hashrange.storage.postgres.guards import Guards, locks_ahead
from hashrange.storage.postgres.problems import ERRORS, is_lost
from hashrange.storage.postgres.reads import Question
from hashrange.storage.postgres.script import ADVISORY, CHANGED, HOLDS, NO_SPACE, Script
from hashrange.storage.postgres.writes import Folded, Plan

if TYPE_CHECKING:
    from hashrange.storage.postgres.store import PostgresStore


WRITE_SECONDS_MAX = 60
"""How long all statements of a write to Citus may take together: see COMMIT_SECONDS_MAX."""


class HeldSnapshot:
    """A connection with a snapshot of PostgreSQL."""

    def __init__(self, store: "PostgresStore", connection: Any) -> None:
        self._store = store
        self._connection: Any = connection

    async def ask(self, question: Question, values: bool = True) -> None:
        if self._connection is None:
            raise StoreError("the snapshot is closed")
        try:
            await self._store.ask_on(self._connection, question, values)
        except BaseException as error:
            self._drop()
            raise self._store.explained(error) from None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.execute("COMMIT")
        except ERRORS:
            self._store.let_go(connection, sound=False)
        except BaseException:
            self._store.let_go(connection, sound=False)
            raise
        else:
            self._store.let_go(connection)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._store.let_go(connection, sound=False)


class PostgresSnapshot:
    def __init__(self, store: "PostgresStore", held: HeldSnapshot) -> None:
        self._store = store
        self._held = held

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        question = Question(reads)
        await self._held.ask(question)
        await self._store.read_bounded(question)
        return question.answers(reads, self._store.not_before)

    async def close(self) -> None:
        await self._held.close()


class PostgresTransaction:
    """Holds a snapshot from its second read on; if it is `locking`, locks from its first read on.

    A locking one compares its earlier answers after each later read: if they have not changed by
    then, they are of the same moment as the read.
    """

    def __init__(self, store: "PostgresStore", locking: bool) -> None:
        self._store = store
        self._locking = locking
        self._snapshot: HeldSnapshot | None = None
        self._connection: Any = None
        """The connection that holds the locks."""
        self._guards = Guards()
        self._was_read = False

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        if self._locking:
            question = await self._read_locked(reads)
        else:
            question = Question(reads, compared=True)
            if self._was_read and self._snapshot is None:
                self._snapshot = await self._store.hold_snapshot()
                await self._compare(self._snapshot)
            await (self._snapshot or self._store).ask(question)
        self._was_read = True
        answers = question.answers(reads, self._store.not_before)
        self._guards.add(reads[: len(answers)], question)
        return answers

    async def _read_locked(self, reads: Sequence[Read]) -> Question:
        store = self._store
        question = Question(reads, compared=True)
        try:
            if self._connection is None:
                self._connection = await store.take()
                await self._lock(self._connection, reads)
            await store.ask_on(self._connection, question)
            if self._was_read:
                again = self._guards.question(rows=True)
                await store.ask_on(self._connection, again, values=False)
                self._guards.compare(again, rows=True)
        except BaseException as error:
            raise _problem(error, store) from None
        return question

    async def _lock(self, connection: Any, reads: Sequence[Read]) -> None:
        await connection.execute(self._store.pool.begin("READ COMMITTED"))
        locks, rows = locks_ahead(reads)
        script = Script(begun=True)
        script.add(ADVISORY, [(self._store.namespace, *lock) for lock in locks.items()])
        if self._store.citus:
            await script.run(connection)
            await routed.lock(connection, rows)
        else:
            script.add(HOLDS, [row[:3] for row in rows])
            await script.run(connection)

    async def confirm(self) -> None:
        """Reads of a single node come from one moment anyway."""
        await (self.commit([]) if self._store.citus else self.rollback())

    async def rollback(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            await snapshot.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            sound = False
            try:
                sound = await _rolled_back(connection)
            finally:
                self._store.pool.give(connection, sound)

    async def commit(self, writes: Sequence[Write], /) -> None:
        store = self._store
        try:
            folded = Folded(writes)
        except LookupError:
            await self.rollback()
            raise
        connection, self._connection = self._connection, None
        await self.rollback()
        begun = connection is not None
        if folded.is_empty and not begun and not store.citus:
            await self._compare(store)
            return
        if not begun:
            connection = await store.take()
        sound = False
        try:
            sound = await self._land(connection, folded, begun)
        except BaseException as error:
            if isinstance(error, (StoreError, LookupError, asyncpg.PostgresError)):
                sound = await _rolled_back(connection)
            problem: BaseException
            if isinstance(error, NO_SPACE) and sound:
                problem = await self._missing_space(connection, folded)
            else:
                problem = _problem(error, store)
            if isinstance(problem, Conflict):
                store.conflicts += 1
            raise problem from None
        finally:
            store.pool.give(connection, sound)
        if not folded.is_empty:
            store.committed()

    async def _compare(self, source: "HeldSnapshot | PostgresStore") -> None:
        """Raises Conflict unless all that was read is still the same there."""
        question = self._guards.question(rows=True)
        await source.ask(question, values=False)
        self._guards.compare(question, rows=True)

    async def _land(self, connection: Any, folded: Folded, begun: bool) -> bool:
        """Returns whether the connection is still sound after the commit."""
        guards, store = self._guards, self._store
        looks_again = bool(guards.ranges) or guards.dropped is not None
        several = looks_again or bool(folded.on_spaces) or store.citus
        script = Script(begun or several or store.pool.pgbouncer)
        if script.begun and not begun:
            await connection.execute(store.pool.begin("READ COMMITTED"))
        locks = guards.locks(folded.shared, folded.alone, folded.changes_catalog)
        script.add(ADVISORY, [(store.namespace, *lock) for lock in locks.items()])
        if looks_again:
            await script.run(connection)
            question = guards.question(rows=False)
            await store.ask_on(connection, question, values=False)
            guards.compare(question, rows=False)
        id_ = settle.new_id(store.milliseconds())
        version = int.from_bytes(os.urandom(8), "big") >> 1 or 1
        slot = settle.PLAIN_SLOT
        if store.citus:
            await script.run(connection)
            await self._write_routed(connection, folded, version)
            if folded.is_empty:
                await connection.execute("ROLLBACK")
                return True
            slot = routed.slot_of_commit(folded)
            await connection.execute(settle.MARK, slot, id_)
        else:
            Plan(folded, guards, version).add_to(script, id_)
        if folded.on_spaces:
            await script.run(connection)
            await self._change_spaces(connection, folded)
        return await settle.commit(connection, script, slot, id_, store.pool, store.name)

    async def _write_routed(self, connection: Any, folded: Folded, version: int) -> None:
        await self._check_spaces(connection, folded)
        async with asyncio.timeout(WRITE_SECONDS_MAX):
            await routed.write(connection, folded, self._guards, version)

    async def _change_spaces(self, connection: Any, folded: Folded) -> None:
        for write in folded.on_spaces:
            if self._store.citus and isinstance(write, Purge):
                await routed.purge(connection, write.space, write.rows_max)
            else:
                await _ON_SPACES[type(write)](connection, write)

    async def _check_spaces(self, connection: Any, folded: Folded) -> None:
        spaces = folded.shared | self._guards.spaces()
        there = await connection.fetchval(
            "SELECT count(*) FROM spaces WHERE space = ANY ($1)", sorted(spaces)
        )
        if there != len(spaces):
            raise await self._missing_space(connection, folded)

    async def _missing_space(self, connection: Any, folded: Folded) -> BaseException:
        """The error for a space that was just dropped, or that has never existed."""
        found = await connection.fetch(
            "SELECT space FROM spaces UNION ALL SELECT space FROM dropped"
        )
        missing = folded.shared - {row["space"] for row in found} - self._guards.spaces()
        return LookupError(min(missing)) if missing else Conflict("a space has been dropped")


def _problem(error: BaseException, store: "PostgresStore") -> BaseException:
    """The error of a commit that failed before COMMIT. Nothing was written."""
    if isinstance(error, CHANGED):
        return Conflict("something that was read has changed")
    if isinstance(error, ERRORS) and is_lost(error):
        return Conflict("the connection was lost before the commit")
    return store.explained(error)


async def _rolled_back(connection: Any) -> bool:
    with suppress(*ERRORS):
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
            return True
    return False


async def _create(connection: Any, write: Any) -> None:
    try:
        await connection.execute("INSERT INTO spaces VALUES ($1)", write.space)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"space {write.space} has just been created") from None


async def _drop(connection: Any, write: Any) -> None:
    await connection.execute("DELETE FROM spaces WHERE space = $1", write.space)
    await connection.execute("INSERT INTO dropped VALUES ($1)", write.space)


async def _purge(connection: Any, write: Any) -> None:
    """Rows of a space that is not dropped are left alone."""
    await connection.execute(
        "DELETE FROM rows r USING (SELECT rows.space, slot, key FROM rows JOIN dropped "
        "ON dropped.space = rows.space WHERE rows.space = $1 LIMIT $2) q "
        "WHERE r.space = q.space AND r.slot = q.slot AND r.key = q.key",
        write.space,
        write.rows_max,
    )
    gone = await connection.execute(
        "DELETE FROM dropped WHERE space = $1 "
        "AND NOT EXISTS (SELECT 1 FROM rows WHERE rows.space = $1)",
        write.space,
    )
    if gone == "DELETE 1":
        await connection.execute("DELETE FROM log_heads WHERE space = $1", write.space)


_ON_SPACES: dict[type, Callable[[Any, Any], Awaitable[None]]] = {
    CreateSpace: _create,
    DropSpace: _drop,
    Purge: _purge,
}
