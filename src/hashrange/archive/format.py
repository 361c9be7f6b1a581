"""The names and bytes of the objects of an archive. Bytes that are read are checked for damage."""

import zlib
from datetime import UTC, datetime
from hashlib import sha256
from math import ceil
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from zlib_ng import zlib_ng

VERSION = 1
PART_BYTES = 16 << 20
SEGMENT_BYTES_MAX = 256 << 20
"""The largest size of a segment before compression."""

MANIFEST_BYTES_MAX = 64 << 20
_HEADER_BYTES_MAX = 4096
_LEVEL = 1

GENERATIONS, LOG, PARTS, SNAPSHOTS, RESTORES = (
    "generations/",
    "log/",
    "parts/",
    "snapshots/",
    "restores/",
)

Number = Annotated[int, Meta(ge=0, le=10**12 - 1)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Hex = Annotated[str, Meta(pattern="^([0-9a-f]{16})?$")]
Time = Annotated[float, Meta(ge=0, le=253_402_300_799)]
PageBytes = Annotated[int, Meta(ge=512, le=65_536, multiple_of=512)]


class ArchiveError(Exception):
    """The archive cannot be used as requested. The message is one line that names the object."""


class Generation(Struct, forbid_unknown_fields=True, frozen=True):
    format: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    time: Time
    reason: Annotated[str, Meta(max_length=1000)]
    id: Hex
    """A random id. If two servers begin a generation at the same time, their objects differ."""


class Segment(Struct, forbid_unknown_fields=True, frozen=True):
    """The first line of a segment.

    The segment has the frames after number `first`, up to number `frame`, of the log with the salts
    `log`. A frame is left out if the segment has a later frame of its page. `sums` is the checksum
    of the last frame. `before` is the SHA-256 of the previous segment, empty in the first segment.
    All commits of the segment were made at or before `time`. `commits` is the number of commits in
    the generation up to the end of the segment. `log_begins` is the number of the first segment
    with frames of this log.
    """

    format: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    generation: Number
    number: Number
    before: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")]
    time: Time
    page_bytes: PageBytes
    log: Hex
    log_begins: Number
    first: Number
    frame: Number
    sums: Hex
    commits: Number
    size: Annotated[int, Meta(ge=0, le=SEGMENT_BYTES_MAX)]
    sha256: Digest


class Snapshot(Struct, forbid_unknown_fields=True, frozen=True):
    """A copy of the file, of `size` bytes. A restore must apply the segments from `start` to
    `through`.

    `digest` and `time` are the SHA-256 and the time of the segment `through`.
    """

    format: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    generation: Number
    start: Number
    through: Number
    digest: Digest
    time: Time
    page_bytes: PageBytes
    size: Annotated[int, Meta(ge=0, le=1 << 48)]
    id: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    parts: list[Digest]
    stored: Annotated[int, Meta(ge=0)]
    """The stored size of all parts together, in bytes."""


T = TypeVar("T", bound=Struct)


def generation_name(generation: int) -> str:
    return f"{GENERATIONS}{generation:08}"


def segment_name(generation: int, number: int) -> str:
    return f"{LOG}{generation:08}/{number:012}"


def part_name(generation: int, snapshot_id: str, number: int) -> str:
    return f"{PARTS}{generation:08}/{snapshot_id}/{number:08}"


def snapshot_name(generation: int, through: int) -> str:
    return f"{SNAPSHOTS}{generation:08}/{through:012}"


def number_in(name: str) -> int:
    """The number at the end of an object's name. Raises `ArchiveError` if there is none."""
    digits = name.rpartition("/")[2]
    if not (digits.isascii() and digits.isdecimal()):
        raise ArchiveError(f"{name}: is not an object of an archive")
    return int(digits)


def encode(manifest: Struct) -> bytes:
    """The first line of an object: JSON, a space, and the SHA-256 of the JSON."""
    line = msgspec.json.encode(manifest)
    return line + b" " + digest_of(line).encode() + b"\n"


def decode(name: str, body: bytes, kind: type[T]) -> T:
    line, _, digest = body.rstrip(b"\n").rpartition(b" ")
    if digest != digest_of(line).encode():
        raise ArchiveError(f"{name}: is damaged: its checksum is wrong")
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArchiveError(f"{name}: is damaged, or of another version: {error}") from None


def pack_segment(segment: Segment, frames: bytes) -> bytes:
    return encode(segment) + pack(frames)


def unpack_segment(name: str, body: bytes) -> tuple[Segment, bytes]:
    end = body.find(b"\n", 0, _HEADER_BYTES_MAX)
    if end < 0:
        raise ArchiveError(f"{name}: is damaged: it has no header")
    segment = decode(name, body[:end], Segment)
    if name != segment_name(segment.generation, segment.number):
        raise ArchiveError(f"{name}: is damaged: it names another segment")
    frames = unpack(name, body[end + 1 :], segment.size, segment.sha256)
    stride = segment.page_bytes + 24
    count, rest = divmod(len(frames), stride)
    read = segment.frame - segment.first
    if rest or count > read or bool(count) != bool(read):
        raise ArchiveError(f"{name}: is damaged: the number of its frames is wrong")
    return segment, frames


def pack(data: bytes) -> bytes:
    return zlib_ng.compress(data, _LEVEL)


def unpack(name: str, packed: bytes, size: int, digest: str) -> bytes:
    """The decompressed bytes of `packed`. At most one byte more than `size` is decompressed.

    Raises `ArchiveError` unless there are `size` bytes with the SHA-256 `digest`.
    """
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, size + 1)
    except zlib.error as error:
        raise ArchiveError(f"{name}: is damaged: {error}") from None
    if len(data) != size or not (unpacking.eof or size == 0):
        raise ArchiveError(f"{name}: is damaged: its size is wrong")
    if digest_of(data) != digest:
        raise ArchiveError(f"{name}: is damaged: its checksum is wrong")
    return data


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def stamped(now: float) -> float:
    """The time `now`, rounded up to whole milliseconds, so that its text is exact."""
    return ceil(now * 1000) / 1000


def written(time: float) -> str:
    """A time as text for users. The option `--at` accepts this text."""
    moment = datetime.fromtimestamp(time, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
