"""ExportTableToPointInTime: the service's own layout, which ImportTable reads again."""

import gzip
import hashlib
import io
import json
import random
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import drawn_items
import pytest
from bucket_exports import ARN, RECOVERY, Exports
from bucket_imports import ITEMS, TABLE, Json, counts
from hypothesis import given
from small import by_hand as by_hand
from small import small_jobs as small_jobs
from small import small_steps as small_steps

import hashrange
from hashrange import Settings
from hashrange.formats import ion, s3_export
from hashrange.formats.files import Input, Source
from hashrange.formats.items import Record, decode, encode
from hashrange.model.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.objects import Objects
from hashrange.testing import TestClock
from hashrange.transfers.buckets import Buckets
from hashrange.transfers.exporting import Exports as Exporting


@pytest.fixture
def exports(tmp_path: Path) -> Iterator[Exports]:
    with closing(Exports(tmp_path / "objects", accept_unsupported=True)) as found:
        yield found


def md5(content: bytes) -> str:
    return b64encode(hashlib.md5(content).digest()).decode()


@pytest.mark.parametrize("prefix", [None, "a/b"])
def test_the_layout_is_the_services(exports: Exports, prefix: str | None) -> None:
    exports.fill(ITEMS)
    ended = exports.exported(**({"S3Prefix": prefix} if prefix else {}), ClientToken="token")
    assert (ended["ExportStatus"], ended["ItemCount"]) == ("COMPLETED", len(ITEMS))
    assert (ended["S3SseAlgorithm"], ended["ExportFormat"]) == ("AES256", "DYNAMODB_JSON")
    folder = f"{prefix}/AWSDynamoDB" if prefix else "AWSDynamoDB"
    folder += "/" + ended["ExportArn"].rpartition("/")[2]
    objects = exports.objects()
    [data] = [key for key in objects if "/data/" in key]
    assert sorted(objects) == sorted(
        f"{folder}/{name}"
        for name in (
            *("_started", "manifest-files.json", "manifest-files.md5"),
            *("manifest-summary.json", "manifest-summary.md5", data.removeprefix(f"{folder}/")),
        )
    )
    assert ended["ExportManifest"] == f"{folder}/manifest-summary.json"
    for name in ("manifest-files", "manifest-summary"):
        content = objects[f"{folder}/{name}.json"]
        assert objects[f"{folder}/{name}.md5"].decode() == md5(content)
    [entry] = map(json.loads, objects[f"{folder}/manifest-files.json"].splitlines())
    assert entry["dataFileS3Key"] == data
    assert (entry["itemCount"], entry["md5Checksum"]) == (len(ITEMS), md5(objects[data]))
    summary = json.loads(objects[f"{folder}/manifest-summary.json"])
    assert summary["exportArn"] == ended["ExportArn"]
    assert summary["tableId"] == ended["TableId"]
    assert (summary["s3Bucket"], summary["s3Prefix"]) == ("bucket", prefix)
    assert summary["manifestFilesS3Key"] == f"{folder}/manifest-files.json"
    assert summary["itemCount"] == len(ITEMS)
    assert summary["billedSizeBytes"] == ended["BilledSizeBytes"] > 0
    assert "exportType" not in summary
    lines = [json.loads(line)["Item"] for line in gzip.decompress(objects[data]).splitlines()]
    assert sorted(lines, key=str) == sorted(ITEMS, key=str)
    path = exports.folder / "bucket" / folder
    [file] = s3_export.data_files(path)
    with Input(file.path) as source:
        assert len(list(s3_export.read_file(file, source))) == len(ITEMS)


@pytest.mark.usefixtures("small_jobs")
@pytest.mark.parametrize("format", ["DYNAMODB_JSON", "ION"])
def test_import_table_reads_it(exports: Exports, format: str) -> None:
    """Several data files, with odd items of all types."""
    if format == "ION":
        pytest.importorskip("amazon.ion")
    odd = [{**item, **key(number)} for number, item in enumerate(drawn_items.odd_items())]
    exports.fill(ITEMS + odd)
    before = exports.items()
    ended = exports.exported(ExportFormat=format)
    count = len(ITEMS) + len(odd)
    assert ended["ItemCount"] == len(before) == count
    exports.database.execute("DeleteTable", {"TableName": "orders"})
    prefix = ended["ExportManifest"].replace("manifest-summary.json", "data/")
    imported = exports.done(format, prefix=prefix, InputCompressionType="GZIP")
    assert counts(imported) == ("COMPLETED", count, count, 0)
    assert exports.items() == before


