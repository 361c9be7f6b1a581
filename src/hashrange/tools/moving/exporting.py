"""Writes the items of a table to a file.

The items are first collected in `FILE.partial`, from which the file is made at the end. So an
export in any format can be interrupted and continued. A format that needs all items before it can
begin, such as CSV, does not keep them in memory. `FILE.progress` records the progress. When the
file is complete, it gets its name, and both helper files are removed.
"""

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hashrange.declared import tables
from hashrange.formats import s3_export
from hashrange.formats.files import check_absent, unfinished, write_whole
from hashrange.formats.formats import DYNAMODB_JSON, Format
from hashrange.tools.moving.pace import Pace
from hashrange.tools.moving.progress import Bookmark, Progress
from hashrange.tools.moving.scan import Position, Scan
from hashrange.tools.moving.spool import Spool

if TYPE_CHECKING:
    from hashrange.tools.target import Target


class _State(msgspec.Struct):
    positions: list[Position]
    bytes: int
    items: int
    began: float


class Exported(NamedTuple):
    """The result of an export. `began` and `ended` are epoch seconds: each item is as it was at
    some moment between them."""

    items: int
    resumed: int
    began: float
    ended: float
    speed: str


def export(
    target: "Target",
    table_name: str,
    output: Path,
    format: Format | None,
    segments: int,
    rate: float,
) -> Exported:
    """Write all items of a table to a file or, without a format, to a folder.

    Raises DataError, and OSError for a full disk. After an error or an interruption, the next call
    with the same arguments continues.
    """
    beside = output.with_name(f"{output.name}.progress")
    if not beside.exists():
        check_absent(output)
    table = tables.describe(target.client, target.name, table_name)
    bookmark = Bookmark(beside, {"export": table_name, "from": target.name, "id": table.id})
    if (state := _finished(bookmark, output)) is not None:
        _clean(bookmark, _partial(output))
        ended = output.stat().st_mtime
        return Exported(state.items, state.items, state.began, ended, "in all")
    check_absent(output)
    collection = _Collection(bookmark, output, segments)
    resumed, began = collection.state.items, collection.state.began
    reading = target.connection(segments)
    scan = Scan(reading, table_name, list(collection.state.positions), Pace(rate))
    try:
        with Progress(lambda items: items / max(table.items, 1), resumed) as progress:
            collection.collect(scan, progress)
    finally:
        collection.spool.close()
        reading.close()
    description = tables.description(target.client, target.name, table_name)
    tables.write(tables.beside(output), description)
    _write(collection.spool, output, format, table, began)
    _clean(bookmark, collection.spool.path)
    return Exported(collection.state.items, resumed, began, time.time(), progress.speed())


def _partial(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial")


def _finished(bookmark: Bookmark, output: Path) -> "_State | None":
    """The state of an earlier export that wrote the whole file, but was killed before it could
    remove its helper files. None if there is no such export."""
    saved = bookmark.load()
    if saved is None or not output.exists() or unfinished(output).exists():
        return None
    state = msgspec.convert(saved, _State)
    return state if all(position.done for position in state.positions) else None


def _clean(bookmark: Bookmark, partial: Path) -> None:
    partial.unlink(missing_ok=True)
    bookmark.remove()


class _Collection:
    """Collects items in the spool, the file `FILE.partial`, and records the progress of the scan in
    the bookmark."""

    def __init__(self, bookmark: Bookmark, output: Path, segments: int) -> None:
        saved = bookmark.load()
        partial = _partial(output)
        if saved is None or not partial.exists():
            self.state = _State([Position() for _ in range(segments)], 0, 0, time.time())
        else:
            self.state = msgspec.convert(saved, _State)
        self.spool = Spool(partial, self.state.bytes)
        self._bookmark = bookmark

    def collect(self, scan: Scan, progress: Progress) -> None:
        try:
            self._save()
            for page in scan.pages():
                # The positions are those after the previous pages, which are in the spool.
                self._advance(scan, progress)
                if self._bookmark.due():
                    self._save()
                self.spool.append(page)
                progress.advance(len(page))
            self._advance(scan, progress)
            self._save()
        except BaseException:
            with suppress(OSError):  # the disk may be full; then the last saved state is valid
                self._save()
            raise

    def _advance(self, scan: Scan, progress: Progress) -> None:
        positions = list(scan.positions)
        self.state = _State(positions, self.spool.size, progress.items, self.state.began)

    def _save(self) -> None:
        self.spool.sync()
        self._bookmark.save(msgspec.to_builtins(self.state))


def _write(
    spool: Spool, output: Path, format: Format | None, table: tables.TableInfo, began: float
) -> None:
    """Make the file, or the folder, from the collected items."""
    if format is None:
        since = datetime.fromtimestamp(began, UTC)
        told = (table.arn, table.id, table.size_bytes)
        about = s3_export.About(*told, since, since, s3_export.new_id())
        s3_export.write(spool, output, about)
    elif format is DYNAMODB_JSON and not output.name.endswith(".gz"):
        os.replace(spool.path, output)
    else:
        write_whole(output, format.write(spool))
