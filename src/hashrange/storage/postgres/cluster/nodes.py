"""The nodes of a database, which keep the slots, and the connections to each node.

Plain PostgreSQL is one machine. In a Citus cluster every node has the metadata and accepts queries.
A query about one slot costs less than half as much at the node that has this slot as at another
node. So work that concerns only one node is sent to this node. Transactions over several nodes have
a separate pool at each node. This pool is small, because the PostgreSQL process behind each of its
connections keeps connections to the other nodes open. Locking reads have a third pool: a
transaction that makes a locking read may hold a connection of another pool already, and must not
wait for a second connection of that pool.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from hashrange.kv import SLOTS, StoreError
from hashrange.storage.postgres.keys import Stored
from hashrange.storage.postgres.pool import Pool
from hashrange.storage.postgres.problems import ERRORS
from hashrange.storage.postgres.tables import PLAIN, PLAIN_SOURCE, Tables

REFRESH_SECONDS = 10.0
"""The largest age of the map of slots to nodes and shards. An outdated map does no harm: a
statement to a shard that has moved fails, and the map is read again."""
WIDE_SIZE = 2
LOCKING_SIZE = 2

IN_DOUBT_SECONDS = 5.0
_PLACEMENTS = """SELECT shardid, nodename, nodeport,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
    (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()
        AND prepared < now() - make_interval(secs => $1)) AS in_doubt
FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
WHERE logicalrelid = 'rows'::regclass AND noderole = 'primary' ORDER BY shardid"""
_SHARDS_OF_SLOTS = f"""SELECT get_shard_id_for_distribution_column('rows', s::smallint)
FROM generate_series(0, {SLOTS - 1}) s ORDER BY s"""
_COLOCATED = """SELECT relname, shardid, shardminvalue
FROM pg_dist_shard JOIN pg_class ON pg_class.oid = logicalrelid
WHERE logicalrelid = ANY ($1::text[]::regclass[])"""


class Shard(NamedTuple):
    """Some slots at one node, and their tables."""

    number: int | None
    """The number that Citus gave the shard of the table `rows`; None if the tables are not
    distributed."""
    slots: Sequence[int]
    tables: Tables


class Node:
    """A machine, and its pools of connections: `near` for work at this node alone, `locking` for
    locking reads, `reading` for snapshots of several nodes, and `wide` for transactions over
    several nodes."""

    def __init__(self, number: int, near: Pool, wide: Pool, locking: Pool, reading: Pool) -> None:
        self.number = number
        self.near = near
        self.wide = wide
        self.locking = locking
        self.reading = reading
        self.shards: list[Shard] = []
        self.in_doubt = 0
        """The number of prepared transactions at this node that have waited for more than
        IN_DOUBT_SECONDS for the node that began them."""
        self.clock_ahead: int | None = None
        """The milliseconds by which the node's clock is ahead of the clock of this process."""
        self.rows = PLAIN.rows
        """The table, or the union of tables, that has all rows of this node."""
        self.tables: Mapping[int, str] = {}
        """Maps each slot of this node to the table that has the slot's rows."""

    @property
    def pools(self) -> tuple[Pool, Pool, Pool, Pool]:
        return self.near, self.wide, self.locking, self.reading

    def has(self, pool: Pool) -> bool:
        return pool in self.pools


