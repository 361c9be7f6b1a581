"""Exports: write all items of a table, as of one moment, to the objects of a bucket.

An interrupted export starts again, and first deletes the objects that it has written.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any, Protocol

import msgspec

from hashrange.formats import s3_export
from hashrange.objects import Objects
from hashrange.runtime.background import RunsUpkeep, Worker, ask
from hashrange.runtime.cut import Cut
from hashrange.transfers.buckets import Buckets, Failed, failing, failure

Json = dict[str, Any]


class Closing(Exception):
    """The database is being closed. The export starts again when the database is next opened."""


class HasCuts(RunsUpkeep, Protocol):
    def cut(self, table_name: str, /) -> Cut: ...


class Exports(Worker):
    """Runs the exports in progress, one after the other."""

    name = "hashrange-exports"

    def __init__(self, runtime: HasCuts, buckets: Buckets) -> None:
        self._buckets = buckets
        self._source = runtime
        super().__init__(runtime, "exports")

    def step(self, is_ours: Callable[[], bool]) -> bool:
        jobs = ask(self.runtime, "upkeep.Jobs", {"Kind": "export"})["Jobs"]
        if not jobs or not is_ours():
            return False
        body = {"Kind": "export", "Id": jobs[0]["Id"]}
        if not jobs[0]["Begun"]:
            sleep(_TICK_SECONDS)  # so that later commits have a later time
            ask(self.runtime, "upkeep.BeginExport", body)
        try:
            body |= self._export(jobs[0], is_ours)
        except Closing:
            return False
        except Exception as error:
            body["Failure"] = failure(error, jobs[0]["Arn"])
        ask(self.runtime, "upkeep.JobEnded", body)
        return True

    def _export(self, job: Json, is_ours: Callable[[], bool]) -> Json:
        """Write an export to its bucket. Returns the figures of the export, for the request to
        `upkeep.JobEnded`. Raises Failed and Closing."""
        bucket = self._buckets.bucket(job["Request"]["S3Bucket"])
        with closing(self._source.cut(job["TableName"])) as cut, TemporaryDirectory() as folder:
            if cut.table is None or cut.table.id != job["TableId"]:
                raise Failed("TableNotFound", f"Table not found: {job['TableArn']}")
            if cut.table.recovery is None or cut.table.recovery.since > job["Shows"]:
                raise Failed("PointInTimeRecoveryUnavailable", NO_HISTORY)
            size_bytes = cut.size_bytes() if _changes(job) is None else CHANGES_BYTES_MIN
            about = _about(job, size_bytes)
            upload = _Upload(bucket, Path(folder), lambda: self.closing or not is_ours())
            for prefix in (f"{about.folder}/", about.data):
                upload.remove(prefix)
            items = upload.watched(_shown(cut, job))
            count = s3_export.write_objects(items, Path(folder), about, upload.put)
        return {"Figures": {"ItemCount": count, "BilledSizeBytes": size_bytes}}


def _shown(cut: Cut, job: Json) -> Iterator[bytes]:
    """The lines that an export writes: items, or changes for an incremental export."""
    specification = job["Request"].get("FilterSpecification", {})
    changes, until = _changes(job), _milliseconds(job["Shows"])
    if changes is None:
        yield from cut.items(until, specification)
        return
    since = _milliseconds(changes.since.timestamp())
    for each in cut.changes(since, until, specification):
        written = {"WriteTimestampMicros": {"N": str(each.milliseconds * 1000)}}
        members: Json = {"Metadata": written, "Keys": each.keys}
        if each.new is not None:
            members["NewImage"] = each.new
        if each.old is not None and changes.view == "NEW_AND_OLD_IMAGES":
            members["OldImage"] = each.old
        yield msgspec.json.encode(members)


def _changes(job: Json) -> s3_export.Changes | None:
    """The period and the view of an incremental export; None for a full export."""
    if job["Request"].get("ExportType") != "INCREMENTAL_EXPORT":
        return None
    asked = job["Request"]["IncrementalExportSpecification"]
    return s3_export.Changes(
        datetime.fromtimestamp(asked["ExportFromTime"], UTC),
        datetime.fromtimestamp(job["Shows"], UTC),
        asked.get("ExportViewType", "NEW_AND_OLD_IMAGES"),
    )


class _Upload:
    """Puts each file into a bucket as soon as it is complete, until the worker is told to stop."""

    def __init__(self, bucket: Objects, folder: Path, stops: Callable[[], bool]) -> None:
        self._bucket = bucket
        self._folder = folder
        self._stops = stops

    def put(self, key: str) -> None:
        path = self._folder / key
        with failing():
            self._bucket.put_file(key, str(path))
        os.remove(path)

    def remove(self, prefix: str) -> None:
        with failing():
            for each in list(self._bucket.list(prefix)):
                self._bucket.delete(each.name)

    def watched(self, items: Iterator[bytes]) -> Iterator[bytes]:
        for number, item in enumerate(items):
            if number % _LOOK_ITEMS == 0 and self._stops():
                raise Closing
            yield item


_LOOK_ITEMS = 1000
_TICK_SECONDS = 0.002
"""A pause after which commits have a later time: times are stored in milliseconds, rounded up."""
CHANGES_BYTES_MIN = 10_000_000
"""The size that an incremental export is billed for. On AWS this is the least size."""
NO_HISTORY = "Point in time recovery was disabled during the export"
"""The text of this error is assumed."""


def _milliseconds(seconds: float) -> int:
    """The time in milliseconds. It is rounded up, as the times of commits are. Otherwise a commit
    just before this time could get a later time."""
    return ceil(seconds * 1000)


def _about(job: Json, size_bytes: int) -> s3_export.About:
    request = job["Request"]
    return s3_export.About(
        table_arn=job["TableArn"],
        table_id=job["TableId"],
        size_bytes=size_bytes,
        shows=datetime.fromtimestamp(job["Shows"], UTC),
        started=datetime.fromtimestamp(job["StartedAt"], UTC),
        id=job["Id"],
        bucket=request["S3Bucket"],
        prefix=request.get("S3Prefix"),
        algorithm=request.get("S3SseAlgorithm", "AES256"),
        kms_key=request.get("S3SseKmsKeyId"),
        format=request.get("ExportFormat", "DYNAMODB_JSON"),
        changes=_changes(job),
    )
