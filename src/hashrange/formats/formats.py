"""The formats by name, and how the format of a file is recognized.

A writer takes an iterable of items, each the bytes of its DynamoDB JSON, and returns chunks of
bytes. Some writers iterate twice, so the iterable must allow that, as a list does.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from hashrange.formats import csv_, dynamodb_json, ion, parquet, plain_json, yaml_
from hashrange.formats.csv_columns import Hints
from hashrange.formats.files import Input, head
from hashrange.formats.items import DataError, Record


class Format(NamedTuple):
    """A file format. Files with these `suffixes` have it, unless a user names another format.

    A `text` file may be compressed with gzip. `read` takes hints on the types of attributes, for
    files that lack them. `library` imports the package that the format needs, and raises DataError
    if it is not installed.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Input, Hints], Iterator[Record]]
    write: Callable[[Iterable[bytes]], Iterator[bytes]]
    media_type: str
    text: bool = True
    library: Callable[[], object] | None = None


def _untyped(
    read: Callable[[Input], Iterator[Record]],
) -> Callable[[Input, Hints], Iterator[Record]]:
    return lambda source, hints: read(source)


DYNAMODB_JSON = Format(
    "dynamodb-json",
    (".jsonl", ".ndjson"),
    _untyped(dynamodb_json.read),
    dynamodb_json.write,
    "application/x-ndjson",
)
FORMATS = {
    each.name: each
    for each in (
        DYNAMODB_JSON,
        Format(
            "json",
            (".json",),
            _untyped(plain_json.read_array),
            plain_json.write_array,
            "application/json",
        ),
        Format(
            "json-lines",
            (),
            _untyped(plain_json.read_lines),
            plain_json.write_lines,
            "application/x-ndjson",
        ),
        Format("csv", (".csv",), csv_.read, csv_.write, "text/csv; charset=utf-8"),
        Format(
            "ion",
            (".ion",),
            _untyped(ion.read),
            ion.write,
            "application/ion",
            library=ion.library,
        ),
        Format(
            "yaml",
            (".yaml", ".yml"),
            _untyped(yaml_.read),
            yaml_.write,
            "application/yaml",
            library=yaml_.library,
        ),
        Format(
            "parquet",
            (".parquet",),
            _untyped(parquet.read),
            parquet.write,
            "application/vnd.apache.parquet",
            text=False,
            library=parquet.library,
        ),
    )
}
S3_EXPORT = "s3-export"
"""The name of the format of a folder. All other formats are of files."""
NAMES = (*FORMATS, S3_EXPORT)

_LOOK_BYTES = 4096


def for_output(path: Path, name: str | None) -> Format | None:
    """The format of a file to write; None for a folder. Raises DataError."""
    if name == S3_EXPORT:
        return None
    format_ = FORMATS[name] if name else _by_suffix(path)
    if format_ is None:
        raise DataError(f"{path}: the name does not show the format; set it with --format")
    if path.name.endswith(".gz") and not format_.text:
        raise DataError(
            f"{path}: {format_.name} cannot be written with gzip; choose a name without .gz"
        )
    return _installed(format_)


def for_input(path: Path, name: str | None, shown: str = "") -> Format | None:
    """The format of a file to read; None for a folder. `shown` is the name of the file in messages.

    Raises DataError.
    """
    if name == S3_EXPORT or (name is None and path.is_dir()):
        return None
    if name:
        return _installed(FORMATS[name])
    format_ = _by_suffix(path)
    if format_ is None or format_.name in ("dynamodb-json", "json"):
        format_ = _by_content(path) or format_
    if format_ is None:
        raise DataError(f"{shown or path}: the format is not known; set it with --format")
    return _installed(format_)


def _installed(format_: Format) -> Format:
    """Return the format. Raises DataError if its library is not installed, before a table is read
    or created."""
    if format_.library is not None:
        format_.library()
    return format_


def _by_suffix(path: Path) -> Format | None:
    name = path.name.removesuffix(".gz")
    for format_ in FORMATS.values():
        if name.endswith(format_.suffixes or ("\0",)):
            return format_
    return None


def _by_content(path: Path) -> Format | None:
    """The kind of JSON in a file, from its first bytes, because programs use one suffix for all
    kinds."""
    start = head(path, _LOOK_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        return FORMATS["json"]
    if not start.startswith(b"{"):
        return None
    member = start[1:].lstrip()
    return DYNAMODB_JSON if member.startswith(b'"Item"') else FORMATS["json-lines"]
