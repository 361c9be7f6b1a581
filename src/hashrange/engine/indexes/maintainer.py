"""The interface that the module of each kind of index implements."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from hashrange.engine.decision import ItemChange
from hashrange.engine.effects import Counters, Effects
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row
from hashrange.model.tables import AnyIndex, Table


class Checked(NamedTuple):
    """The result of a check: the key and the size in bytes of the row that an item should have.

    `key` is None if the index should have no row for the item. `problem` says briefly what is wrong
    with the stored row; None if nothing is wrong.
    """

    key: RowKey | None = None
    size: int = 0
    problem: str | None = None


class Maintainer(Protocol):
    """The module of one kind of index. The argument `index` is the definition of an index."""

    def derive(self, index: Any, change: ItemChange, effects: Effects, /) -> None:
        """Update the index for a change of an item that the build of the index has passed."""
        ...

    def build(self, table: Table, index: Any, items: Sequence[Row], effects: Effects, /) -> None:
        """Add the rows of the next items of the build."""
        ...

    def check(self, table: Table, index: Any, key: RowKey, item: Row, /) -> Fetch[Checked]:
        """Compare the index's row for the item at `key` with the expected row."""
        ...

    def owner(self, table: Table, row: Row, /) -> RowKey:
        """The key of the item to which a row of the index belongs."""
        ...

    def count(
        self, table: Table, index: Any, key: RowKey, rows: int, size: int, counters: Counters, /
    ) -> None:
        """Add `rows` and `size`, in bytes, to the counters that include the row at `key`."""
        ...


def is_built(index: AnyIndex, key: RowKey) -> bool:
    """Whether the build of the index has ended, or has passed the item at `key`."""
    return not index.building or key.key < index.built_to
