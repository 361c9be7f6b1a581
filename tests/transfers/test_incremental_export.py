"""Incremental exports: what has changed between two moments of a table's history."""

import gzip
import json
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bucket_exports import Exports
from bucket_imports import Json
from small import by_hand as by_hand

import hashrange
from hashrange import Settings
from hashrange.formats import ion
from hashrange.model.errors import InvalidExportTimeException, ValidationException
from hashrange.testing import TestClock
from hashrange.upkeep.upkeep import Upkeep

START = 1_700_000_000
HOUR = 3600


class Incremental(Exports):
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = TestClock(START)
        (folder / "bucket").mkdir()
        self.database = hashrange.connect(clock=self.clock, settings=Settings(objects=str(folder)))
        self.fill([])

    def put(self, number: int, value: int) -> None:  # type: ignore[override]
        item = {**key(number), "v": {"N": str(value)}}
        self.database.execute("PutItem", {"TableName": "orders", "Item": item})

    def delete(self, number: int) -> None:
        self.database.execute("DeleteItem", {"TableName": "orders", "Key": key(number)})

    def changed(self, since: float, until: float, **members: Any) -> Json:
        period = {"ExportFromTime": since, "ExportToTime": until, **members.pop("period", {})}
        return self.exported(
            ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=period, **members
        )

    def lines(self, ended: Json) -> list[Json]:
        folder = ended["ExportManifest"].rpartition("/")[0]
        objects = self.objects()
        found = []
        for line in objects[f"{folder}/manifest-files.json"].splitlines():
            content = gzip.decompress(objects[json.loads(line)["dataFileS3Key"]])
            found += [json.loads(each) for each in content.splitlines()]
        return found


def key(number: int) -> Json:
    return {"pk": {"S": f"p{number}"}, "n": {"N": str(number)}}


@pytest.fixture
def exports(tmp_path: Path) -> Iterator[Incremental]:
    with closing(Incremental(tmp_path)) as found:
        yield found


def test_random_changes(exports: Incremental) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    states: list[tuple[float, dict[str, Json]]] = []
    for step in range(8):
        exports.clock.advance(rng.randrange(HOUR, 2 * HOUR))
        for _ in range(rng.randrange(8)):
            number = rng.randrange(6)
            exports.delete(number) if rng.random() < 0.4 else exports.put(number, step)
        exports.clock.advance(1)
        items = {item["pk"]["S"]: item for item in exports.items()}
        states.append((exports.clock.now(), items))
    for first in range(7):
        (since, before), (until, after) = states[first], states[rng.randrange(first + 1, 8)]
        ended = exports.changed(since, until)
        lines = {line["Keys"]["pk"]["S"]: line for line in exports.lines(ended)}
        assert ended["ItemCount"] == len(lines)
        for pk in before.keys() | after.keys():
            if before.get(pk) != after.get(pk):
                assert lines[pk].get("OldImage") == before.get(pk)
                assert lines[pk].get("NewImage") == after.get(pk)
        for pk, line in lines.items():
            assert line.get("OldImage") == before.get(pk), "others have been put unchanged"
            assert line.get("NewImage") == after.get(pk)
            written = int(line["Metadata"]["WriteTimestampMicros"]["N"]) / 1e6
            assert since < written <= until


