"""Checkpoints: the stored positions of a stream's readers.

For each shard, a row has the sequence number of the last record that a reader has handled. A row
without a shard says that the reader has begun.
"""

from collections.abc import Iterable

from hashrange import kv
from hashrange.engine.decision import Checkpoints
from hashrange.engine.fetch import Fetch
from hashrange.engine.keyspace import system
from hashrange.engine.log import records
from hashrange.engine.log.shards import Shard
from hashrange.model.streams import Stream

BEGUN = ""
"""A shard id that no shard has. A reader that has begun stores a checkpoint under this id."""


def of_reader(stream: Stream, reader: str) -> Fetch[dict[str, str]]:
    """For each shard id, the sequence number of the last record that the reader has handled."""
    start, end = system.checkpoint_rows(stream.table_name, stream.label, reader)
    rows = yield from _rows(start, end)
    return {key[len(start) :].decode(): system.decode(value, str) for key, value in rows}


def of_stream(stream: Stream) -> Fetch[list[bytes]]:
    """The keys of the rows with the checkpoints of all readers of a stream."""
    rows = yield from _rows(*system.checkpoint_rows(stream.table_name, stream.label))
    return [key for key, _ in rows]


def ends(stream: Stream, shards: Iterable[Shard]) -> Fetch[dict[str, str]]:
    """For each id of a shard that has records, the sequence number of its last record."""
    numbers: dict[str, str] = {}
    for shard in shards:
        last = yield from records.latest(stream.log, shard.first_key, shard.end_key)
        if last is not None:
            numbers[shard.id] = last.sequence_number
    return numbers


def kept(stream: Stream, reader: str, handled: dict[str, str | None]) -> Checkpoints:
    """The change that stores a reader's checkpoints.

    `handled` has the sequence number of the last handled record of each shard, by shard id. If it
    is None, the checkpoint is deleted.
    """
    return Checkpoints(
        {
            system.checkpoint_row(stream.table_name, stream.label, reader, shard): number
            for shard, number in handled.items()
        }
    )


def _rows(start: bytes, end: bytes) -> Fetch[list[tuple[bytes, bytes]]]:
    rows: list[tuple[bytes, bytes]] = []
    while True:
        page: kv.Page = yield kv.Range(kv.SYSTEM_SPACE, start, end, rows_max=records.TRIM_ROWS)
        rows += page.rows
        if page.exhausted:
            return rows
        start = page.rows[-1][0] + b"\x00"
