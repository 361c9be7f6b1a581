"""The names of the tables for some slots.

In a Citus cluster, each shard of a distributed table is a separate table on one node. Statements
that concern one node name these tables: see `direct`.
"""

from typing import NamedTuple


class Tables(NamedTuple):
    rows: str = "rows"
    counters: str = "counters"
    log_heads: str = "log_heads"
    batches: str = "batches"


class Source(NamedTuple):
    """The tables that a statement reads. `rows` may be a union of tables."""

    rows: str = "rows"
    dropped: str = "dropped"
    fences: str = "rows"
    """The table in which the fence is read."""


PLAIN = Tables()
PLAIN_SOURCE = Source()
