"""Bulk puts: put items from objects into an existing table, and report items that cannot be put.

A step writes at most one report of each type (errors, failed conditions), as an object of JSON
lines. The lines are stored with the job until the report is written, so that no line is lost or
repeated. The service's names of reports are not known; the names used here are invented.
"""

from collections.abc import Iterator
from time import monotonic

import msgspec

from hashrange.model.jobs import Kind
from hashrange.objects import Listed
from hashrange.runtime.background import RunsUpkeep, ask
from hashrange.transfers import reading
from hashrange.transfers.buckets import Buckets, Failed, failing
from hashrange.transfers.loading import Json, Loader, Part

REST_SECONDS = 0.05
"""The interval at which a job with MaxWriteRequestUnits checks whether it may continue."""


class BulkPuts(Loader):
    kind: Kind = "bulk-operation"
    name = "hashrange-bulk-puts"

    def __init__(self, runtime: RunsUpkeep, buckets: Buckets) -> None:
        self._rest_until: dict[str, float] = {}
        super().__init__(runtime, buckets)

    def source(self, job: Json) -> Json:
        source: Json = job["Request"]["InputS3Configuration"]
        return source

    def way(self, job: Json) -> reading.Way:
        source = self.source(job)
        compression = source.get("InputCompressionType", "NONE")
        return reading.Way(source["InputFormat"], compression, conditions=True)

    def begin(self, job: Json, objects: Iterator[Listed]) -> None:
        total = sum(each.size_bytes for each in objects)
        ask(self.runtime, "upkeep.BeginBulk", {"Id": job["Id"], "Total": total})

    def rests(self, job: Json) -> bool:
        return monotonic() < self._rest_until.get(job["Id"], 0)

    def work(self, announced: bool) -> float:
        pause = super().work(announced)
        return REST_SECONDS if self._rest_until else pause

    def put(self, job: Json, body: Json, part: Part) -> bool:
        self._write_reports(job, job["Reports"], job["Pending"])
        job["Pending"] = {}
        puts = [
            msgspec.Raw(b'{"Item":%b%b}' % (record.item, record.condition)) for record in part.items
        ]
        key = part.before[0]
        body = {**body, "Items": puts, "TableName": job["TableName"], "Key": key}
        answer = ask(self.runtime, "upkeep.BulkItems", body)
        if answer["Stale"]:
            if answer.get("Gone"):
                raise Failed("TableNotFound", f"Table not found: {job['TableArn']}")
            return False
        job["Reports"], job["Pending"] = answer["Reports"], answer["Pending"]
        if rate := job["Request"].get("MaxWriteRequestUnits"):
            self._rest_until[job["Id"]] = monotonic() + answer["Units"] / rate
        return True

    def end(self, job: Json, failure: tuple[str, str] | None) -> None:
        """Write the last report and a manifest of all reports. Then end the job."""
        try:
            self._write_reports(job, job["Reports"], job["Pending"])
            if job["Reports"]:
                self._write_manifest(job)
        except Failed as error:
            failure = failure or (error.code, str(error))
        super().end(job, failure)
        self._rest_until.pop(job["Id"], None)

    def _folder(self, job: Json) -> str:
        prefix = job["Request"]["OutputS3Configuration"].get("S3KeyPrefix")
        folder = f"AWSDynamoDB/{job['Id']}"
        return f"{prefix}/{folder}" if prefix else folder

    def _put_object(self, job: Json, name: str, content: bytes) -> None:
        output = job["Request"]["OutputS3Configuration"]
        bucket = self.buckets.bucket(output.get("S3Bucket") or self.source(job)["S3Bucket"])
        with failing():
            bucket.put(f"{self._folder(job)}/{name}", content)

    def _write_reports(self, job: Json, number: int, lines: Json) -> None:
        for type_, some in lines.items():
            content = b"".join(msgspec.json.encode(line) + b"\n" for line in some)
            self._put_object(job, f"{type_}/{number:08d}.json", content)

    def _write_manifest(self, job: Json) -> None:
        output = job["Request"]["OutputS3Configuration"]
        bucket = self.buckets.bucket(output.get("S3Bucket") or self.source(job)["S3Bucket"])
        folder = self._folder(job)
        with failing():
            keys = [each.name for each in bucket.list(f"{folder}/") if "/0" in each.name]
        lines = [{"dataFileS3Key": key} for key in keys]
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        self._put_object(job, "manifest-files.json", content)
