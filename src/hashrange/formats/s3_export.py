"""The folder of an export of DynamoDB to S3.

    AWSDynamoDB/01234567890123-a1b2c3d4/
        _started
        manifest-summary.json, manifest-summary.md5
        manifest-files.json, manifest-files.md5
        data/*.json.gz

The data files have DynamoDB JSON lines or, as `.ion.gz`, Ion. A line of `manifest-files.json` has a
file's name, the number of its items and its checksum. Source: developer guide, "DynamoDB table
export output format"; the names of the checksum files are those of real exports.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
from base64 import b32encode, b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from secrets import choice, token_hex
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from hashrange.formats import dynamodb_json, ion
from hashrange.formats.files import Input, Source, unfinished
from hashrange.formats.items import DataError, Record, one_line

T = TypeVar("T")

FOLDER = "AWSDynamoDB"
SUMMARY = "manifest-summary.json"
FILES = "manifest-files.json"
FILE_ITEMS = 500_000
_MANIFEST_BYTES_MAX = 64 * 1024 * 1024
"""The largest size of a manifest. A manifest has about 200 bytes for each data file."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_LINES_A_BLOCK = 1000


class DataFile(NamedTuple):
    path: Path
    items: int
    md5: str
    format: str


class Changes(NamedTuple):
    """The period of an incremental export, and the view type of its changes."""

    since: datetime
    until: datetime
    view: str


class About(NamedTuple):
    """An export and its table, as the manifest describes them.

    The export shows the table at the time `shows`. `id` is the name of the folder. An export to a
    local folder has neither `bucket` nor `prefix`.
    """

    table_arn: str
    table_id: str
    size_bytes: int
    shows: datetime
    started: datetime
    id: str
    bucket: str = ""
    prefix: str | None = None
    algorithm: str | None = None
    kms_key: str | None = None
    format: str = "DYNAMODB_JSON"
    changes: Changes | None = None

    @property
    def data(self) -> str:
        """The prefix of the keys of data files. All incremental exports put their data files into
        one folder, where each export has a prefix of its own."""
        if self.changes is None:
            return f"{self.folder}/data/"
        digest = hashlib.sha256(self.id.encode()).digest()
        return f"{self.folder.removesuffix(self.id)}data/{b32encode(digest)[:16].decode().lower()}"

    @property
    def folder(self) -> str:
        """The prefix of the keys of the export's objects, except the data files of an incremental
        export."""
        return f"{self.prefix}/{FOLDER}/{self.id}" if self.prefix else f"{FOLDER}/{self.id}"

    @property
    def manifest(self) -> str:
        return f"{self.folder}/{SUMMARY}"


class _Summary(msgspec.Struct):
    """The members of `manifest-summary.json` that are needed."""

    outputFormat: str = ""  # noqa: N815
    exportType: str = "FULL_EXPORT"  # noqa: N815


_COUNT_MAX = (1 << 63) - 1


class _Entry(msgspec.Struct):
    """The members of a line of `manifest-files.json` that are needed."""

    dataFileS3Key: str  # noqa: N815
    itemCount: Annotated[int, msgspec.Meta(ge=0, le=_COUNT_MAX)] = 0  # noqa: N815
    md5Checksum: str = ""  # noqa: N815


def data_files(path: Path) -> list[DataFile]:
    """The data files that the manifest in a folder names. Raises DataError."""
    folder = _export(path)
    summary = _manifest(folder, SUMMARY)
    export = _decoded(folder / SUMMARY, summary, _Summary)
    if export.exportType != "FULL_EXPORT":
        raise DataError(
            f"{folder / SUMMARY}: this is an incremental export; only full exports can be read"
        )
    if export.outputFormat not in _WAYS:
        raise DataError(
            f"{folder / SUMMARY}: the format is {one_line(export.outputFormat)[:80]}, not "
            f"{' or '.join(_WAYS)}"
        )
    files = []
    for number, line in enumerate(io.BytesIO(_manifest(folder, FILES)), 1):
        if line.strip():
            entry = _decoded(folder / f"{FILES}:{number}", line, _Entry)
            name = entry.dataFileS3Key.rpartition("/")[2]
            data = folder / "data" / name
            if not name or not data.is_file():
                raise DataError(f"{folder / FILES}:{number}: {data}: no such file")
            files.append(DataFile(data, entry.itemCount, entry.md5Checksum, export.outputFormat))
    return files


def read_file(file: DataFile, source: Input, line: int = 1) -> Iterator[Record]:
    """The items of a data file whose checksum is right. Raises DataError."""
    if file.md5 and _md5_of(file.path) != file.md5:
        raise DataError(f"{file.path}: the checksum differs from the manifest's")
    count = line - 1
    for record in _WAYS[file.format].read(source, line):
        count += 1
        yield record
    if count != file.items:
        raise DataError(f"{file.path}: has {count:,} items, but the manifest says {file.items:,}")


def _export(path: Path) -> Path:
    """The folder with the manifests: `path`, or the only such folder below it. Raises DataError."""
    if not path.is_dir():
        raise DataError(f"{path}: no such folder")
    if (path / SUMMARY).is_file():
        return path
    folders = sorted(each.parent for each in path.glob(f"**/{SUMMARY}"))
    if not folders:
        raise DataError(f"{path}: has no {SUMMARY}, so it is not an export of DynamoDB")
    if len(folders) > 1:
        names = ", ".join(str(each) for each in folders[:3])
        raise DataError(f"{path}: has {len(folders)} exports; name one of them: {names}")
    return folders[0]


