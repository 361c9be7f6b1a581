"""The rows of one HASH value, or of a whole index, as of one moment.

A view is loaded from the index's rows and kept in memory. A later search reads the records after
the view's position in the index's log, and rereads the rows that have changed. The result is a view
of the search's own snapshot, which shares unchanged blocks with the earlier view. A view is used
only if the record at its position is in the snapshot, so no search sees rows that are newer than
its snapshot.

Records older than a day are trimmed, except the last record of a slot. So a view that was made more
than half a day ago is not used.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import logs
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.engine.keyspace.rows import Row
from hashrange.engine.vectors import entries
from hashrange.engine.vectors.blocks import Block, StoredVector, blocks_of, rows_max
from hashrange.model.tables import VectorIndex

KEPT_SECONDS = 24 * 60 * 60
"""How long the records of a vector index's log are kept, in seconds."""
_IDLE_SECONDS_MAX = KEPT_SECONDS / 2
_TRIMMED_MAX = 500
"""The largest number of log records that one step of trimming examines."""
_CHANGES_MAX = 10_000
"""If a slot of the log has at least this many new records, the view is not updated but loaded
again."""


class Part(NamedTuple):
    """A block, and the numbers of its rows that are no longer in the view."""

    block: Block
    dead: frozenset[int] = frozenset()


class View(Struct, frozen=True):
    """The rows of a group, in `parts`, as of one moment.

    `positions` has the key of the last log record of each slot; an empty key if there was none.
    `seen_at` is the time at which the view was made, in epoch seconds.
    """

    positions: tuple[bytes, ...]
    parts: tuple[Part, ...]
    seen_at: float


def current(index: VectorIndex, group: bytes, moment: Moment) -> Fetch[View | None]:
    """The view of a group as of the snapshot, made from a kept view.

    None if no kept view is usable.
    """
    place = index.space, group
    for view in moment.views.kept(place):
        if moment.now - view.seen_at > _IDLE_SECONDS_MAX:
            continue
        changed = yield from _changes(index, group, view)
        if changed is None:
            continue
        positions, keys = changed
        updated = View(positions, view.parts, moment.now)
        if keys:
            rows = yield from _rows(index, sorted(keys))
            updated = View(positions, _with(index, view.parts, rows), moment.now)
            moment.views.keep(place, updated)
        return updated
    return None


def heads(index: VectorIndex, group: bytes) -> Fetch[tuple[bytes, ...]]:
    """For each slot of a group, the key of the last log record; empty if there is none."""
    keys = []
    for slot in entries.slots(index, group):
        start, end = logs.index_prefix(slot), logs.index_prefix(slot + 1)
        page: kv.Page = yield kv.Range(index.log, start, end, reverse=True, rows_max=1)
        keys.append(page.rows[0][0] if page.rows else b"")
    return tuple(keys)


def _changes(
    index: VectorIndex, group: bytes, view: View
) -> Fetch[tuple[tuple[bytes, ...], set[bytes]] | None]:
    """The position in each slot of the index's log, and the keys of rows changed since the view.

    None if the view is newer than the snapshot, or if there are too many changes.
    """
    keys: set[bytes] = set()
    positions = []
    for slot, position in zip(entries.slots(index, group), view.positions, strict=True):
        start, end = position or logs.index_prefix(slot), logs.index_prefix(slot + 1)
        page: kv.Page = yield kv.Range(index.log, start, end, rows_max=_CHANGES_MAX)
        rows = page.rows
        if not page.exhausted or (position and (not rows or rows[0][0] != position)):
            return None
        positions.append(rows[-1][0] if rows else b"")
        changed = rows[1:] if position else rows
        keys.update(key for _, value in changed for key in (entries.changed_key(value),))
    return tuple(positions), {key for key in keys if key.startswith(group)}


def _rows(index: VectorIndex, keys: Sequence[bytes]) -> Fetch[dict[bytes, StoredVector | None]]:
    """The rows with these keys, as of the snapshot; None if there is no such row."""
    vectors: dict[bytes, StoredVector | None] = {}
    for at in range(0, len(keys), fetch.CHUNK_ROWS):
        some = keys[at : at + fetch.CHUNK_ROWS]
        values = yield kv.Get(tuple([(index.space, key) for key in some]))
        for key, value in zip(some, values, strict=True):
            vectors[key] = None if value is None else stored(index, key, value)
    return vectors


def outdated(index: VectorIndex, now: float) -> Fetch[list[bytes]]:
    """The keys of some old records of the log. The last record of a slot is never among them.

    Each call begins in another slot, so that every slot is reached.
    """
    milliseconds = int(now * 1000)
    oldest = milliseconds - KEPT_SECONDS * 1000
    start = logs.index_prefix(logs.some_slot(milliseconds))
    keys: list[bytes] = []
    for first, end in ((start, None), (b"", start)):
        page: kv.Page = yield kv.Range(index.log, first, end, rows_max=_TRIMMED_MAX)
        for (key, value), (following, _) in pairwise(page.rows):
            if logs.is_same_slot(key, following) and entries.time_of(value) < oldest:
                keys.append(key)
        if keys:
            break
    return keys


def stored(index: VectorIndex, key: bytes, value: bytes) -> StoredVector:
    row = Row(value)
    content = entries.content_of(index, row)
    filters = tuple(None if each is None else next(iter(each.items())) for each in content.filters)
    return StoredVector(key, row.raw, content.packed, filters)


def page(index: VectorIndex, bounds: Bounds) -> Fetch[tuple[list[StoredVector], Bounds | None]]:
    """The next rows of a group, and the remaining bounds; None at the end."""
    rows, left = yield from fetch.stored_rows(index, bounds, False, None, None)
    return [stored(index, key, value) for key, value in rows], left


def bounds_of(group: bytes) -> Bounds:
    end = (int.from_bytes(group, "big") + 1).to_bytes(len(group) + 1, "big") if group else None
    if end is not None:
        end = None if end[0] else end[1:]
    return Bounds(group, end)


def _with(
    index: VectorIndex, parts: Iterable[Part], rows: Mapping[bytes, StoredVector | None]
) -> tuple[Part, ...]:
    """The parts of a view after each of `rows` has replaced the row with its key.

    None removes the row.
    """
    most = rows_max(index)
    kept: list[Part] = []
    loose = [row for row in rows.values() if row is not None]
    for block, dead in parts:
        gone = {block.numbers[key] for key in rows.keys() & block.numbers.keys()} - dead
        left = len(block) - len(dead) - len(gone)
        if not gone and (left > most // 2 or left == len(block) > most // 8):
            kept.append(Part(block, dead))
        elif left > most // 2:
            kept.append(Part(block, dead | gone))
        else:
            left_over = set(range(len(block))) - dead - gone
            loose += [block.row(at) for at in sorted(left_over)]
    return (*kept, *map(Part, blocks_of(index, loose)))
