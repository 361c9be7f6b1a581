"""Downloads a table, an index or the result of a query as a file.

All items are read before the download begins, so it is complete, or a page explains the failure.
They are kept in a temporary file, and memory does not grow with their number.
"""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from starlette.responses import Response, StreamingResponse

from hashrange.formats.formats import FORMATS, Format
from hashrange.formats.items import DataError
from hashrange.tools.console import builder
from hashrange.tools.console.pages.items import named
from hashrange.tools.console.values import dumps
from hashrange.tools.console.visits import Mistake, Page, Route, Visit
from hashrange.tools.moving.spool import Spool

TITLES = {
    "dynamodb-json": "DynamoDB JSON, one item on each line",
    "json": "JSON",
    "json-lines": "JSON, one item on each line",
    "csv": "CSV",
    "yaml": "YAML",
    "parquet": "Parquet",
}


def show(visit: Visit) -> Response:
    """Ask for the format. The address has the fields of the query builder, if there was a query."""
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    return visit.page(
        "export.html",
        shape=shape,
        source=source,
        request=builder.request_of(visit, shape, source, 1),
        kept=[pair for pair in visit.given.multi_items() if pair[0] not in ("format", "run")],
        formats=TITLES,
    )


def download(visit: Visit) -> Response:
    format = FORMATS.get(visit.given.get("format", ""))
    if format is None:
        raise Mistake("Choose a format.")
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    request = builder.request_of(visit, shape, source, 1)
    del request.members["Limit"]
    suffix = format.suffixes[0] if format.suffixes else ".jsonl"
    name = "-".join(filter(None, (shape.name, source.name))) + suffix
    chunks = _file(visit, request, format)
    first = next(chunks)  # a failure is shown on a page
    return StreamingResponse(
        _joined(first, chunks),
        media_type=format.media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _joined(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from chunks


def _file(visit: Visit, request: builder.Request, format: Format) -> Iterator[bytes]:
    """The chunks of the file; the first comes when all items are read."""
    with tempfile.TemporaryDirectory(prefix="hashrange-") as folder:
        with closing(Spool(Path(folder) / "items")) as spool:
            for page in _pages(visit, request):
                spool.append(page)
        try:
            chunks = format.write(spool)
            first = next(chunks, b"")
        except DataError as mistake:
            raise Mistake(str(mistake)) from None
        yield first
        yield from chunks


def _pages(visit: Visit, request: builder.Request) -> Iterator[list[bytes]]:
    """The items of all pages of a Query or Scan, each in DynamoDB JSON."""
    asked = dict(request.members)
    while True:
        found = visit.console.call(request.method, **asked)
        yield [dumps(item).encode() for item in found["Items"]]
        if "LastEvaluatedKey" not in found:
            return
        asked["ExclusiveStartKey"] = found["LastEvaluatedKey"]


PATH = "/table/{table}/export"
PAGE = Page("Export", PATH, (Route(PATH, show), Route(PATH + "/file", download)))
