"""What every kind of index does in its own way: the functions that its module has."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from hashrange.engine.decision import ItemChange
from hashrange.engine.effects import Counters, Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row
from hashrange.model.tables import Index, Table, TimeToLive


class Checked(NamedTuple):
    """What a check of one item found: the rows that the item should have in an index, their size
    in bytes, and what is wrong with them, in a few words (None: nothing).
    """

    rows: int = 0
    size: int = 0
    problem: str | None = None


class Maintainer(Protocol):
    """The module of one kind of index. `index` is the definition: `Index` or `TimeToLive`."""

    def derive(self, index: Any, change: ItemChange, effects: Effects, /) -> None:
        """What a change of an item does to the index; nothing before the build has come to it."""
        ...

    def build(self, table: Table, index: Any, items: Sequence[Row], effects: Effects, /) -> None:
        """Rows of items that the build of the index has come to."""
        ...

    def check(self, table: Table, index: Any, key: RowKey, item: Row, /) -> Fetch[Checked]:
        """Whether the item at `key` has the rows in the index that follow from it."""
        ...

    def count(
        self, table: Table, index: Any, key: RowKey, rows: int, size: int, counters: Counters, /
    ) -> None:
        """Add rows of the item at `key` to the counters that are kept of the index."""
        ...


def is_built(index: Index | TimeToLive, key: RowKey) -> bool:
    """Whether the item at `key` has its rows in the index: the build has come to it, or is over."""
    return not index.building or key.key < index.built_to
