"""A store that any number of servers can share: one database of PostgreSQL 14 or later.

The rows of all spaces are in one set of tables: see `schema`. The process keeps nothing that
another server could change, so servers can be started and stopped at any time.
"""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from hashrange.kv import Answer, Read, StoreError
from hashrange.storage.postgres import check, schema
from hashrange.storage.postgres.database import PostgresDatabase
from hashrange.storage.postgres.reads import Question
from hashrange.storage.postgres.transaction import PostgresSnapshot, PostgresTransaction


class PostgresStore(PostgresDatabase):
    """The database at `dsn`, such as `postgresql://user@host:port/name?sslmode=verify-full`.

    The tables are created in the first schema of the search path, which must be empty or have
    hashrange's tables. The password is taken from the DSN, `PGPASSWORD` or `PGPASSFILE`; no message
    contains it. Behind pgbouncer in transaction mode, add `pgbouncer=1` to the DSN.

    `durability` says what an acknowledged commit survives: a power cut ("full"), or only the end of
    this process ("relaxed" and "memory"). In the latter case, the database server may lose the last
    commits. `pool` is the number of connections, unless the DSN sets it, as in `pool=8`; four to
    eight are best.

    The store connects when it is first used, or by `open`. It belongs to the event loop that is
    running at that time. Raises the errors of `hashrange.kv`.
    """

    async def read(self, reads: Sequence[Read], /) -> list[Answer]:
        question = self.question(reads)
        await self.ask(question)
        await self.read_bounded(question)
        return question.answers(reads, self.not_before)

    async def snapshot(self) -> PostgresSnapshot:
        await self.open()
        if self.citus:  # its first read decides at which node it begins
            return PostgresSnapshot(self)
        return PostgresSnapshot(self, await self.hold_snapshot(Question(())))

    async def begin(self, locking: bool = False, /) -> PostgresTransaction:
        return PostgresTransaction(self, locking)

    async def place(self) -> str:
        [[place]] = await self._fetch(schema.PLACE)
        return str(place)

    async def backup(self, path: str, /, compact: bool = False) -> None:
        raise StoreError(f"{self.name}: back up a PostgreSQL database with pg_dump")

    async def verify(self) -> AsyncIterator[str]:
        """See `kv.AsyncStore`. Each page of rows is checked as of its own moment."""
        await self.open()
        if not self.citus:
            async for problem in check.verify(self._fetch):
                yield problem
        for node in self.nodes.all:
            for shard in list(node.shards):
                slots = list(shard.slots)
                async for problem in check.verify(partial(self._fetch_at, slots[0]), slots):
                    yield problem

    def figures(self) -> dict[str, int]:
        """See `kv.AsyncStore`."""
        pools = {self.pool}.union(*(node.pools for node in self.nodes.all))
        return {
            "commits": self.commits,
            "conflicts": self.conflicts,
            "database_connections_max": sum(pool.size for pool in pools),
            "database_connections": sum(pool.in_use for pool in pools),
            "database_connections_opened": sum(pool.opened for pool in pools),
            "database_connections_waiting": sum(pool.waiting for pool in pools),
            **self.nodes.figures(),
        }

    async def close(self) -> None:
        if self._tidying is not None:
            await self._tidying
        await self.fences.end()
        await self.nodes.close()
        await self.pool.close()