class Nodes:
    """The nodes of a database, and the map of slots to nodes and shards.

    `make(host, port)` makes the four pools of a node.
    """

    def __init__(self, make: Callable[[str, int], tuple[Pool, Pool, Pool, Pool]]) -> None:
        self._make = make
        self._by_address: dict[tuple[str, int], Node] = {}
        self._of_slot: list[Node] = []
        self._numbers: list[int] = []
        self._turn = 0
        self._by_number: dict[int, Shard] = {}
        self._shard_of_slot: list[Shard] = []
        self.dropped = PLAIN_SOURCE.dropped
        self.changes = 0
        """How many times the map has changed."""
        self._loaded_at = 0.0
        self._refreshing: asyncio.Task[None] | None = None

    def use_one(self, near: Pool, wide: Pool, locking: Pool, reading: Pool) -> None:
        """Treat a database whose tables are not distributed as two nodes with the same pools."""
        for number, slots in enumerate((range(0, SLOTS, 2), range(1, SLOTS, 2))):
            node = Node(number, near, wide, locking, reading)
            node.shards = [Shard(None, slots, PLAIN)]
            node.tables = dict.fromkeys(range(SLOTS), PLAIN.rows)
            self._by_address["", number] = node
        self._of_slot = self.all * (SLOTS // 2)
        self._shard_of_slot = [node.shards[0] for node in self._of_slot]

    async def load(self, connection: Any) -> tuple[int, int]:
        """Read the map from the metadata, which every node of a cluster has.

        Returns the time of the node that answers, in milliseconds, and the number of transactions
        in doubt at this node.
        """
        placements = await connection.fetch(_PLACEMENTS, IN_DOUBT_SECONDS)
        numbers = [row["shardid"] for row in placements]
        if numbers != self._numbers:
            await self._load_shards(connection)
        shards: dict[Node, list[Shard]] = {}
        for number, host, port, _, _ in placements:
            if shard := self._by_number.get(number):  # a shard that was split has no slots
                shards.setdefault(self._node_at(host, port), []).append(shard)
        for node in self.all:
            node.shards = shards.get(node, [])
            node.rows = _union(node.shards)
            node.tables = {slot: it.tables.rows for it in node.shards for slot in it.slots}
        of_slot = {slot: node for node in self.all for slot in node.tables}
        before, self._of_slot = self._of_slot, [of_slot[slot] for slot in range(SLOTS)]
        if self._of_slot != before or numbers != self._numbers:
            self.changes += 1
            self._numbers = numbers
        self._loaded_at = time.monotonic()
        return placements[0]["now"], placements[0]["in_doubt"]

    async def _load_shards(self, connection: Any) -> None:
        names = [*PLAIN, PLAIN_SOURCE.dropped]
        tables: dict[tuple[str, str | None], str] = {}
        first_of: dict[int, str] = {}
        for name, number, first in await connection.fetch(_COLOCATED, names):
            tables[name, first] = f"{name}_{number}"
            if name == PLAIN.rows:
                first_of[number] = first
        slots: dict[int, list[int]] = {}
        for slot, [number] in enumerate(await connection.fetch(_SHARDS_OF_SLOTS)):
            slots.setdefault(number, []).append(slot)
        self._by_number = {
            number: Shard(number, its, Tables(*(tables[name, first_of[number]] for name in PLAIN)))
            for number, its in slots.items()
        }
        by_slot = {slot: shard for shard in self._by_number.values() for slot in shard.slots}
        self._shard_of_slot = [by_slot[slot] for slot in range(SLOTS)]
        self.dropped = tables[PLAIN_SOURCE.dropped, None]

    def _node_at(self, host: str, port: int) -> Node:
        node = self._by_address.get((host, port))
        if node is None:
            node = Node(len(self._by_address), *self._make(host, port))
            self._by_address[host, port] = node
        return node

    @property
    def all(self) -> list[Node]:
        return list(self._by_address.values())

    @property
    def are_distributed(self) -> bool:
        return bool(self._numbers)

    def of(self, slot: int) -> Node:
        return self._of_slot[slot]

    def pool_for(self, slots: Iterable[int]) -> Pool:
        """The pool for statements about these slots (at least one).

        Raises StoreError if the slots are on several nodes and one of these nodes cannot be
        reached: the other nodes would wait for it.
        """
        nodes = dict.fromkeys(self._of_slot[slot] for slot in slots)
        first = next(iter(nodes))
        if len(nodes) == 1:
            return first.near
        for node in nodes:
            node.near.refuse_if_away()
        return first.wide

    def order(self, at: Stored) -> tuple[Tables, Stored]:
        """The sort key of a row's place. Every transaction locks rows in this order, shard by
        shard, because a statement at one node locks them in this order too."""
        return self.shard_of(at.slot).tables, at

    def shard_of(self, slot: int) -> Shard:
        return self._shard_of_slot[slot]

    def one_for(self, slots: Iterable[int], pool: Pool) -> Node | None:
        """The node to which the pool belongs, if this node has all of the slots, else None."""
        nodes = {self._of_slot[slot] for slot in slots}
        return node if len(nodes) == 1 and (node := nodes.pop()).has(pool) else None

    def one_of_each(self, slots: Iterable[int]) -> list[int]:
        """One of the slots for each node that has some of them, in the order of the nodes."""
        first_slots: dict[int, int] = {}
        for slot in slots:
            first_slots.setdefault(self._of_slot[slot].number, slot)
        return [first_slots[number] for number in sorted(first_slots)]

    def keep_current(self, seconds: float = REFRESH_SECONDS) -> None:
        """Read the map again, in the background, if it is older than `seconds`."""
        if self._numbers and time.monotonic() - self._loaded_at > seconds:
            self._loaded_at = time.monotonic()
            self._refreshing = asyncio.create_task(self.refresh())

    async def refresh(self) -> None:
        """Read the map again from the first node that answers, and note this node's clock and its
        transactions in doubt. Each call begins with another node."""
        self._turn += 1
        nodes = [node for node in self.all if node.shards or len(self._by_address) == 1]
        at = self._turn % len(nodes)
        for node in nodes[at:] + nodes[:at]:
            with suppress(StoreError, *ERRORS):
                async with node.near.connection() as connection:
                    now, node.in_doubt = await self.load(connection)
                node.clock_ahead = now - time.time_ns() // 1_000_000
                return

    def figures(self) -> dict[str, int]:
        if not self._numbers:
            return {}
        ahead = [node.clock_ahead for node in self.all if node.clock_ahead is not None]
        return {
            "in_doubt": sum(node.in_doubt for node in self.all),
            "clock_skew_milliseconds": max(ahead, default=0) - min(ahead, default=0),
        }

    async def close(self) -> None:
        if self._refreshing is not None:
            await self._refreshing
        for node in self.all:
            for pool in node.pools:
                await pool.close()


def _union(shards: Sequence[Shard]) -> str:
    texts = [f"SELECT * FROM {shard.tables.rows}" for shard in shards]
    return f"({' UNION ALL '.join(texts)}) rows"
