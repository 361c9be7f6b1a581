"""From a file to a table.

An item replaces the one with its key, so the same file may be imported again. `FILE.progress` says
which records are stored, so that an import goes on where it was ended.
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
    said: str


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

    Raises DataError. What came before the fault is stored then, and if the file is repaired from
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
    total = sum(source.path.stat().st_size for source in sources) or 1
    done = 0
    reading: list[Input] = []
    writing = connection(target, threads)
    sink = Sink(writing, table, str(path), Pace(rate))

    def share(items: int) -> float:
        now = sum(each.consumed() * each.size for each in reading)
        return (done + now) / total

    try:
        with Progress(share, resumed) as progress:
            for number, source in enumerate(sources):
                if number >= state.file:
                    sink.place = str(source.path)
                    with Input(source.path) as opened:
                        reading[:] = [opened]
                        records = _records(opened, source, format, types)
                        for group in sink.groups(islice(records, state.records, None)):
                            state.records += len(group)
                            state.items += len(group)
                            progress.advance(len(group))
                            if bookmark.due():
                                _save(bookmark, state)
                    reading.clear()
                    state.file, state.records = number + 1, 0
                done += source.path.stat().st_size
    except BaseException:
        _save(bookmark, state)
        raise
    finally:
        writing.close()
    bookmark.remove()
    return Imported(state.items, resumed, progress.said())


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
