"""Fences: they keep writers of a cluster from committing by old definitions of tables.

A writer decides by the definitions that it knows. These definitions must not change before the
writer has committed: otherwise the build of a new index could pass an item that the writer is about
to write. Each slot has a *fence*: a row with the version of the catalog that is valid in the slot.
Fences are distributed and moved like all other rows. After its writes, in the same transaction, a
writer reads one fence at each node: the fence of a slot to which it has written. The fence must
have the version of the definitions by which the writer has decided.

A change of definitions has three steps. No step holds locks at more than one node:

1. It closes every shard: in a transaction at one node, it waits for the writers of the shard,
   including prepared ones, and writes a random number into the shard's fences. Later writers see
   this number and do not commit. So when all shards are closed, no writer with the old definitions
   is left.
2. It commits, if the catalog's row still has the version by which the change was decided.
3. It opens every fence that still has the random number, by writing the new version into it.

If the server that makes the change, or a node, fails between these steps, fences stay closed. A
process that has met a closed fence for half a second opens all fences: this is a *rescue*. Before
that, it gives the catalog a new version. Then the change that closed the fences can no longer
commit, even if it is still under way.

A change commits only while all shards are closed. So every open fence stands for the present
definitions. If a rescue does not reach all nodes, open fences may have different versions of the
catalog, but these versions have the same definitions.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import asyncpg

from hashrange.kv import CATALOG, SLOTS, Conflict, StoreError
from hashrange.storage.postgres.cluster.nodes import Node, Nodes, Shard
from hashrange.storage.postgres.guards import ABSENT, FENCE
from hashrange.storage.postgres.keys import stored
from hashrange.storage.postgres.problems import ERRORS

SPACE = -1
"""The space of the fences. A fence is a row with an empty key and the weight OPEN or CLOSED. An
open fence has the version and the value of the catalog's row. A closed fence has a random version,
and the value from before the change."""
OPEN, CLOSED = 0, 1

RESCUE_SECONDS = 0.5
"""How long a closed fence blocks the requests of a process before the process begins a rescue."""
CHANGE_SECONDS_MAX = 60
"""The time after which a change of definitions is considered lost, and loses its lock."""
LOCK_SECONDS_AT_FIRST, LOCK_SECONDS_MAX = 0.1, 5.0
"""How long a change of definitions waits for a shard's writers: in its first attempt, and about how
long in its last one. Each attempt waits twice as long as the one before it. The first wait is
short, because later writers queue behind the change, and an earlier writer may be waiting for one
of them."""

_AT = stored(CATALOG)
CATALOG_PLACE = _AT.slot, _AT.space, _AT.key
CATALOG_ROW = "SELECT version, value FROM rows WHERE slot = $1 AND space = $2 AND key = $3"
_RAISE = "UPDATE rows SET version = $5 WHERE slot = $1 AND space = $2 AND key = $3 AND version = $4"
# A change of a shard waits for its writers, and for a move that is about to end.
_CLOSE = (
    "LOCK TABLE {rows} IN SHARE ROW EXCLUSIVE MODE; "
    f"UPDATE {{rows}} SET version = {{number}}, weight = {CLOSED} "
    f"WHERE space = {SPACE} AND slot = ANY ('{{slots}}')"
)
_KEEP = "SELECT lock_shard_metadata(5, ARRAY[{shard}])"
_IS_HERE = (
    "SELECT 1 / count(*) FROM pg_dist_placement WHERE shardid = {shard} "
    "AND groupid = (SELECT groupid FROM pg_dist_local_group)"
)
"""A statement that fails if the shard has moved to another node."""
_OPEN = (
    f"UPDATE {{rows}} SET version = {{version}}, value = '{{value}}', weight = {OPEN} "
    f"WHERE space = {SPACE} AND slot = ANY ('{{slots}}') "
    "AND version = ANY ('{numbers}')"
)
_FENCES = f"SELECT DISTINCT version, weight FROM rows WHERE space = {SPACE} AND slot = ANY ($1)"
MAKE = (
    "INSERT INTO rows (space, slot, key, version, weight, value) "
    f"SELECT {SPACE}, s, '', coalesce(c.version, 0), {OPEN}, coalesce(c.value, '') "
    f"FROM generate_series(0, {SLOTS - 1}) s LEFT JOIN rows c "
    f"ON c.space = {_AT.space} AND c.slot = {_AT.slot} AND c.key = 'catalog' "
    "ON CONFLICT DO NOTHING"
)
"""Creates the fences of a database that is not distributed yet; all are open."""
MAKE_ONE = (
    "INSERT INTO rows (space, slot, key, version, weight, value) VALUES ($1, $2, $3, $4, $5, $6)"
)


def new_version() -> int:
    """A random number, for a new version of a row or for the fences that a change closes."""
    return int.from_bytes(os.urandom(8), "big") >> 1 or 1


class Fences:
    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self.namespace = 0
        """The number that distinguishes the advisory locks of this schema from those of other
        schemas."""
        self._changing = asyncio.Lock()
        self._met: dict[int, float] = {}
        """For each version of a closed fence, the time when it first blocked a request."""
        self._rescue: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def changing(self, known: int | None) -> AsyncIterator[None]:
        """Hold the lock that allows only one change of definitions or rescue at a time.

        Without it, a change and a rescue could undo each other's work, but nothing else would go
        wrong. Raises Conflict if the catalog no longer has the version `known`.
        """
        pool = self._nodes.of(_AT.slot).wide
        async with self._changing, pool.connection() as connection:
            await connection.execute(
                f"{pool.begin('READ COMMITTED')}; "
                f"SET LOCAL idle_in_transaction_session_timeout = '{CHANGE_SECONDS_MAX}s'"
            )
            await connection.fetch("SELECT pg_advisory_xact_lock($1, $2)", self.namespace, FENCE)
            row = await connection.fetchrow(CATALOG_ROW, *CATALOG_PLACE)
            if known is not None and known != (row["version"] if row else ABSENT):
                raise Conflict("the definitions of tables have changed")
            yield
            with suppress(*ERRORS):
                await connection.execute("COMMIT")

    async def close(self) -> int:
        """Close all fences. Returns the number that is written into them.

        Raises the error of an unreachable node. Even then, fences of other nodes may have been
        closed.
        """
        number = new_version()
        nodes = [node for node in self._nodes.all if node.shards]
        async with AsyncExitStack() as stack:
            for node in nodes:
                await stack.enter_async_context(node.near.connection())
        await _together([self._close_node(node, number) for node in nodes])
        return number

    async def _close_node(self, node: Node, number: int) -> None:
        async with node.near.connection() as connection:
            for shard in list(node.shards):
                await _change_shard(connection, shard, _CLOSE, {"number": number})

    async def are_closed(self, number: int) -> bool:
        """Whether all fences are still closed with this number. Then no change of definitions and
        no write has been committed since they were closed, because a fence that was opened never
        has this number again."""
        return await self._states() == ({(number, CLOSED)}, [])

    async def open(self, number: int, version: int, value: bytes) -> None:
        """Open the fences that were closed with `number`. They get the `version` and the `value` of
        the catalog's row."""
        await self._open([number], version, value)

    async def _open(self, numbers: Sequence[int], version: int, value: bytes) -> None:
        """Open the fences whose version is one of `numbers`, at all reachable nodes. Afterwards,
        raises the error of an unreachable node."""

        values = {
            "version": version,
            "value": f"\\x{value.hex()}",
            "numbers": _array(numbers),
        }

        async def open_node(node: Node) -> None:
            async with node.near.connection() as connection:
                for shard in list(node.shards):
                    await _change_shard(connection, shard, _OPEN, values)

        async def open_all() -> None:
            await _together([open_node(node) for node in self._nodes.all if node.shards])

        try:
            await open_all()
        except Conflict:  # a shard has moved
            await self._nodes.refresh()
            await open_all()

    def met(self, versions: set[int]) -> None:
        """Note that fences with these versions have blocked a request. If fences of one version
        have blocked requests for longer than RESCUE_SECONDS, start a rescue."""
        now = time.monotonic()
        self._met = {v: since for v, since in self._met.items() if now - since < 60}
        if self._rescue is None and any(
            now - self._met.setdefault(version, now) > RESCUE_SECONDS for version in versions
        ):
            self._rescue = asyncio.create_task(self._run_rescue())

    async def _run_rescue(self) -> None:
        try:
            async with self.changing(None):  # a change that is still at work holds this lock
                await self.rescue()
            self._met.clear()
        except (*ERRORS, StoreError):
            await asyncio.sleep(1)  # the fence will be met again
        finally:
            self._rescue = None

    async def rescue(self) -> None:
        """If any fence is closed, or fences have different versions, open the fences of all
        reachable nodes. Afterwards, raises the error of an unreachable node."""
        states, problems = await self._states()
        if len(states) > 1 or any(weight == CLOSED for _, weight in states):
            version, value = await self._raise_version()
            await self._open(sorted({number for number, _ in states}), version, value)
        _raise_first(problems)

    async def _states(self) -> tuple[set[tuple[int, int]], list[BaseException]]:
        """The versions and weights of the fences at all reachable nodes, and the errors of the
        unreachable ones."""
        states: set[tuple[int, int]] = set()

        async def look(node: Node) -> None:
            slots = [slot for shard in node.shards for slot in shard.slots]
            async with node.near.transaction() as connection:
                states.update(map(tuple, await connection.fetch(_FENCES, slots)))

        nodes = [node for node in self._nodes.all if node.shards]
        results = await asyncio.gather(*map(look, nodes), return_exceptions=True)
        return states, [result for result in results if result is not None]

    async def _raise_version(self) -> tuple[int, bytes]:
        """Give the catalog's row a new version, so that changes under way cannot commit. Returns
        the version and the row's value."""
        place = CATALOG_PLACE
        async with self._nodes.of(_AT.slot).near.transaction() as connection:
            row = await connection.fetchrow(CATALOG_ROW, *place)
            if row is None:  # nothing is defined yet
                return 0, b""
            version = new_version()
            if await connection.execute(_RAISE, *place, row["version"], version) != "UPDATE 1":
                raise Conflict("the definitions of tables have just changed")
            return version, row["value"]

    async def end(self) -> None:
        if self._rescue is not None:
            await self._rescue


