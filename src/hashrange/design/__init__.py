"""Single-table design: declare items and access patterns, then plan, check and run them.

    from hashrange import design as st

The tutorials in `docs/` show how to use it; start with `Item`, `Table` and `Store`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hashrange.design.declare.amounts import Amounts
from hashrange.design.declare.derived import derived
from hashrange.design.declare.facts import (
    buckets,
    consistent,
    counts,
    latest,
    rate,
    scan_ok,
    scatter,
    through,
    using,
    where,
)
from hashrange.design.declare.generated import now, ulid, uuid7
from hashrange.design.declare.item import Item, View, attr, copy, index, key, local, unique, upgrade
from hashrange.design.declare.markers import (
    TTL,
    After,
    AnyOf,
    AtLeast,
    AtMost,
    Before,
    Between,
    Day,
    Hour,
    Month,
    Prefix,
    Shard,
    Slug,
    Version,
    after,
    any_of,
    at_least,
    at_most,
    before,
    between,
    day,
    equal,
    hour,
    month,
    prefix,
    ref,
    shard,
)
from hashrange.design.declare.protocols.queries import AsyncQuery, Explanation, Page, Query
from hashrange.design.declare.protocols.stores import AsyncStore, Store
from hashrange.design.declare.protocols.transactions import AsyncWork, Work
from hashrange.design.declare.replaces import pair, replaces
from hashrange.design.declare.typed_conditions import Condition
from hashrange.design.declare.vectors import Match, Nearest, Vector, VectorLike, vectors
from hashrange.design.declare.volumes import each, ignore, total, volumes, writes
from hashrange.design.errors import (
    AlreadyExists,
    BadValue,
    ConditionFailed,
    Conflict,
    DeclarationError,
    DesignError,
    InvalidCursor,
    ItemError,
    NotFound,
    NotUnique,
    Unprocessed,
    Unserved,
)
from hashrange.design.table import Table

if TYPE_CHECKING:
    from hashrange.design.drawing.draw import draw
    from hashrange.design.inference.infer import infer
    from hashrange.design.migrate.migration import Migration
    from hashrange.design.migrate.phases import MigrationError
    from hashrange.design.streams.changes import Change, on
    from hashrange.design.streams.follow import Follower, follow
    from hashrange.design.streams.on_lambda import lambda_handler
    from hashrange.design.tools.cost.cost import cost
    from hashrange.design.tools.cost.price_list import NoPrices
    from hashrange.design.tools.cost.report import Cost
    from hashrange.design.tools.diff import Diff, diff
    from hashrange.design.tools.lint import Report, lint, rule
    from hashrange.design.tools.proof.prove import Proof, prove
    from hashrange.design.tools.rebuild_markers import RebuiltMarkers, rebuild_markers
    from hashrange.design.tools.sample import sample

_LATER = {
    "Change": "streams.changes",
    "Follower": "streams.follow",
    "follow": "streams.follow",
    "lambda_handler": "streams.on_lambda",
    "on": "streams.changes",
    "draw": "drawing.draw",
    "Cost": "tools.cost.report",
    "NoPrices": "tools.cost.price_list",
    "cost": "tools.cost.cost",
    "Diff": "tools.diff",
    "diff": "tools.diff",
    "infer": "inference.infer",
    "Migration": "migrate.migration",
    "MigrationError": "migrate.phases",
    "Report": "tools.lint",
    "lint": "tools.lint",
    "rule": "tools.lint",
    "Proof": "tools.proof.prove",
    "prove": "tools.proof.prove",
    "RebuiltMarkers": "tools.rebuild_markers",
    "rebuild_markers": "tools.rebuild_markers",
    "sample": "tools.sample",
}
"""Maps each name that is imported at its first use to its module.

These modules are tools for designers. An application that only runs its patterns does not load
them.
"""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"hashrange.design.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "TTL",
    "After",
    "AlreadyExists",
    "Amounts",
    "AnyOf",
    "AsyncQuery",
    "AsyncStore",
    "AsyncWork",
    "AtLeast",
    "AtMost",
    "BadValue",
    "Before",
    "Between",
    "Change",
    "Condition",
    "ConditionFailed",
    "Conflict",
    "Cost",
    "Day",
    "DeclarationError",
    "DesignError",
    "Diff",
    "Explanation",
    "Follower",
    "Hour",
    "InvalidCursor",
    "Item",
    "ItemError",
    "Match",
    "Migration",
    "MigrationError",
    "Month",
    "Nearest",
    "NoPrices",
    "NotFound",
    "NotUnique",
    "Page",
    "Prefix",
    "Proof",
    "Query",
    "RebuiltMarkers",
    "Report",
    "Shard",
    "Slug",
    "Store",
    "Table",
    "Unprocessed",
    "Unserved",
    "Vector",
    "VectorLike",
    "Version",
    "View",
    "Work",
    "after",
    "any_of",
    "at_least",
    "at_most",
    "attr",
    "before",
    "between",
    "buckets",
    "consistent",
    "copy",
    "cost",
    "counts",
    "day",
    "derived",
    "diff",
    "draw",
    "each",
    "equal",
    "follow",
    "hour",
    "ignore",
    "index",
    "infer",
    "key",
    "lambda_handler",
    "latest",
    "lint",
    "local",
    "month",
    "now",
    "on",
    "pair",
    "prefix",
    "prove",
    "rate",
    "rebuild_markers",
    "ref",
    "replaces",
    "rule",
    "sample",
    "scan_ok",
    "scatter",
    "shard",
    "through",
    "total",
    "ulid",
    "unique",
    "upgrade",
    "using",
    "uuid7",
    "vectors",
    "volumes",
    "where",
    "writes",
]
