"""Files that are made to cost memory, or to be half there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import SECONDS_MAX

import hashrange
from hashrange import StoreError
from hashrange.formats import s3_export
from hashrange.formats.items import DataError
from hashrange.storage.sqlite import maintenance

pytestmark = pytest.mark.slow

MB = 1024 * 1024


def manifests(folder: Path, line: str) -> Path:
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "a.json.gz").write_bytes(b"")
    (folder / s3_export.SUMMARY).write_text('{"outputFormat":"DYNAMODB_JSON"}')
    (folder / s3_export.FILES).write_text(line)
    return folder


ENTRY = {"itemCount": 0, "md5Checksum": "", "dataFileS3Key": "data/a.json.gz"}


@pytest.mark.parametrize("member", ENTRY)
@pytest.mark.parametrize("value", [None, [], {}, -1, 1.5, "x", True, 10**30])
def test_a_member_of_a_manifest_that_is_something_else(
    member: str, value: object, tmp_path: Path
) -> None:
    path = manifests(tmp_path / "e", json.dumps(ENTRY | {member: value}))
    if member != "itemCount" and value == "x":
        return
    with pytest.raises(DataError, match=r"manifest-files.json:1: not a manifest: "):
        s3_export.data_files(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (s3_export.FILES, "null"),
        (s3_export.FILES, "[" * 100_000),
        (s3_export.SUMMARY, '{"outputFormat":null}'),
        (s3_export.SUMMARY, '{"outputFormat":"DYNAMODB_JSON","exportType":1}'),
        (s3_export.SUMMARY, "[]"),
        (s3_export.SUMMARY, "\xff"),
    ],
)
def test_a_manifest_that_is_none(name: str, text: str, tmp_path: Path) -> None:
    path = manifests(tmp_path / "e", json.dumps(ENTRY))
    (path / name).write_text(text, "latin-1")
    with pytest.raises(DataError, match="not a manifest") as raised:
        s3_export.data_files(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [s3_export.FILES, s3_export.SUMMARY, "manifest-files.md5"])
def test_a_manifest_of_a_gigabyte(name: str, tmp_path: Path) -> None:
    path = manifests(tmp_path / "e", "\n")
    with open(path / name, "wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(DataError, match="larger than 67,108,864 bytes"):
        s3_export.data_files(path)


READ = """
import sys
from typing import Any
from pathlib import Path
from hashrange.formats import s3_export
from hashrange.formats.csv_columns import Hints
from hashrange.formats.files import Input
from hashrange.formats.formats import FORMATS
from hashrange.formats.items import DataError
path = Path(sys.argv[1])
try:
    if path.is_dir():
        print(len(s3_export.data_files(path)))
    else:
        with Input(path) as source:
            print(sum(1 for _ in FORMATS[path.suffix[1:]].read(source, Hints())))
except DataError as error:
    print(error)
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) // 1024)
"""


def read_apart(path: Path) -> tuple[str, int]:
    """What is printed, and the most memory in MB that a process needs which reads the file."""
    with subprocess.Popen(
        [sys.executable, "-c", READ, path], stdout=subprocess.PIPE, text=True
    ) as process:
        out, _ = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0
    said, _, peak = out.rstrip("\n").rpartition("\n")
    return said, int(peak)


@pytest.mark.deep
def test_memory_does_not_grow_with_what_a_small_file_stands_for(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    large = "x" * MB
    rows = 500
    names = [str(number) for number in range(rows)]
    made: dict[str, tuple[list[Any], dict[str, Any]]] = {
        "repeated.parquet": ([large] * rows, {}),
        "different.parquet": (
            [f"{large}{number}" for number in range(300)],
            {"use_dictionary": False},
        ),
        "lists.parquet": ([["x" * 100_000] * 300] * 20, {}),
    }
    for name, (values, options) in made.items():
        table = pyarrow.table({"pk": names[: len(values)], "v": values})
        parquet.write_table(table, tmp_path / name, compression="zstd", **options)
        assert (tmp_path / name).stat().st_size < 2 * MB
    manifests(tmp_path / "e", "\n" * (10 * MB))
    (tmp_path / "lines.csv").write_text("pk:S\n" + "\n" * (10 * MB))
    said = {}
    for path in sorted(tmp_path.iterdir()):
        said[path.name], peak = read_apart(path)
        assert peak < 400, f"{path.name}: {peak} MB"
    assert said["repeated.parquet"] == str(rows)
    assert "its rows have 1,048," in said["different.parquet"]
    assert "a row has 30,000,001 bytes, more than an item can have" in said["lists.parquet"]
    assert (said["e"], said["lines.csv"]) == ("0", "0")


# ---- a backup that was killed ----


@pytest.mark.parametrize("compact", [False, True])
def test_a_backup_that_was_killed_after_its_file_appeared(
    compact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(_: str) -> None:
        raise Killed

    copy = tmp_path / "copy.db"
    with hashrange.connect(tmp_path / "a.db") as db:
        with monkeypatch.context() as patch:
            patch.setattr(maintenance, "sync_folder", kill)
            patch.setattr(os, "remove", lambda _: None)  # a process that is killed removes nothing
            with pytest.raises(Killed):
                db.backup(copy, compact=compact)
        before = copy.stat().st_ino
        db.backup(copy, compact=compact)
        assert copy.stat().st_ino != before
        assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
        with pytest.raises(StoreError, match="exists already"):
            db.backup(copy, compact=compact)
    with hashrange.connect(copy) as db:
        assert list(db.check()) == []


def test_a_backup_of_somebody_else_is_kept(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(b"mine")
    (tmp_path / "copy.db.abc.unfinished").write_bytes(b"mine")
    with (
        hashrange.connect(tmp_path / "a.db") as db,
        pytest.raises(StoreError, match="exists already"),
    ):
        db.backup(copy)
    assert copy.read_bytes() == b"mine"
