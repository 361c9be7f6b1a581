"""Statements for one node of a cluster, which name the tables of the node's shards directly.

Citus would plan each statement for each shard, which costs several times as much as the statement
itself. The tables of the shards are ordinary tables of PostgreSQL, so the statements here are those
of the dialect `plain`, with other names of tables.

A shard may move to another node before a statement arrives. So a read also asks whether the shards
were on the node at the moment of the read. A transaction's statement first calls `pg_temp.pin` (see
`pool`), which keeps the shards in place, and then reports whether they are on the node.

The fence that a transaction's statement reads is current. PostgreSQL locks the tables that a
statement writes to before it takes the snapshot, and a change of a fence waits for these locks.

Rows at several nodes are read by key with one statement for each node, and ranges over several
nodes as `snapshots` describes. Transactions that write to several nodes go through Citus: see
`routed`.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import asyncpg

from hashrange.kv import CATALOG, Conflict
from hashrange.storage.postgres.cluster import fences
from hashrange.storage.postgres.cluster.merging import together
from hashrange.storage.postgres.cluster.nodes import Node, Nodes, Shard
from hashrange.storage.postgres.cluster.routed import Fenced, in_the_way
from hashrange.storage.postgres.read_statements import FENCE, PLACED, statement
from hashrange.storage.postgres.reads import Question
from hashrange.storage.postgres.tables import Source
from hashrange.storage.postgres.writes import Layout

SHARDS_MAX = 64
"""If a node has more shards than this, one statement does not write to several of them."""


class Moved(Conflict):
    """A shard has moved to another node."""

    def __init__(self) -> None:
        super().__init__("a shard has moved to another node")


async def ask(
    connection: Any, question: Question, values: bool, nodes: Nodes, node: Node, slots: set[int]
) -> set[int]:
    """Ask one node, which has all `slots` of the question.

    Returns the versions of the fences that would block the commit of a transaction with these
    reads, as `routed.ask` does. Raises Fenced or Moved.
    """
    first, *others = shards = _shards(nodes, node, slots)
    rows = node.rows if others else first.tables.rows
    source = Source(rows, nodes.dropped, first.tables.rows)
    numbers = [shard.number for shard in shards if shard.number is not None]
    fenced = CATALOG in question.keys
    # If the fence is open, no space that the reader knows of has been dropped.
    sees_dropped = question.lists_dropped or question.sees_spaces(fenced)
    while True:
        parts, arguments = question.parts(values, catalog=False, dropped=sees_dropped)
        if fenced:
            parts.append(FENCE)
            arguments.append(first.slots[0] if others else min(slots))
        if numbers:
            parts.append(PLACED)
            arguments.append(numbers)
        text = statement(tuple(parts), values, question.bytes_max, source)
        try:
            records = await connection.fetch(text, *arguments)
        except asyncpg.UndefinedTableError:
            raise Moved from None
        answered = question.take(records)
        if question.placed != len(numbers):
            raise Moved
        is_closed = fenced and question.fence[0] != fences.OPEN
        if answered and (sees_dropped or not is_closed):
            return _in_the_way(question)
        sees_dropped |= is_closed


async def ask_several(question: Question, values: bool, nodes: Nodes) -> set[int]:
    """Read rows by key at several nodes, from all nodes at once. Returns and raises the same as
    `ask`."""
    by_node: dict[Node, set[int]] = {}
    for slot in question.slots_of_rows():
        by_node.setdefault(nodes.of(slot), set()).add(slot)
    parts = {node: question.part(its) for node, its in by_node.items()}

    async def ask_one(node: Node) -> None:
        async with node.near.connection() as connection:
            await ask(connection, parts[node], values, nodes, node, by_node[node])

    await together(map(ask_one, parts))
    question.take_parts(list(parts.values()))
    if CATALOG not in question.keys:
        return set()
    return in_the_way([part.fence_row() for part in parts.values()], question)


def layout(nodes: Nodes, node: Node, slots: Sequence[int]) -> Layout:
    """The layout for a transaction that writes only to these slots, which are all at the node."""
    shards = _shards(nodes, node, slots)
    home = random.choice(shards[0].slots if len(shards) > 1 else slots)
    return Layout(
        tables_of=lambda slot: nodes.shard_of(slot).tables,
        tables=[shard.tables for shard in shards],
        fence=(fences.SPACE, home, b""),
        slot=home,
        slot_of_counters=home,
        shards=[shard.number for shard in shards if shard.number is not None],
    )


def can_name_shards(nodes: Nodes, node: Node, slots: Iterable[int]) -> bool:
    """Whether one statement may write to these slots. If they are in several shards, the statement
    names all shards of the node, so the node must not have more than SHARDS_MAX."""
    return len(_shards(nodes, node, slots)) <= SHARDS_MAX


def _shards(nodes: Nodes, node: Node, slots: Iterable[int]) -> Sequence[Shard]:
    """The shard that has all of these slots. If the slots are in several shards: all shards of the
    node, so that one prepared statement serves every set of slots. Raises Moved if a slot has left
    the node."""
    shards = {shard.number: shard for shard in map(nodes.shard_of, slots)}
    if len(shards) == 1:
        return list(shards.values())
    if not shards.keys() <= {shard.number for shard in node.shards}:
        raise Moved
    return node.shards


def _in_the_way(question: Question) -> set[int]:
    weight, version = question.fence
    if weight == fences.OPEN:
        return set()
    if question.compared:
        raise Fenced({version})
    return {version}