@pytest.mark.parametrize("format", ["DYNAMODB_JSON", "ION"])
def test_the_layout(exports: Incremental, format: str) -> None:
    exports.put(1, 1)
    exports.put(2, 1)
    exports.clock.advance(HOUR)
    exports.put(1, 2)
    exports.delete(2)
    exports.put(3, 1)
    exports.delete(3)
    exports.clock.advance(HOUR)
    exports.put(1, 3)
    ended = exports.changed(
        START + 1,
        START + HOUR + 1,
        S3Prefix="p",
        ExportFormat=format,
        period={"ExportViewType": "NEW_IMAGE"},
    )
    id_ = ended["ExportArn"].rpartition("/")[2]
    assert ended["ExportManifest"] == f"p/AWSDynamoDB/{id_}/manifest-summary.json"
    assert ended["ExportType"] == "INCREMENTAL_EXPORT"
    assert "ExportTime" not in ended
    assert (ended["ItemCount"], ended["BilledSizeBytes"]) == (2, 10_000_000)
    objects = exports.objects()
    summary = json.loads(objects[ended["ExportManifest"]])
    assert (summary["version"], summary["exportType"]) == ("2023-08-01", "INCREMENTAL_EXPORT")
    assert summary["exportFromTime"] == "2023-11-14T22:13:21.000Z"
    assert summary["exportToTime"] == "2023-11-14T23:13:21.000Z"
    assert summary["outputView"] == "NEW_IMAGE"
    [data] = [name for name in objects if name.startswith("p/AWSDynamoDB/data/")]
    if format == "ION":
        ions = ion.library().loads(gzip.decompress(objects[data]), single_value=False)
        assert sorted(str(each["Keys"]["pk"]) for each in ions) == ["p1", "p2"]
        return
    lines = {line["Keys"]["pk"]["S"]: line for line in exports.lines(ended)}
    micros = {"WriteTimestampMicros": {"N": str((START + HOUR) * 1_000_000)}}
    assert lines == {
        "p1": {
            "Metadata": micros,
            "Keys": key(1),
            "NewImage": {**key(1), "v": {"N": "2"}},
        },
        "p2": {"Metadata": micros, "Keys": key(2)},
    }


def test_a_filter_judges_the_item_at_the_end(exports: Incremental) -> None:
    for number in range(4):
        exports.put(number, 1)
    exports.clock.advance(HOUR)
    exports.put(0, 2)
    exports.put(1, 3)
    exports.delete(2)
    exports.clock.advance(1)
    chosen = {
        "FilterExpression": "v < :three",
        "ExpressionAttributeValues": {":three": {"N": "3"}},
    }
    ended = exports.changed(START + 1, START + HOUR + 1, FilterSpecification=chosen)
    assert sorted(line["Keys"]["pk"]["S"] for line in exports.lines(ended)) == ["p0", "p2"]


def test_what_is_refused(exports: Incremental) -> None:
    exports.clock.advance(30 * HOUR)
    now = START + 30 * HOUR
    for since, until, told in [
        (START - 1, START + HOUR, "cannot be less than the table creation time : 2023-11-14T22"),
        (START, START + 800, "is less than 15 minutes"),
        (START, START + 25 * HOUR, "is more than 24 hours"),
        (now - HOUR, now + 100, "Export Time is invalid"),
    ]:
        with pytest.raises(InvalidExportTimeException, match=told):
            exports.changed(since, until)
    with pytest.raises(ValidationException, match="Incremental Export Specification expected"):
        exports.begin(ExportType="INCREMENTAL_EXPORT")


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("kind", ["full", "incremental"])
def test_changes_that_a_waiting_export_shows_are_kept(exports: Incremental, kind: str) -> None:
    """They become older than the recovery period before the export begins."""
    day = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 1}
    request = {"TableName": "orders", "PointInTimeRecoverySpecification": day}
    exports.database.execute("UpdateContinuousBackups", request)
    since = exports.clock.now()
    exports.clock.advance(HOUR)
    exports.put(1, 1)
    exports.clock.advance(HOUR)
    exports.put(1, 2)
    exports.clock.advance(22 * HOUR - 1)
    if kind == "full":
        begun = exports.begin(ExportTime=since + HOUR)
    else:
        period = {"ExportFromTime": since, "ExportToTime": since + 23 * HOUR}
        begun = exports.begin(
            ExportType="INCREMENTAL_EXPORT", IncrementalExportSpecification=period
        )
    exports.clock.advance(24 * HOUR)
    upkeep = Upkeep(exports.database.runtime)
    while upkeep.run_once():
        pass
    exports.put(2, 1)
    exports.database.run_upkeep()
    ended = exports.export(begun)
    assert ended["ItemCount"] == 1
    shown = [line.get("NewImage") or line["Item"] for line in exports.lines(ended)]
    images = {image["v"]["N"] for image in shown}
    assert images == {"1" if kind == "full" else "2"}
