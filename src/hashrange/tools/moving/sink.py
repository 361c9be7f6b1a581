"""Writes items to a table in batches, several of them at once.

Each write puts a whole item, so items may be written again. Of several items with the same key, the
last one is stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import msgspec

from hashrange.clients.connection import THROTTLED, JsonConnection, Outcome, Refused
from hashrange.formats.item_keys import ItemKeys
from hashrange.formats.items import DataError, Record, encode, one_line, shown
from hashrange.model.limits import BATCH_WRITE_REQUESTS_MAX
from hashrange.runtime.hash_position import hash_position
from hashrange.tools.moving.pace import ATTEMPTS_MAX, Pace, patiently, pause

GROUP_ITEMS = 3_000
"""The number of items in a group. Progress is reported after each group."""
SORTED_GROUP_ITEMS = 50_000
"""The number of items in a group for a database in this process. A group is written in the order
of the stored keys. In larger groups, neighbouring items are closer together, so that each commit
changes fewer pages of the file."""
ROUND_BATCHES = 120
"""The largest number of batches that are sent at once."""
GROUP_BYTES = 16 * 1024 * 1024
BATCH_BYTES_MAX = 4 * 1024 * 1024
_GROUPS_PER_SECOND = 4
"""The number of groups per second if the rate of units is limited. Groups of this size spread the
units over the whole second."""

_NOTHING_LEFT = (b'{"UnprocessedItems":{}}', b"{}")

_REQUESTS = (b'{"PutRequest":{"Item":%b}}', b'{"DeleteRequest":{"Key":%b}}')
_ALONE = (("PutItem", b"Item"), ("DeleteItem", b"Key"))

_OF_AN_ITEM = frozenset(
    {
        "ItemCollectionSizeLimitExceededException",
        "SerializationException",
        "ValidationException",
    }
)
"""The codes of errors that concern one item, not the table or the database."""


class Keyed(Protocol):
    """The parts of a table that the sink uses."""

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> Sequence[str]: ...


class Sink:
    """Writes items to one table. `place` precedes the line number of a record in messages. It is
    the name of a file, or empty."""

    def __init__(self, connection: JsonConnection, table: Keyed, place: str, pace: Pace) -> None:
        self.place = place
        self._connection = connection
        self._table = table
        self._name = encode(table.name)
        self._pace = pace
        self._asking = b',"ReturnConsumedCapacity":"TOTAL"' if pace.rate else b""
        self._group = SORTED_GROUP_ITEMS if connection.in_process else GROUP_ITEMS
        if pace.rate:
            self._group = max(1, min(self._group, int(pace.rate / _GROUPS_PER_SECOND)))
        self._keys = ItemKeys(table.key)

    def groups(self, records: Iterable[Record]) -> Iterator[list[Record]]:
        """Write all records. Yields each group when all of its records have been stored."""
        for group in grouped(records, self._group):
            self.write(group)
            yield group

    def write(self, group: Sequence[Record]) -> None:
        """Write records, and return when all have been stored. Raises DataError, which names the
        refused record."""
        batches = _batches(self._last(group))
        while some := list(islice(batches, ROUND_BATCHES)):
            self._write(some)

    def _write(self, batches: Sequence[Sequence[Record]]) -> None:
        waiting = [(self._body(batch), batch) for batch in batches]
        attempt = 0
        while waiting:
            bodies = [body for body, _ in waiting]
            outcomes = self._connection.call_all("BatchWriteItem", bodies)
            left = []
            for (body, batch), outcome in zip(waiting, outcomes, strict=True):
                if outcome not in _NOTHING_LEFT:
                    again = self._again(body, batch, outcome, attempt)
                    if again is not None:
                        left.append((again, batch))
            attempt = attempt + 1 if len(left) == len(waiting) else 0
            if left:
                pause(attempt)
            waiting = left

    def _last(self, group: Sequence[Record]) -> Iterable[Record]:
        """The last record of each key. For a database in this process, they are sorted in the order
        of the store's keys."""
        last: dict[str | int, Record] = {}
        positions: dict[str | int, bytes] = {}
        for record in group:
            values = self._keys.of(record.item)
            # A record without a valid key will be refused, so it replaces no other record.
            key = record.line if values is None else repr(values)
            if values and self._connection.in_process and key not in positions:
                positions[key] = hash_position(values[0])
            last[key] = record
        if not positions:
            return last.values()
        return [last[key] for key in sorted(last, key=lambda key: positions.get(key, b""))]

    def _body(self, batch: Sequence[Record]) -> bytes:
        requests = b",".join([_REQUESTS[record.delete] % record.item for record in batch])
        return b'{"RequestItems":{%b:[%b]}%b}' % (self._name, requests, self._asking)

    def _again(
        self, body: bytes, batch: Sequence[Record], outcome: Outcome, attempt: int
    ) -> bytes | None:
        """The next request for a batch, or None if all of its items are stored."""
        if isinstance(outcome, bytes):
            content = msgspec.json.decode(outcome)
            for consumed in content.get("ConsumedCapacity", ()):
                self._pace.consumed(consumed["CapacityUnits"])
            left = content.get("UnprocessedItems")
            if not left:
                return None
            if attempt >= ATTEMPTS_MAX:
                raise Refused("", f"{self._table.name}: writes are throttled; set a lower --rate")
            again = {"RequestItems": left}
            return encode(again | {"ReturnConsumedCapacity": "TOTAL"} if self._asking else again)
        if outcome.code in _OF_AN_ITEM:
            self._one_by_one(batch)
            return None
        if outcome.code in THROTTLED and attempt < ATTEMPTS_MAX:
            return body
        raise outcome

    def _one_by_one(self, batch: Sequence[Record]) -> None:
        """Put the items of a refused batch one by one, to find the item that is faulty."""
        for record in batch:
            operation, member = _ALONE[record.delete]
            body = b'{"TableName":%b,"%b":%b}' % (self._name, member, record.item)
            try:
                patiently(self._connection, operation, body)
            except Refused as refusal:
                if refusal.code not in _OF_AN_ITEM:
                    raise
                raise self._fault(record, refusal) from None

    def _fault(self, record: Record, refusal: Refused) -> DataError:
        try:
            key = shown(record.item, self._table.key)
        except (msgspec.DecodeError, UnicodeDecodeError):
            key = ""
        where = f"{self.place}:{record.line}: " if self.place else ""
        return DataError(f"{where}item {one_line(key)[:200]}: {refusal.reason}")


def grouped(records: Iterable[Record], count_max: int) -> Iterator[list[Record]]:
    """The records in lists of at most `count_max` records, and of about `GROUP_BYTES` bytes."""
    group: list[Record] = []
    size = 0
    for record in records:
        group.append(record)
        size += len(record.item)
        if len(group) >= count_max or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in records:
        if len(batch) == BATCH_WRITE_REQUESTS_MAX or (batch and size > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += len(record.item)
    if batch:
        yield batch
