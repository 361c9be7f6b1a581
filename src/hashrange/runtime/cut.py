"""All items of a table as of one moment, while others go on writing."""

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Raw, json

from hashrange import kv
from hashrange.engine.fetch import contents
from hashrange.engine.keyspace import system
from hashrange.model.tables import Table
from hashrange.model.values import Item
from hashrange.operations.queries import selection
from hashrange.runtime import source
from hashrange.runtime.environment import HEAD, Environment

CHUNK_ROWS = 1000
CHUNK_BYTES = 1024 * 1024

_decode = json.Decoder(Item).decode
_encode = json.Encoder().encode


class Cut:
    """Holds a snapshot of the store until it is closed. `table` is None if there is no such table.

    `moment` is a time, in epoch seconds, that no commit in the cut is after.
    """

    def __init__(self, store: kv.Store, environment: Environment, table_name: str) -> None:
        self._snapshot = store.snapshot()
        try:
            head = cast(tuple[bytes | None, int], self._snapshot.read(HEAD))
            _, self.moment = environment.at(head)
            row = source.row(self._snapshot, kv.SYSTEM_SPACE, system.table_row(table_name))
            self.table = None if row is None else system.decode(row, Table)
        except BaseException:
            self._snapshot.close()
            raise

    def size_bytes(self) -> int:
        """The size of the table in bytes."""
        assert self.table is not None, "there is a table"
        names = [system.size_bytes(self.table.space, each.number) for each in self.table.partitions]
        return sum(source.counters(self._snapshot, *names))

    def items(self, specification: dict[str, Any]) -> Iterator[bytes]:
        """The items that a FilterSpecification chooses, as DynamoDB JSON, in the stored order.

        Raises ValidationException if it does not fit the table.
        """
        assert self.table is not None, "there is a table"
        chosen = selection.of(specification, self.table)
        start, end = chosen.bounds.start, chosen.bounds.end
        while True:
            chunk = kv.Range(
                self.table.space, start, end, rows_max=CHUNK_ROWS, weight_max=CHUNK_BYTES
            )
            page = source.page(self._snapshot, chunk)
            _, items = contents(page.rows)
            if chosen.filter is None and chosen.projection is None:
                yield from map(bytes, items)
            else:
                yield from _shown(items, chosen)
            if page.exhausted:
                return
            start = page.rows[-1][0] + b"\x00"

    def close(self) -> None:
        self._snapshot.close()


def _shown(items: list[Raw], chosen: selection.Selection) -> Iterator[bytes]:
    for text in items:
        item = _decode(text)
        if chosen.filter is None or chosen.filter.matches(item):
            if chosen.projection is None:
                yield bytes(text)
            else:
                yield _encode(chosen.projection.project(item))
