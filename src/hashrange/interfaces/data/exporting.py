"""From a table to a file.

The items are first collected in `FILE.partial`, from which the file is made at the end: so an
export goes on where it was ended, whatever its format, and formats that need to know all items
first, such as CSV, need no memory for them. `FILE.progress` says how far it has come.
"""

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hashrange.interfaces.data import s3_export, tables
from hashrange.interfaces.data.connection import connection
from hashrange.interfaces.data.files import check_absent, write_whole
from hashrange.interfaces.data.formats import DYNAMODB_JSON, Format
from hashrange.interfaces.data.pace import Pace
from hashrange.interfaces.data.progress import Bookmark, Progress
from hashrange.interfaces.data.scan import Position, Scan
from hashrange.interfaces.data.spool import Spool

if TYPE_CHECKING:
    from hashrange.interfaces.target import Target


class _State(msgspec.Struct):
    positions: list[Position]
    bytes: int
    items: int
    began: float


class Exported(NamedTuple):
    """`began` and `ended` are epoch seconds: each item is as it was at some moment between."""

    items: int
    resumed: int
    began: float
    ended: float
    said: str


def export(
    target: "Target",
    table_name: str,
    output: Path,
    format: Format | None,
    segments: int,
    rate: float,
) -> Exported:
    """Write all items of a table to a file, or to a folder if there is no format.

    Raises DataError, and OSError for a full disk. Then, or if it is interrupted, the next call with
    the same arguments goes on.
    """
    check_absent(output)
    table = tables.describe(target.client, target.name, table_name)
    bookmark = Bookmark(
        output.with_name(f"{output.name}.progress"),
        {"export": table_name, "from": target.name, "id": table.id},
    )
    saved = bookmark.load()
    if saved is None:
        state = _State([Position() for _ in range(segments)], 0, 0, time.time())
    else:
        state = msgspec.convert(saved, _State)
    resumed, began = state.items, state.began
    reading = connection(target, segments)
    spool = Spool(output.with_name(f"{output.name}.partial"), state.bytes)
    scan = Scan(reading, table_name, list(state.positions), Pace(rate))

    def save() -> None:
        spool.sync()
        bookmark.save(msgspec.to_builtins(state))

    try:
        save()
        with Progress(lambda items: items / max(table.items, 1), resumed) as progress:
            for page in scan.pages():
                # The positions are behind the pages before this one, which are in the spool.
                state = _State(list(scan.positions), spool.size, progress.items, began)
                if bookmark.due():
                    save()
                spool.append(page)
                progress.advance(len(page))
        state = _State(list(scan.positions), spool.size, progress.items, began)
        save()
    except BaseException:
        with suppress(OSError):  # the disk may be full; then what was saved before is valid
            save()
        raise
    finally:
        spool.close()
        reading.close()
    found = tables.description(target.client, target.name, table_name)
    if format is None:
        arn = table.arn
        since = datetime.fromtimestamp(began, UTC)
        about = s3_export.About(arn, table.id, table.size_bytes, since)
        s3_export.write(spool, output, about)
    elif format is DYNAMODB_JSON and not output.name.endswith(".gz"):
        os.replace(spool.path, output)
    else:
        write_whole(output, format.write(spool))
    tables.write(tables.beside(output), found)
    spool.path.unlink(missing_ok=True)
    bookmark.remove()
    return Exported(state.items, resumed, state.began, time.time(), progress.said())
