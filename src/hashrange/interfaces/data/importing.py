"""From a file to a table.

An item replaces the one with its key, so the same file may be imported again. `FILE.progress` says
which records are stored, so that an import that was interrupted goes on from there.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hashrange.interfaces.data import s3_export, tables
from hashrange.interfaces.data.connection import connection
from hashrange.interfaces.data.files import Input
from hashrange.interfaces.data.formats import Format
from hashrange.interfaces.data.items import Record
from hashrange.interfaces.data.pace import Pace
from hashrange.interfaces.data.progress import Bookmark, Progress
from hashrange.interfaces.data.sink import Sink

if TYPE_CHECKING:
    from hashrange.interfaces.target import Target


class _State(msgspec.Struct):
    """`records` of file number `file` are stored, and all of the files before it."""

    file: int = 0
    records: int = 0
    items: int = 0


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
    types: Mapping[str, str],
    threads: int,
    rate: float,
) -> Imported:
    """Write all items of a file to a table, or of a folder if there is no format.

    Raises DataError. The records before the fault are stored then. If the file is repaired from
    there on, the next call goes on.
    """
    if format is None:
        sources = [_Source(data.path, data) for data in s3_export.data_files(path)]
    else:
        sources = [_Source(path, None)]
        Input(path).close()
    bookmark = Bookmark(
        path.with_name(f"{path.name}.progress"),
        {"import": str(path.resolve()), "to": target.name, "table": table.name, "id": table.id},
    )
    state = msgspec.convert(bookmark.load() or {}, _State)
    resumed = state.items
    writing = connection(target, threads)
    sink = Sink(writing, table, str(path), Pace(rate))
    reading = _Reading(sources, format, types)
    try:
        with Progress(reading.share, resumed) as progress:
            for count in _store(reading, sink, state):
                progress.advance(count)
                if bookmark.due():
                    _save(bookmark, state)
    except BaseException:
        _save(bookmark, state)
        raise
    finally:
        writing.close()
    bookmark.remove()
    return Imported(state.items, resumed, progress.speed())


def _store(reading: "_Reading", sink: Sink, state: _State) -> Iterator[int]:
    """Store the rest of the items. Yields the number of items of each group that was stored."""
    for source, records in reading.records(state.file):
        sink.place = str(source.path)
        for group in sink.groups(islice(records, state.records, None)):
            state.records += len(group)
            state.items += len(group)
            yield len(group)
        state.file, state.records = state.file + 1, 0


class _Reading:
    """The files to read, and how much of them has been read."""

    def __init__(
        self, sources: list[_Source], format: Format | None, types: Mapping[str, str]
    ) -> None:
        self._sources = sources
        self._format = format
        self._types = types
        self._sizes = [source.path.stat().st_size for source in sources]
        self._number = 0
        self._opened: Input | None = None

    def records(self, first: int) -> Iterator[tuple[_Source, Iterator[Record]]]:
        """Each file from number `first` on, with its records."""
        for number, source in enumerate(self._sources[first:], first):
            self._number = number
            with Input(source.path) as opened:
                self._opened = opened
                yield source, _records(opened, source, self._format, self._types)
            self._opened = None

    def share(self, items: int) -> float:
        """How much of all bytes has been read, from 0 to 1."""
        done = float(sum(self._sizes[: self._number]))
        if self._opened is not None:
            done += self._opened.consumed() * self._opened.size
        return done / (sum(self._sizes) or 1)


def _records(
    opened: Input, source: _Source, format: Format | None, types: Mapping[str, str]
) -> Iterator[Record]:
    if source.data is not None:
        return s3_export.read_file(source.data, opened)
    assert format is not None
    return format.read(opened, types)


def _save(bookmark: Bookmark, state: _State) -> None:
    """Without a file of progress, an import begins again, which does no harm."""
    if state.items:
        with suppress(OSError):
            bookmark.save(msgspec.to_builtins(state))