@given(drawn_items.tables)
def test_ion_keeps_every_item(items: list[Json]) -> None:
    pytest.importorskip("amazon.ion")
    written = b"".join(ion.write(encode(item) for item in items))
    found = list(ion.read_values(Source(io.BytesIO(written), "written")))
    again = [decode(record.item) for record in found if isinstance(record, Record)]
    assert [drawn_items.canonical_item(item) for item in again] == items


def key(number: int) -> Json:
    return {"pk": {"S": f"odd{number}"}, "n": {"N": str(100 + number)}}


def test_an_empty_table_has_an_empty_file(exports: Exports) -> None:
    exports.fill([])
    ended = exports.exported()
    assert (ended["ItemCount"], ended["BilledSizeBytes"]) == (0, 0)
    [data] = [content for name, content in exports.objects().items() if "/data/" in name]
    assert gzip.decompress(data) == b""


@pytest.mark.usefixtures("small_steps")
def test_an_export_is_of_one_moment(tmp_path: Path) -> None:
    """A transaction writes the same number into all items, while exports are made."""
    exports = Exports(tmp_path / "objects", tmp_path / "a.db", accept_unsupported=True)
    stop = Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            puts = [
                {"Put": {"TableName": "orders", "Item": {**key(n), "is": {"N": str(number)}}}}
                for n in range(20)
            ]
            exports.database.execute("TransactWriteItems", {"TransactItems": puts})

    with closing(exports):
        exports.fill([])
        writer = Thread(target=write)
        writer.start()
        try:
            for number in range(6):
                exports.exported(S3Prefix=f"p{number}")
        finally:
            stop.set()
            writer.join()
    seen: list[str] = []
    for name, content in exports.objects().items():
        if "/data/" in name:
            lines = gzip.decompress(content).splitlines()
            numbers = {json.loads(line)["Item"]["is"]["N"] for line in lines}
            assert len(lines) in (0, 20)
            assert len(numbers) <= 1, name
            seen += numbers
    assert len(set(seen)) > 1


