"""The machines that keep the slots, and the connections to each.

Plain PostgreSQL is one machine. In a Citus cluster every node has the metadata and takes queries;
one that owns the slot of a statement answers it by itself, at less than half of the cost. So
whatever concerns one node begins there. Transactions over several nodes have a small pool of their
own at each, because each of their backends keeps connections to the other nodes.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from hashrange.kv import SLOTS, StoreError
from hashrange.storage.postgres.pool import Pool
from hashrange.storage.postgres.problems import ERRORS

REFRESH_SECONDS = 5.0
"""How old the map of the shards may be. It only says where to begin: a statement finds its shard
wherever it begins."""
WIDE_SIZE = 2

_PLACEMENTS = """SELECT shardid, nodename, nodeport
FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
WHERE logicalrelid = 'rows'::regclass AND noderole = 'primary' ORDER BY shardid"""
_SHARDS_OF_SLOTS = f"""SELECT get_shard_id_for_distribution_column('rows', s::smallint)
FROM generate_series(0, {SLOTS - 1}) s ORDER BY s"""


class Shard(NamedTuple):
    """The table that holds the rows of some slots, at one node."""

    number: int | None
    """None if the tables are not distributed."""
    slots: Sequence[int]

    @property
    def table(self) -> str:
        return "rows" if self.number is None else f"rows_{self.number}"


class Node:
    """A machine. `near` are connections for what concerns it alone, `wide` those for the rest."""

    def __init__(self, number: int, near: Pool, wide: Pool) -> None:
        self.number = number
        self.near = near
        self.wide = wide
        self.shards: list[Shard] = []


class Nodes:
    """`make` makes the two pools of the node at an address."""

    def __init__(self, make: Callable[[str, int], tuple[Pool, Pool]]) -> None:
        self._make = make
        self._by_address: dict[tuple[str, int], Node] = {}
        self._of_slot: list[Node] = []
        self._shards: list[int] = []
        self._shard_of_slot: list[int] = []
        self._loaded_at = 0.0
        self._refreshing: asyncio.Task[None] | None = None

    def use_one(self, near: Pool, wide: Pool) -> None:
        """All slots are in one database."""
        node = Node(0, near, wide)
        node.shards = [Shard(None, range(SLOTS))]
        self._by_address = {("", 0): node}
        self._of_slot = [node] * SLOTS

    async def load(self, connection: Any) -> None:
        """Read the map from the metadata, which every node of a cluster has."""
        placements = await connection.fetch(_PLACEMENTS)
        shards = [row["shardid"] for row in placements]
        if shards != self._shards:
            self._shard_of_slot = [row[0] for row in await connection.fetch(_SHARDS_OF_SLOTS)]
            self._shards = shards
        slots: dict[int, list[int]] = {}
        for slot, shard in enumerate(self._shard_of_slot):
            slots.setdefault(shard, []).append(slot)
        found: dict[Node, list[Shard]] = {}
        of_slot: dict[int, Node] = {}
        for shard, host, port in placements:
            node = self._node_at(host, port)
            found.setdefault(node, []).append(Shard(shard, slots.get(shard, ())))
            of_slot |= dict.fromkeys(slots.get(shard, ()), node)
        for node in self.all:
            node.shards = found.get(node, [])
        self._of_slot = [of_slot[slot] for slot in range(SLOTS)]
        self._loaded_at = time.monotonic()

    def _node_at(self, host: str, port: int) -> Node:
        node = self._by_address.get((host, port))
        if node is None:
            node = Node(len(self._by_address), *self._make(host, port))
            self._by_address[host, port] = node
        return node

    @property
    def all(self) -> list[Node]:
        return list(self._by_address.values())

    def of(self, slot: int) -> Node:
        return self._of_slot[slot]

    def pool_for(self, slots: Iterable[int]) -> Pool:
        """The pool for statements about these slots, of which there is at least one."""
        nodes = dict.fromkeys(self._of_slot[slot] for slot in slots)
        first = next(iter(nodes))
        return first.near if len(nodes) == 1 else first.wide

    def one_of_each(self, slots: Iterable[int]) -> list[int]:
        """One of the slots for each node that has any of them, in the order of the nodes."""
        found: dict[int, int] = {}
        for slot in slots:
            found.setdefault(self._of_slot[slot].number, slot)
        return [found[number] for number in sorted(found)]

    def keep_current(self) -> None:
        """Read the map again, in the background, if it is old."""
        if self._shards and time.monotonic() - self._loaded_at > REFRESH_SECONDS:
            self._loaded_at = time.monotonic()
            self._refreshing = asyncio.create_task(self.refresh())

    async def refresh(self) -> None:
        """Read the map again, from the first node that answers."""
        for node in self.all:
            if node.shards or len(self._by_address) == 1:
                with suppress(StoreError, *ERRORS):
                    async with node.near.connection() as connection:
                        await self.load(connection)
                    return

    async def close(self) -> None:
        if self._refreshing is not None:
            await self._refreshing
        for node in self.all:
            await node.near.close()
            await node.wide.close()
