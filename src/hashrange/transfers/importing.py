"""Imports: put items from objects into a new table. See `loading`."""

import logging
from collections.abc import Iterator

import msgspec

from hashrange.model.jobs import Kind
from hashrange.objects import Listed
from hashrange.runtime.background import RunsUpkeep, ask
from hashrange.transfers import reading
from hashrange.transfers.buckets import Buckets
from hashrange.transfers.loading import Json, Loader, Part

LOGGED_MAX = 100
"""The largest number of faulty items of an import that are logged. Further items are only
counted."""

_log = logging.getLogger("hashrange")


class Imports(Loader):
    kind: Kind = "import"
    name = "hashrange-imports"

    def __init__(self, runtime: RunsUpkeep, buckets: Buckets) -> None:
        self._logged: dict[str, int] = {}
        super().__init__(runtime, buckets)

    def source(self, job: Json) -> Json:
        source: Json = job["Request"]["S3BucketSource"]
        return source

    def way(self, job: Json) -> reading.Way:
        return reading.way(job["Request"])

    def begin(self, job: Json, objects: Iterator[Listed]) -> None:
        """Create the table, but only if the bucket can be listed."""
        next(objects, None)
        ask(self.runtime, "upkeep.BeginImport", {"Id": job["Id"]})

    def put(self, job: Json, body: Json, part: Part) -> bool:
        items = [msgspec.Raw(record.item) for record in part.items]
        answer = ask(self.runtime, "upkeep.ImportItems", {**body, "Items": items})
        if answer["Stale"]:
            return False
        logged = self._logged.get(job["Id"], 0)
        for number, fault in sorted([*part.faults, *map(tuple, answer["Faults"])]):
            logged += 1
            if logged <= LOGGED_MAX:
                self._log_fault(job, part.before[0], number, fault)
        self._logged[job["Id"]] = logged
        return True

    def end(self, job: Json, failure: tuple[str, str] | None) -> None:
        super().end(job, failure)
        left = self._logged.pop(job["Id"], 0) - LOGGED_MAX
        if left > 0:
            _log.warning("%s: %d more items are faulty, and are not logged", job["Arn"], left)

    def _log_fault(self, job: Json, key: str, number: int, fault: str) -> None:
        """Log a faulty item in the form of the service's log, which is assumed to count items from
        0."""
        told = {
            "itemS3Pointer": {
                "bucket": self.source(job)["S3Bucket"],
                "key": key,
                "itemIndex": number - 1,
            },
            "importArn": job["Arn"],
            "errorMessages": [fault],
        }
        _log.warning("%s", msgspec.json.encode(told).decode())
