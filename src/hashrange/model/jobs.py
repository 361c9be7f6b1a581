"""Jobs between tables and an object store, as the catalog keeps them: imports and exports."""

from typing import Any, Literal

from msgspec import Struct

from hashrange.model.caller import Caller

Kind = Literal["import", "export"]

WHOLE = -1
"""The position in an object that was read to its end."""


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job of one table. `id` begins with the milliseconds of its start: ids are in order.

    `request` has the members with which the job was asked for. Times are in epoch seconds. An
    import goes on from its position: `records` have been dealt with in the object `key`, then
    `done` of the next `group` records in the order in which they are stored, and all objects
    before, whose sizes in bytes are `bytes_before` together. An export `shows` its table as of a
    moment. `figures` are the counts that
    its description has, by the names of their members. `begun` says that the table of an import
    exists, or that an export has chosen the moment that it shows.
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
    figures: dict[str, int] = {}

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/{self.kind}/{self.id}"

    @property
    def in_progress(self) -> bool:
        return self.ended_at is None
