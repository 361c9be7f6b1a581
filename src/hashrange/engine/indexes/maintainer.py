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

    `key` is None if the item should have no row there. `problem` says in a few words what is wrong
    with the stored row; None if nothing is wrong.
    """

    key: RowKey | None = None
    size: int = 0
    problem: str | None = None


class Maintainer(Protocol):
    """The module of one kind of index. The argument `index` is the definition of such an index."""

    def derive(self, index: Any, change: ItemChange, effects: Effects, /) -> None:
        """Update the index for a change of an item that the build of the index has reached."""
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
        """Add `rows` and `size`, in bytes, to the counters of the index that include its row at
        `key`."""
        ...


def is_built(index: AnyIndex, key: RowKey) -> bool:
    """Whether the index has the rows of the item at `key`, because its build is over or has reached
    the item."""
    return not index.building or key.key < index.built_to
