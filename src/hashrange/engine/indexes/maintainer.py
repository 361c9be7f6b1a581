"""The functions that the module of each kind of index has."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from hashrange.engine.decision import ItemChange
from hashrange.engine.effects import Counters, Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row
from hashrange.model.tables import AnyIndex, Table


class Checked(NamedTuple):
    """The result of a check: the key and the size of the row that an item should have in an index.

    The key is None if it should have none. `problem` describes the fault of the row in a few words;
    None if there is none.
    """

    key: RowKey | None = None
    size: int = 0
    problem: str | None = None


class Maintainer(Protocol):
    """The module of one kind of index. `index` is its definition."""

    def derive(self, index: Any, change: ItemChange, effects: Effects, /) -> None:
        """Update the index for a changed item, which the build of the index has reached."""
        ...

    def build(self, table: Table, index: Any, items: Sequence[Row], effects: Effects, /) -> None:
        """Add the rows of items that the build of the index has reached."""
        ...

    def check(self, table: Table, index: Any, key: RowKey, item: Row, /) -> Fetch[Checked]:
        """Compare the index's row for the item at `key` with the expected row."""
        ...

    def owner(self, table: Table, row: Row, /) -> RowKey:
        """The key of the item that a row of the index belongs to."""
        ...

    def count(
        self, table: Table, index: Any, key: RowKey, rows: int, size: int, counters: Counters, /
    ) -> None:
        """Add `rows` rows of `size` bytes to the counters of the index. One of the rows has the key
        `key`."""
        ...


def is_built(index: AnyIndex, key: RowKey) -> bool:
    """Whether the index has the rows of the item at `key`: the build has reached it or is over."""
    return not index.building or key.key < index.built_to