def _manifest(folder: Path, name: str) -> bytes:
    try:
        content = _bounded(folder / name)
    except FileNotFoundError:
        raise DataError(f"{folder / name}: no such file") from None
    for suffix in ("md5", "checksum"):
        with suppress(FileNotFoundError):
            stored = _bounded((folder / name).with_suffix(f".{suffix}")).strip()
            if stored != _md5(content).encode():
                raise DataError(f"{folder / name}: the checksum is wrong; the file was changed")
    return content


def _bounded(path: Path) -> bytes:
    """The content of a manifest file. Raises FileNotFoundError, or DataError if it is too large or
    unreadable."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MANIFEST_BYTES_MAX + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    if len(content) > _MANIFEST_BYTES_MAX:
        raise DataError(
            f"{path}: larger than {_MANIFEST_BYTES_MAX:,} bytes, too large for a manifest"
        )
    return content


def _decoded(place: Path, text: bytes, type: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{place}: not a manifest: {one_line(error)}") from None


def _md5(content: bytes) -> str:
    return b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


def _md5_of(path: Path) -> str:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    return b64encode(digest.digest()).decode()


def new_id() -> str:
    return f"{int(datetime.now(UTC).timestamp() * 1000):014d}-{token_hex(4)}"


def write(items: Iterable[bytes], path: Path, about: About) -> None:
    """Write an export to the folder `path`, which appears when the export is complete."""
    growing = unfinished(path)
    shutil.rmtree(growing, ignore_errors=True)
    try:
        write_objects(items, growing, about, lambda key: None)
        os.rename(growing, path)
    except BaseException:
        shutil.rmtree(growing, ignore_errors=True)
        raise


def write_objects(
    items: Iterable[bytes], path: Path, about: About, done: Callable[[str], None]
) -> int:
    """Write the objects of an export below the folder `path`, and return the number of items.

    `done` is called with the key of each complete object, and may remove its file.
    """
    folder = path / about.folder
    folder.mkdir(parents=True)
    (path / about.data.rpartition("/")[0]).mkdir(exist_ok=True)
    _put(path, f"{about.folder}/_started", "", done)
    entries: list[dict[str, Any]] = []
    rest = iter(items)
    while not entries or (some := list(islice(rest, 1))):
        begun = chain(some, islice(rest, FILE_ITEMS - 1)) if entries else islice(rest, FILE_ITEMS)
        entries.append(_data_file(begun, path, about))
        done(entries[-1]["dataFileS3Key"])
    count: int = sum(entry["itemCount"] for entry in entries)
    lines = "".join(f"{_json(entry)}\n" for entry in entries)
    _put_with_checksum(path, f"{about.folder}/{FILES}", lines, done)
    summary = _summary(about, count)
    _put_with_checksum(path, about.manifest, _json(summary), done)
    return count


def _summary(about: About, count: int) -> dict[str, Any]:
    changes = about.changes
    shown = {"exportTime": _time(about.shows)}
    if changes is not None:
        shown = {
            "exportFromTime": _time(changes.since),
            "exportToTime": _time(changes.until),
        }
    kind = {}
    if changes is not None:
        kind = {"outputView": changes.view, "exportType": "INCREMENTAL_EXPORT"}
    return {
        "version": "2020-06-30" if changes is None else "2023-08-01",
        "exportArn": f"{about.table_arn}/export/{about.id}",
        "startTime": _time(about.started),
        "endTime": _time(datetime.now(UTC)),
        "tableArn": about.table_arn,
        "tableId": about.table_id,
        **shown,
        "s3Bucket": about.bucket,
        "s3Prefix": about.prefix,
        "s3SseAlgorithm": about.algorithm,
        "s3SseKmsKeyId": about.kms_key,
        "manifestFilesS3Key": f"{about.folder}/{FILES}",
        "billedSizeBytes": about.size_bytes,
        "itemCount": count,
        "outputFormat": about.format,
        **kind,
    }


def _data_file(items: Iterable[bytes], path: Path, about: About) -> dict[str, Any]:
    way = _WAYS[about.format]
    write = way.write if about.changes is None else way.write_changes
    key = f"{about.data}{''.join(choice(_LETTERS) for _ in range(26))}{way.suffix}"
    count = 0
    with open(path / key, "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6) as packed:
            lines = write(items)
            while block := list(islice(lines, _LINES_A_BLOCK)):
                packed.write(b"".join(block))
                count += len(block)
        file.flush()
        os.fsync(file.fileno())
    md5 = _md5_of(path / key)
    return {
        "itemCount": count,
        "md5Checksum": md5,
        "etag": _etag(md5),
        "dataFileS3Key": key,
    }


def _change_lines(changes: Iterable[bytes]) -> Iterator[bytes]:
    for change in changes:
        yield change + b"\n"


class _Way(NamedTuple):
    """How data files of one format are named, written, and read from a given line on."""

    suffix: str
    write: Callable[[Iterable[bytes]], Iterator[bytes]]
    write_changes: Callable[[Iterable[bytes]], Iterator[bytes]]
    read: Callable[[Source, int], Iterator[Record]]


_WAYS = {
    "DYNAMODB_JSON": _Way(".json.gz", dynamodb_json.write, _change_lines, dynamodb_json.read),
    "ION": _Way(".ion.gz", ion.write, ion.write_changes, lambda source, line: ion.read(source)),
}


def _etag(md5: str) -> str:
    """The ETag of a file that was uploaded to S3 as the only part of a multipart upload."""
    return hashlib.md5(b64decode(md5), usedforsecurity=False).hexdigest() + "-1"


def _put(path: Path, key: str, text: str, done: Callable[[str], None]) -> None:
    (path / key).write_text(text)
    done(key)


def _put_with_checksum(path: Path, key: str, text: str, done: Callable[[str], None]) -> None:
    _put(path, key, text, done)
    _put(path, f"{key.removesuffix('.json')}.md5", _md5(text.encode()), done)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