@pytest.mark.usefixtures("small_steps")
def test_any_moment_since_recovery_was_enabled(tmp_path: Path) -> None:
    """Random puts, deletes and transactions, and an export of each moment at the end."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    clock = TestClock(1_700_000_000)
    database = hashrange.connect(clock=clock, settings=Settings(objects=str(tmp_path)))
    (tmp_path / "bucket").mkdir()
    exports = Exports.__new__(Exports)
    exports.database, exports.folder = database, tmp_path
    states: dict[float, list[Json]] = {}
    with closing(database):
        exports.fill([{**key(number), "v": {"N": "0"}} for number in range(6)])
        for step in range(12):
            states[clock.now()] = exports.items()
            clock.advance(rng.choice([0.001, 0.5, 1.0]))
            for _ in range(rng.randrange(6)):
                number = rng.randrange(10)
                if rng.random() < 0.3:
                    database.execute("DeleteItem", {"TableName": "orders", "Key": key(number)})
                else:
                    item = {**key(number), "v": {"N": str(step + 1)}}
                    database.execute("PutItem", {"TableName": "orders", "Item": item})
        clock.advance(1000)
        for at, state in states.items():
            ended = exports.exported(ExportTime=at, S3Prefix=f"at{at}")
            assert ended["ExportTime"] == at
            prefix = ended["ExportManifest"].replace("manifest-summary.json", "data/")
            [data] = [content for name, content in exports.objects().items() if prefix in name]
            lines = [json.loads(line)["Item"] for line in gzip.decompress(data).splitlines()]
            assert sorted(lines, key=str) == sorted(state, key=str), at


class Failing(Buckets):
    """Buckets in which an error ends each export when its data files are complete."""

    def __init__(self, exports: Exports, error: BaseException) -> None:
        super().__init__(str(exports.folder))
        self._error = error

    def bucket(self, name: str) -> Objects:
        bucket: Any = super().bucket(name)
        put_file = bucket.put_file

        def put(key: str, path: str) -> None:
            if "/data/" not in key and "manifest" in key:
                raise self._error
            put_file(key, path)

        bucket.put_file = put
        found: Objects = bucket
        return found


@pytest.mark.usefixtures("by_hand", "small_jobs")
def test_an_interrupted_export_begins_again_and_leaves_nothing(exports: Exports) -> None:
    exports.fill(ITEMS)
    begun = exports.begin()
    ended = Failing(exports, KeyboardInterrupt())  # as if the process had ended
    with (
        closing(Exporting(exports.database.runtime, ended)) as worker,
        pytest.raises(KeyboardInterrupt),
    ):
        worker.run_once()
    assert exports.export(begun)["ExportStatus"] == "IN_PROGRESS"
    left = {name for name in exports.objects() if "/data/" in name}
    exports.database.run_upkeep()
    assert exports.export(begun)["ExportStatus"] == "COMPLETED"
    data = {name for name in exports.objects() if "/data/" in name}
    assert len(left) == len(data) == 4
    assert not left & data


@pytest.mark.usefixtures("by_hand")
def test_a_full_disk_fails_the_export(exports: Exports, caplog: pytest.LogCaptureFixture) -> None:
    exports.fill(ITEMS)
    begun = exports.begin()
    full = Failing(exports, OSError(28, "No space left on device"))
    with closing(Exporting(exports.database.runtime, full)) as worker:
        worker.run_once()
    ended = exports.export(begun)
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "InternalServerError")
    assert "No space left" in caplog.text


@pytest.mark.parametrize(
    ("members", "code"),
    [({"S3Bucket": "absent"}, "S3NoSuchBucket"), ({"S3Prefix": "../out"}, "S3AccessDenied")],
)
def test_it_fails_later(exports: Exports, members: Json, code: str) -> None:
    exports.fill(ITEMS)
    ended = exports.exported(**members)
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", code)
    assert "ExportManifest" not in ended
    assert not (exports.folder / "out").exists()


def test_what_is_refused_at_once(tmp_path: Path) -> None:
    clock = TestClock(1_700_000_000)
    database = hashrange.connect(clock=clock, settings=Settings(objects=str(tmp_path)))
    exports = Exports.__new__(Exports)
    exports.database, exports.folder = database, tmp_path
    with closing(database):
        with pytest.raises(TableNotFoundException, match=f"Table not found: {ARN}"):
            exports.begin()
        database.execute("CreateTable", TABLE)
        with pytest.raises(PointInTimeRecoveryUnavailableException, match="for table 'orders'"):
            exports.begin()
        database.execute("UpdateContinuousBackups", RECOVERY)
        for time in (1_699_999_000, 1_700_001_000):
            with pytest.raises(InvalidExportTimeException, match="Export Time is invalid"):
                exports.begin(ExportTime=time)
        incremental = {"ExportType": "INCREMENTAL_EXPORT"}
        with pytest.raises(ValidationException, match="Incremental Export Specification expected"):
            exports.begin(**incremental)
        with pytest.raises(ValidationException, match="ExportFromTime must be provided"):
            exports.begin(**incremental, IncrementalExportSpecification={})
        one = exports.begin(ClientToken="one", ExportTime=1_700_000_001)
        assert (
            exports.begin(ClientToken="one", ExportTime=1_700_000_001)["ExportArn"]
            == (one["ExportArn"])
        )
        with pytest.raises(ExportConflictException, match="conflicting parameters"):
            exports.begin(ClientToken="one", ExportFormat="ION")
        clock.advance(9 * 60 * 60)
        other = exports.begin(ClientToken="one")
        assert other["ExportArn"] != one["ExportArn"]
        with pytest.raises(ExportNotFoundException):
            exports.export({"ExportArn": one["ExportArn"][:-1] + "x"})


def test_lists_end_with_the_table(exports: Exports) -> None:
    exports.fill([])
    arns = [exports.exported(S3Prefix=str(number))["ExportArn"] for number in range(3)]
    first = exports.database.execute("ListExports", {"MaxResults": 2, "TableArn": ARN})
    assert [each["ExportArn"] for each in first["ExportSummaries"]] == arns[:0:-1]
    rest = exports.database.execute("ListExports", {"NextToken": first["NextToken"]})
    assert rest == {"ExportSummaries": [{"ExportArn": arns[0], "ExportStatus": "COMPLETED"}]}
    exports.database.execute("DeleteTable", {"TableName": "orders"})
    assert exports.database.execute("ListExports", {}) == {"ExportSummaries": []}
    assert exports.export({"ExportArn": arns[0]})["ExportStatus"] == "COMPLETED"
