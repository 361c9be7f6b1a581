"""Reads the objects of an import or a bulk put: decompresses them and extracts the items.

Every step is bounded: an object is decompressed in small pieces, and the reading of an object ends
at an item that is larger than any item may be.
"""

import gzip
import io
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from hashrange.formats import csv_rows, dynamodb_json, ion
from hashrange.formats.files import Source
from hashrange.formats.items import DataError, Record, encode

_PACKED_BYTES = 1024
"""The number of bytes passed to zstd's decompressor at once, which may expand them to 32 MB."""
_WINDOW_BYTES_MAX = 1 << 27

Read = Iterator[Record | DataError]
"""The items of an object. A DataError among them takes the place of a value that is not an item. If
a DataError is raised instead, the rest of the object cannot be read."""


class Interrupted(Exception):
    """The job was stopped, and has to continue later."""


class _Interruptible(Source):
    """A source that raises Interrupted when the job is stopped. Skipping many blank lines can take
    long, and no item would end it."""

    def __init__(self, stream: IO[bytes], name: str, stopped: Callable[[], bool]) -> None:
        super().__init__(stream, name)
        self._stopped = stopped

    def read(self, size: int) -> bytes:
        if self._stopped():
            raise Interrupted
        return super().read(size)


class Way(NamedTuple):
    """How a job reads its objects. For CSV, `types` are the types of key attributes, by name. If
    `conditions` is true, items may have conditions."""

    format: str
    compression: str
    delimiter: str = ","
    header: list[str] | None = None
    types: dict[str, str] = {}  # noqa: RUF012
    conditions: bool = False


def way(request: dict[str, Any]) -> Way:
    csv = request.get("InputFormatOptions", {}).get("Csv", {})
    definitions = request["TableCreationParameters"]["AttributeDefinitions"]
    return Way(
        request["InputFormat"],
        request.get("InputCompressionType", "NONE"),
        csv.get("Delimiter", ","),
        csv.get("HeaderList"),
        {each["AttributeName"]: each["AttributeType"] for each in definitions},
    )


def items(stream: IO[bytes], name: str, way: Way, stopped: Callable[[], bool]) -> Read:
    """The items of one object. Raises Interrupted if the job is stopped."""
    source = _Interruptible(_UNPACK[way.compression](stream), name, stopped)
    match way.format:
        case "CSV":
            return _csv_items(source, way)
        case "ION":
            return ion.read_values(source, way.conditions)
    return dynamodb_json.read_values(source, way.conditions)


def _csv_items(source: Source, way: Way) -> Read:
    """The items of a CSV file. All attributes are strings, except for key attributes of the table
    and its indexes, which have their declared types."""
    names = way.header
    for line, row in csv_rows.rows(source, way.delimiter):
        if names is None:
            names = row
            if len(set(names)) < len(names):
                raise DataError(f"{source.name}:{line}: the header names an attribute twice")
        elif len(row) != len(names):
            fault = f"{len(row)} fields, but the header has {len(names)}"
            yield DataError(f"{source.name}:{line}: {fault}")
        elif row:
            pairs = zip(names, row, strict=True)
            item = {name: {way.types.get(name, "S"): text} for name, text in pairs}
            yield Record(encode(item), line)


def _unpack_zstd(stream: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(Zstd(stream), 1 << 16)


def _unpack_gzip(stream: IO[bytes]) -> Any:
    return gzip.GzipFile(fileobj=stream)


_UNPACK: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    "NONE": lambda stream: stream,
    "GZIP": _unpack_gzip,
    "ZSTD": _unpack_zstd,
}


def needed_library(way: Way) -> None:
    """Check that the libraries that a job needs are installed. Raises DataError."""
    if way.format == "ION":
        ion.library()
    if way.compression == "ZSTD":
        _zstandard()


def _zstandard() -> Any:
    try:
        import zstandard
    except ModuleNotFoundError:
        raise DataError("zstd needs zstandard: pip install 'hashrange[transfers]'") from None
    return zstandard


class Zstd(io.RawIOBase):
    """Decompresses zstd. Unlike the library's own reader, it detects a truncated object."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._library = _zstandard()
        self._stream = stream
        self._left = b""  # still compressed
        self._ready = memoryview(b"")
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._left or self._stream.read(_PACKED_BYTES)
            self._left = b""
            if not packed:
                if self._frame is not None:
                    raise OSError("the zstd object is cut short")
                return 0
            self._ready = memoryview(self._unpacked(packed))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _unpacked(self, packed: bytes) -> bytes:
        if self._frame is None:
            unpacker = self._library.ZstdDecompressor(max_window_size=_WINDOW_BYTES_MAX)
            self._frame = unpacker.decompressobj()
        try:
            unpacked: bytes = self._frame.decompress(packed)
        except self._library.ZstdError as error:
            raise OSError(f"the zstd object is damaged: {error}") from None
        if self._frame.eof:
            self._left, self._frame = self._frame.unused_data, None
        return unpacked