async def _change_shard(
    connection: Any, shard: Shard, text: str, values: Mapping[str, Any]
) -> None:
    """Run the statement `text` on the fences of a shard, in a transaction of its own.

    The transaction is sent as one message. It also locks the shard, so that the shard cannot move
    before the commit. Raises Conflict if the shard has already moved.
    """
    texts = [text] if shard.number is None else [_KEEP, text, _IS_HERE]
    slots = _array(shard.slots)
    parameters = {"rows": shard.tables.rows, "shard": shard.number, "slots": slots, **values}
    steps = "; ".join(it.format(**parameters) for it in texts)
    seconds = LOCK_SECONDS_AT_FIRST
    while True:
        limit = f"SET LOCAL lock_timeout = {int(seconds * 1000)}"
        try:
            await connection.execute(f"BEGIN; {limit}; {steps}; COMMIT")
            return
        except (asyncpg.DivisionByZeroError, asyncpg.UndefinedTableError):
            raise Conflict("a shard has just moved") from None
        except asyncpg.LockNotAvailableError:
            await connection.execute("ROLLBACK")
            if seconds > LOCK_SECONDS_MAX:
                raise
        seconds *= 2


async def _together(steps: Sequence[Any]) -> None:
    _raise_first(await asyncio.gather(*steps, return_exceptions=True))


def _raise_first(results: Sequence[BaseException | None]) -> None:
    for result in results:
        if result is not None:
            raise result


def _array(numbers: Iterable[int]) -> str:
    """The numbers as an array in a statement's text."""
    return f"{{{','.join(map(str, numbers))}}}"
