"""An archive that was damaged, or made up, is refused with the object's name."""

import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.archive import ArchiveError
from hashrange.archive.restoring import restore
from hashrange.kv import StoreError
from hashrange.objects import ObjectError, open_objects

from .archiving import Archived, put, ship


@pytest.fixture
def place(tmp_path: Path, archived: Archived) -> Path:
    with archived.open() as database:
        ship(database)
        for number in range(4):
            put(database, number)
            ship(database)
    place = Path(archived.place)
    snapshots = sorted((place / "snapshots/00000001").iterdir())
    assert snapshots
    return place


def refused(place: Path, name: str) -> str:
    """Nothing is left of the file; the message is one line with the object's name."""
    target = place.parent / "target"
    target.mkdir()
    with pytest.raises((ArchiveError, ObjectError, StoreError)) as caught:
        restore(open_objects(str(place)), str(target / "new.db"))
    assert list(target.iterdir()) == []
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def segment(place: Path) -> Path:
    return sorted((place / "log/00000001").iterdir())[-2]


def snapshot(place: Path) -> Path:
    return sorted((place / "snapshots/00000001").iterdir())[-1]


def part(place: Path) -> Path:
    return next((place / "parts/00000001").rglob("00000000"))


def name_of(place: Path, path: Path) -> str:
    return path.relative_to(place).as_posix()


def flipped(body: bytes) -> bytes:
    return body[:-3] + bytes([body[-3] ^ 1]) + body[-2:]


@pytest.mark.parametrize("of", [segment, snapshot, part])
@pytest.mark.parametrize(
    "damage", [flipped, lambda body: body[:-9], lambda body: b"", lambda body: bytes(len(body))]
)
def test_a_damaged_object_is_refused(
    place: Path, of: Callable[[Path], Path], damage: Callable[[bytes], bytes]
) -> None:
    path = of(place)
    path.write_bytes(damage(path.read_bytes()))
    refused(place, name_of(place, path))


@pytest.mark.parametrize("of", [segment, part])
def test_a_missing_object_is_refused(place: Path, of: Callable[[Path], Path]) -> None:
    path = of(place)
    path.unlink()
    assert "is missing" in refused(place, name_of(place, path))


def rewritten(path: Path, **members: Any) -> None:
    """A manifest, or the first line of a segment, with other members."""
    head, _, rest = path.read_bytes().partition(b"\n")
    line = msgspec.json.encode(msgspec.json.decode(head.rpartition(b" ")[0]) | members)
    path.write_bytes(line + b" " + sha256(line).hexdigest().encode() + b"\n" + rest)


@pytest.mark.parametrize(
    "members",
    [
        {"id": "../../../etc/pass"},
        {"id": ".."},
        {"parts": ["../../../../etc/passwd"]},
        {"parts": []},
        {"size": 1 << 60},
        {"size": -1},
        {"page_bytes": 0},
        {"page_bytes": 1 << 40},
        {"start": 10**30},
        {"format": 2},
        {"time": "now"},
        {"surprise": 1},
    ],
)
def test_a_hostile_manifest_is_refused(place: Path, members: dict[str, Any]) -> None:
    path = snapshot(place)
    rewritten(path, **members)
    refused(place, name_of(place, path))


@pytest.mark.parametrize(
    "members",
    [
        {"size": 1 << 40},
        {"page_bytes": 512},
        {"number": 1},
        {"generation": 9},
        {"first": 0, "frame": 10**11},
        {"before": "0" * 64},
        {"log": "0" * 16},
        {"time": -1},
    ],
)
def test_a_hostile_segment_is_refused(place: Path, members: dict[str, Any]) -> None:
    path = segment(place)
    rewritten(path, **members)
    refused(place, name_of(place, path))


def test_a_bomb_is_not_unpacked(place: Path) -> None:
    """A quarter of a gigabyte of zeros in 256 KB."""
    packing = zlib.compressobj()
    zeros = b"".join(packing.compress(bytes(1 << 20)) for _ in range(1 << 8)) + packing.flush()
    path = segment(place)
    head, _, _ = path.read_bytes().partition(b"\n")
    path.write_bytes(head + b"\n" + zeros)
    refused(place, name_of(place, path))
    part(place).write_bytes(zeros)
    (place.parent / "target").rmdir()
    refused(place, name_of(place, part(place)))


def test_frames_that_name_impossible_pages_are_refused(place: Path) -> None:
    """With right checksums all the way: only the database that results is wrong."""
    path = sorted((place / "log/00000001").iterdir())[-1]
    head, _, rest = path.read_bytes().partition(b"\n")
    frames = zlib.decompress(rest)
    for page in (0, 0xFFFFFFFE):
        forged = page.to_bytes(4, "big") + frames[4:]
        digest = sha256(forged).hexdigest()
        path.write_bytes(head + b"\n" + zlib.compress(forged))
        rewritten(path, sha256=digest)
        refused(place, "new.db" if page else name_of(place, path))
        (place.parent / "target").rmdir()


def test_a_folder_without_an_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "there is no archive here")


@pytest.mark.parametrize("name", ["generations/x", "log/00000001/x", "log/00000001/9-"])
def test_foreign_objects_are_refused(place: Path, name: str) -> None:
    (place / name).write_bytes(b"")
    refused(place, name)
