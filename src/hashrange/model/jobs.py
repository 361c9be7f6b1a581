"""Jobs between tables and an object store: imports, exports and bulk puts."""

from typing import Any, Literal

from msgspec import Raw, Struct

from hashrange.model.caller import Caller

Kind = Literal["import", "export", "bulk-operation"]

WHOLE = -1
"""The value of `records` in a job's position if all records of the object have been handled."""


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job of one table. `id` begins with the job's start in milliseconds, so ids sort by start.

    `request` has the members of the request that began the job. Times are in epoch seconds.
    `figures` are the counts in the job's description, by the names of their members. `begun` means,
    by kind: the table of an import exists; the objects of a bulk put were counted; the content of
    an export is fixed.

    A job that puts items continues from its position. It has handled all objects before the object
    `key`, which have `bytes_before` bytes together. Of this object it has handled the first
    `records` records and, in the order in which items are stored, `done` of the next `group`
    records. `hash` is the HASH attribute of its table.

    `reports` counts the reports of a bulk put, which list the items that were not put. `pending`
    has the lines of the last report, by the report's type, until the next step shows that the
    report was written. `shows` is the moment whose state of the table is exported.
    """

    kind: Kind
    id: str
    table_name: str
    table_arn: str
    table_id: str
    caller: Caller
    request: dict[str, Any]
    started_at: float
    ended_at: float | None = None
    status: str = "IN_PROGRESS"
    failure_code: str | None = None
    failure_message: str | None = None
    begun: bool = False
    key: str = ""
    records: int = 0
    group: int = 0
    done: int = 0
    bytes_before: int = 0
    shows: float | None = None
    hash: str = ""
    reports: int = 0
    pending: dict[str, list[Raw]] = {}
    figures: dict[str, int] = {}

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/{self.kind}/{self.id}"

    @property
    def shows_from(self) -> float:
        """The earliest moment whose changes an export needs."""
        assert self.shows is not None, "the job must be an export"
        period = self.request.get("IncrementalExportSpecification", {})
        since: float = period.get("ExportFromTime", self.shows)
        return since

    @property
    def in_progress(self) -> bool:
        return self.ended_at is None
