"""Writes the items of a file to a table.

An item replaces the existing item with its key, so the same file may be imported again.
`FILE.progress` records the number of stored records. The next import continues after these records,
unless the beginning of the file has changed, or the table has lost one of these records.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hashrange.declared import tables
from hashrange.formats import s3_export
from hashrange.formats.csv_columns import Hints
from hashrange.formats.files import Input
from hashrange.formats.formats import Format
from hashrange.formats.items import Record
from hashrange.tools.moving.pace import Pace
from hashrange.tools.moving.presence import GROUP_ITEMS, Presence
from hashrange.tools.moving.progress import Bookmark, Progress
from hashrange.tools.moving.sink import Sink, grouped

if TYPE_CHECKING:
    from hashrange.tools.target import Target


class _State(msgspec.Struct):
    """The first `items` records, whose hash is `digest`, are stored in the table with the id
    `table`."""

    table: str
    items: int = 0
    digest: str = ""


class _Changed(Exception):
    """The beginning of the file, whose records were stored, has changed."""


class Imported(NamedTuple):
    items: int
    resumed: int
    speed: str


class _Source(NamedTuple):
    path: Path
    data: s3_export.DataFile | None


def import_(
    target: "Target",
    table: tables.TableInfo,
    path: Path,
    format: Format | None,
    hints: Hints,
    threads: int,
    rate: float,
    name: str,
) -> Imported:
    """Write all items of a file to a table. Without a format, `path` is a folder with files.

    `name` is the name of the file in messages. Raises DataError; the records before the faulty one
    have then been stored. When the faulty record has been repaired, the next call continues with
    it.
    """
    if format is None:
        sources = [_Source(data.path, data) for data in s3_export.data_files(path)]
    else:
        sources = [_Source(path, None)]
        Input(path).close()
    bookmark = Bookmark(
        path.with_name(f"{path.name}.progress"),
        {"import": str(path.resolve()), "to": target.name, "table": table.name},
    )
    state = msgspec.convert(bookmark.load() or {"table": table.id}, _State)
    writing = target.connection(threads)
    pace = Pace(rate)
    reading = _Reading(sources, format, hints, name)
    sink, presence = Sink(writing, table, str(path), pace), Presence(writing, table, pace)
    try:
        with Progress(reading.share, state.items, doing=reading.doing) as progress:
            reading.say = progress.say
            try:
                if state.table != table.id:
                    raise _Changed
                resumed = state.items
                _run(_Import(reading, sink, presence, state), bookmark, progress)
            except _Changed:
                progress.say(
                    f"{bookmark.path}: {name} or {table.name} has changed since the interrupted "
                    "import; starting over"
                )
                progress.begin_again()
                state, resumed = _State(table.id), 0
                _run(_Import(reading, sink, presence, state), bookmark, progress)
    finally:
        writing.close()
    bookmark.remove()
    return Imported(state.items, resumed, progress.speed())


def _run(running: "_Import", bookmark: Bookmark, progress: Progress) -> None:
    try:
        for count in running.groups():
            progress.advance(count)
            if bookmark.due():
                _save(bookmark, running.state)
    except _Changed:
        raise
    except BaseException:
        _save(bookmark, running.state)
        raise


class _Import:
    """Checks the records that are already stored according to `state`, and stores the others."""

    def __init__(self, reading: "_Reading", sink: Sink, presence: Presence, state: _State) -> None:
        self.state = state
        self._reading = reading
        self._sink = sink
        self._presence = presence
        self._digest = hashlib.blake2b(digest_size=16)

    def groups(self) -> Iterator[int]:
        """Yields the number of stored records of each group. Raises _Changed."""
        left = self.state.items
        for source, records in self._reading.records():
            self._sink.place = self._reading.name if source.data is None else str(source.path)
            for group in grouped(islice(records, left), GROUP_ITEMS):
                left -= len(group)
                self._verify(group, left)
            for group in self._sink.groups(records) if not left else ():
                self._note(group)
                self.state.items += len(group)
                self.state.digest = self._digest.hexdigest()
                yield len(group)
        if left:
            raise _Changed

    def _verify(self, group: list[Record], left: int) -> None:
        self._reading.verifying = bool(left)
        self._note(group)
        if not left and self._digest.hexdigest() != self.state.digest:
            raise _Changed
        if not self._presence.has_all(group):
            raise _Changed

    def _note(self, group: list[Record]) -> None:
        self._digest.update(b"\n".join([record.item for record in group]) + b"\n")


class _Reading:
    """The files to read, and the progress in them. `name` is their name in messages."""

    def __init__(
        self, sources: list[_Source], format: Format | None, hints: Hints, name: str
    ) -> None:
        self.name = name
        self.verifying = False
        self.say = hints.say
        self._sources = sources
        self._format = format
        self._hints = hints
        self._sizes = [source.path.stat().st_size for source in sources]
        self._number = 0
        self._opened: Input | None = None

    def records(self) -> Iterator[tuple[_Source, Iterator[Record]]]:
        """Each file with its records."""
        hints = self._hints._replace(say=self.say)
        for number, source in enumerate(self._sources):
            self._number = number
            with Input(source.path, "" if source.data else self.name) as opened:
                self._opened = opened
                yield source, _records(opened, source, self._format, hints)
            self._opened = None

    def doing(self) -> str:
        """What the import is doing instead of storing records, for the progress line.

        Empty while records are stored.
        """
        if self._opened is not None and self._opened.doing:
            return self._opened.doing
        return "looking for records that are already stored" if self.verifying else ""

    def share(self, items: int) -> float:
        """The share of all bytes that has been read, from 0 to 1."""
        done = float(sum(self._sizes[: self._number]))
        opened = self._opened
        if opened is not None:
            done += opened.consumed() * opened.size
        return done / (sum(self._sizes) or 1)


def _records(
    opened: Input, source: _Source, format: Format | None, hints: Hints
) -> Iterator[Record]:
    if source.data is not None:
        return s3_export.read_file(source.data, opened)
    assert format is not None
    return format.read(opened, hints)


def _save(bookmark: Bookmark, state: _State) -> None:
    """Save the state if possible. Without a progress file, the next import starts from the
    beginning, which does no harm."""
    if state.items:
        with suppress(OSError):
            bookmark.save(msgspec.to_builtins(state))
