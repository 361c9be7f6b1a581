"""Downloads a table, an index or the result of a query as a file.

All items are read before the download begins. So the download is complete, or a page explains why
reading failed. A temporary file holds the items, so their number does not affect memory.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from starlette.responses import Response, StreamingResponse

from hashrange.formats.formats import FORMATS, Format
from hashrange.formats.items import DataError
from hashrange.tools.console import builder
from hashrange.tools.console.pages.items import named
from hashrange.tools.console.search_round import reading
from hashrange.tools.console.searching import Portion
from hashrange.tools.console.values import dumps
from hashrange.tools.console.visits import Mistake, Page, Route, Visit
from hashrange.tools.moving.spool import Spool

READ_AT_ONCE = 10_000
READ_MAX = 10**15

SECONDS_MAX = 60
"""The time limit for reading the items of an exported file."""

TITLES = {
    "dynamodb-json": "DynamoDB JSON, one item on each line",
    "json": "JSON",
    "json-lines": "JSON, one item on each line",
    "csv": "CSV",
    "yaml": "YAML",
    "parquet": "Parquet",
}


def show(visit: Visit) -> Response:
    """Show the form for the choice of a format. To export a query, the URL has the fields of the
    query builder."""
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    return visit.page(
        "export.html",
        shape=shape,
        source=source,
        request=builder.request_of(visit, shape, source, 1),
        kept=[pair for pair in visit.parameters.multi_items() if pair[0] not in ("format", "run")],
        formats=TITLES,
    )


def download(visit: Visit) -> Response:
    format = format_of(visit)
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    request = builder.request_of(visit, shape, source, 1)
    del request.members["Limit"]
    name = "-".join(filter(None, (shape.name, source.name))) + suffix_of(format)
    most = visit.number("count", 0, 0, 10**15) if "count" in visit.parameters else None
    pages = items_read(reading(visit.console, request), visit.parameters.get("after") or None, most)
    return answer(pages, format, name, inline=most is not None and format.name == "json")


def format_of(visit: Visit) -> Format:
    """The format that the URL names. Raises `Mistake`."""
    format = FORMATS.get(visit.parameters.get("format", ""))
    if format is None:
        raise Mistake("Choose a format.")
    return format


def suffix_of(format: Format) -> str:
    return format.suffixes[0] if format.suffixes else ".jsonl"


def answer(pages: Iterator[list[bytes]], format: Format, name: str, inline: bool) -> Response:
    """A response with a file of `items`, which are in DynamoDB JSON. If `inline` is true, the
    browser shows the file, otherwise it saves the file."""
    chunks = _file(pages, format)
    first = next(chunks)  # a failure is shown on a page
    kind = "inline" if inline else "attachment"
    return StreamingResponse(
        _joined(first, chunks),
        media_type=format.media_type,
        headers={"Content-Disposition": f'{kind}; filename="{name}"'},
    )


def _joined(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from chunks


def _file(pages: Iterator[list[bytes]], format: Format) -> Iterator[bytes]:
    """The chunks of the file. All items are read before the first chunk is returned."""
    with tempfile.TemporaryDirectory(prefix="hashrange-") as folder:
        with closing(Spool(Path(folder) / "items")) as spool:
            for page in pages:
                spool.append(page)
        try:
            chunks = format.write(spool)
            first = next(chunks, b"")
        except DataError as mistake:
            raise Mistake(str(mistake)) from None
        yield first
        yield from chunks


def items_read(
    read: Callable[[int, str | None], Portion], after: str | None, most: int | None
) -> Iterator[list[bytes]]:
    """All items after the position `after`, each in DynamoDB JSON. At most `most` items are
    read."""
    left = READ_MAX if most is None else most
    start = time.monotonic()
    while left > 0:
        if time.monotonic() - start > SECONDS_MAX:
            raise Mistake(
                f"The items were not read within {SECONDS_MAX} seconds. "
                "hashrange export has no time limit."
            )
        portion = read(min(left, READ_AT_ONCE), after)
        yield [dumps(item).encode() for item in portion.items]
        after = portion.next
        if after is None:
            return
        left -= portion.read


PATH = "/table/{table}/export"
PAGE = Page("Export", PATH, (Route(PATH, show), Route(PATH + "/file", download)))
