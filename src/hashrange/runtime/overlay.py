"""The pending writes of a batch, laid over the reads of its transaction.

An asynchronous store gets all writes of a batch with the commit. Until then, later decisions of the
batch have to see the writes of earlier ones. So the overlay answers their reads: it reads from the
store and applies the pending writes to the answer. It keeps the store's answers, so that no read is
made twice.

An appended record has no number before the commit, so no decision of the batch sees it.
"""

from collections.abc import Generator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any

from hashrange import kv
from hashrange.paging import page_of

Asking = Generator[kv.Read, Any, Any]
"""Answers one read: yields the reads that the store has to answer, and returns the answer."""

_key_of = itemgetter(0)


class Overlay:
    """Answers reads from the store's answers and the pending writes. Pass each answer of the store
    to `learn`, and each pending write to `write`."""

    def __init__(self) -> None:
        self.writes: list[kv.Write] = []
        """The pending writes in their order, for the commit."""
        self._rows: dict[int, dict[bytes, bytes | None]] = {}  # None: deleted
        self._own_spaces: set[int] = set()  # created or dropped here: the store has no rows in them
        self._dropped: list[int] = []
        self._added: dict[bytes, int] = {}
        self._raised: dict[bytes, int] = {}
        self._known_rows: dict[kv.Key, bytes | None] = {}
        self._known_counters: dict[bytes, int] = {}
        self._known_pages: list[tuple[kv.Range, kv.Page]] = []

    def learn(self, read: kv.Read, answer: Any) -> None:
        """Keep the store's answer to a read."""
        match read:
            case kv.Get():
                self._known_rows.update(zip(read.keys, answer, strict=True))
            case kv.Counters():
                self._known_counters.update(zip(read.names, answer, strict=True))
            case kv.Head():
                value, number = answer
                self._known_rows[read.key] = value
                self._known_counters[read.name] = number
            case kv.Range():
                self._known_pages.append((read, answer))

    def read(self, read: kv.Read) -> Asking:
        match read:
            case kv.Get():
                return self._get(read)
            case kv.Range():
                return self._range(read)
            case kv.Counters():
                return self._counters(read)
            case kv.Head():
                return self._head(read)
            case kv.Dropped():
                return self._dropped_spaces()

    def write(self, writes: Sequence[kv.Write]) -> None:
        self.writes.extend(writes)
        for write in writes:
            self._write(write)

    def _write(self, write: kv.Write) -> None:
        match write:
            case kv.Put():
                self._rows.setdefault(write.space, {})[write.key] = write.value
            case kv.Delete():
                self._rows.setdefault(write.space, {})[write.key] = None
            case kv.Add():
                self._added[write.name] = self._added.get(write.name, 0) + write.delta
            case kv.Max():
                self._raised[write.name] = max(self._raised.get(write.name, 0), write.value)
            case kv.CreateSpace():
                self._own_spaces.add(write.space)
            case kv.DropSpace():
                self._own_spaces.add(write.space)
                self._rows.pop(write.space, None)
                self._dropped.append(write.space)
            case kv.Append() | kv.Purge():
                pass  # only the store knows the number, or when a dropped space is empty

    # ---- answers ----

    def known(self, read: kv.Get) -> list[bytes | None] | None:
        """The answer to a read, or None if the store must be asked."""
        values: list[bytes | None] = []
        for key in read.keys:
            space, name = key
            own = self._rows.get(space)
            if own is not None and name in own:
                values.append(own[name])
            elif space in self._own_spaces:
                values.append(None)
            elif key in self._known_rows:
                values.append(self._known_rows[key])
            else:
                return None
        return values

    def _get(self, read: kv.Get) -> Asking:
        values = self.known(read)
        if values is None:
            asked = kv.Get(tuple([key for key in read.keys if self.known(kv.Get((key,))) is None]))
            self.learn(asked, (yield asked))
            values = self.known(read)
        return values

    def _head(self, read: kv.Head) -> Asking:
        [value] = yield from self._get(kv.Get((read.key,)))
        [number] = yield from self._counters(kv.Counters((read.name,)))
        return value, number

    def _counters(self, read: kv.Counters) -> Asking:
        unknown = tuple([name for name in read.names if name not in self._known_counters])
        if unknown:
            asked = kv.Counters(unknown)
            self.learn(asked, (yield asked))
        return [
            max(self._known_counters[name] + self._added.get(name, 0), self._raised.get(name, 0))
            if name in self._raised
            else self._known_counters[name] + self._added.get(name, 0)
            for name in read.names
        ]

    def _dropped_spaces(self) -> Asking:
        there: list[int] = yield kv.Dropped()
        return [*there, *self._dropped]

    def _range(self, read: kv.Range) -> Asking:
        """Read pages of the store until the range ends, or until the merged rows of the store and
        of the overlay reach a limit of the read."""
        own = self._own_rows(read)
        if read.space in self._own_spaces:
            return page_of([row for row in own if row[1] is not None], read)  # type: ignore[misc]
        if not own:
            return (yield from self._page(read))
        merged: list[tuple[bytes, bytes]] = []
        rest = read
        while True:
            page: kv.Page = yield from self._page(rest)
            covered = len(own) if page.exhausted else _covered(own, page, read.reverse)
            merged += _merged(page.rows, own[:covered], read.reverse)
            own = own[covered:]
            result = page_of(merged, read)
            if page.exhausted or not result.exhausted:
                return result
            rest = _after(page, rest)

    def _page(self, read: kv.Range) -> Asking:
        for known, page in self._known_pages:
            if known == read:
                return page
        page = yield read
        self.learn(read, page)
        return page

    def _own_rows(self, read: kv.Range) -> list[tuple[bytes, bytes | None]]:
        rows = self._rows.get(read.space, {})
        keys = [k for k in rows if k >= read.start and (read.end is None or k < read.end)]
        return [(key, rows[key]) for key in sorted(keys, reverse=read.reverse)]


def _covered(own: list[tuple[bytes, bytes | None]], page: kv.Page, reverse: bool) -> int:
    """The number of the overlay's `own` rows up to the last row of a page, in the order of the
    read."""
    last = page.rows[-1][0]
    return sum(key >= last if reverse else key <= last for key, _ in own)


def _merged(
    there: list[tuple[bytes, bytes]], own: list[tuple[bytes, bytes | None]], reverse: bool
) -> list[tuple[bytes, bytes]]:
    written = {key for key, _ in own}
    unchanged = [row for row in there if row[0] not in written]
    put = [(key, value) for key, value in own if value is not None]
    return list(merge(unchanged, put, key=_key_of, reverse=reverse))


def _after(page: kv.Page, read: kv.Range) -> kv.Range:
    """The part of a range that follows a page."""
    last = page.rows[-1][0]
    start, end = (read.start, last) if read.reverse else (last + b"\x00", read.end)
    return kv.Range(read.space, start, end, read.reverse, read.rows_max, read.weight_max)
