"""The names of the tables for some slots.

In a Citus cluster each shard of a table is a table of its own, at one node. Whatever concerns one
node is said to the tables of its shards: see `direct`.
"""

from typing import NamedTuple


class Tables(NamedTuple):
    rows: str = "rows"
    counters: str = "counters"
    log_heads: str = "log_heads"
    batches: str = "batches"


class Source(NamedTuple):
    """What a statement reads from. `rows` may be a union of tables."""

    rows: str = "rows"
    dropped: str = "dropped"
    fences: str = "rows"
    """Where the fence is read."""


PLAIN = Tables()
PLAIN_SOURCE = Source()
