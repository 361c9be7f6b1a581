"""The steps of an import: its table is created, and items are put into it.

The items of a step and the job's new position are committed together. So after a restart, an import
continues exactly where it stopped: no item is counted twice.
"""

from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine import bulk, fetch, jobs, keys, writes
from hashrange.engine.decision import (
    AnyChange,
    Decide,
    Decision,
    ItemChange,
    JobChange,
    TableChange,
    answer,
)
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.writes import ItemWrite
from hashrange.model.errors import ApiError
from hashrange.model.jobs import Job
from hashrange.model.tables import Table
from hashrange.model.values import Item
from hashrange.operations.common import inputs
from hashrange.operations.tables import create_table

IMPORTING = 253_402_300_799.0
"""The time, in the year 9999, at which a table that is being imported would become ACTIVE. The end
of the import makes it ACTIVE before then."""
_decode_item = decoder(Item).decode
NOT_AN_ITEM = "The item is not a map of attribute values"

Fault = tuple[int, str]
"""The number of a faulty record in its object, and a text that describes the fault."""


class Begin(msgspec.Struct, rename="pascal"):
    id: str


def parse_begin(body: bytes) -> Begin:
    return decoder(Begin).decode(body)


def decide_begin(request: Begin, moment: Moment) -> Decide:
    """Creates the table. If CreateTable refuses it, the import fails."""
    job = yield from jobs.by_id("import", request.id)
    if job is None or not job.in_progress or job.begun:
        return answer({})
    asked = msgspec.json.encode(job.request["TableCreationParameters"])
    try:
        created = yield from create_table.decide(
            create_table.parse(asked), msgspec.structs.replace(moment, caller=job.caller)
        )
    except ApiError as error:
        code = type(error).__name__.removesuffix("Exception")
        failed = replace(
            job,
            status="FAILED",
            ended_at=moment.now,
            failure_code=code,
            failure_message=error.message,
        )
        return Decision([JobChange(job, failed)], {})
    changes = [_until_it_ends(change, job) for change in created.changes]
    return Decision([*changes, JobChange(job, replace(job, begun=True))], {})


def _until_it_ends(change: AnyChange, job: Job) -> AnyChange:
    """The same change, but a table that it creates stays CREATING until the import has ended."""
    if isinstance(change, TableChange) and change.new is not None:
        return TableChange(None, replace(change.new, id=job.table_id, active_at=IMPORTING))
    return change


Position = tuple[str, int, int, int]
"""The position of a job: its members `key`, `records`, `group` and `done` (see `Job`)."""


class Items(msgspec.Struct, rename="pascal"):
    """The next records of a job. `after` and `before` are the job's positions before and after
    them.

    `unreadable` are records that are not items. `bytes_before` is the size of all earlier objects,
    and `bytes` is the number of bytes that have been read from the object of these records.
    """

    id: str
    after: Position
    before: Position
    numbers: list[int]
    items: list[Raw]
    unreadable: list[Fault]
    bytes_before: int
    bytes: int

    def fits(self, job: Job) -> bool:
        """Whether the job is in progress, and these records are its next ones."""
        position = (job.key, job.records, job.group, job.done)
        return job.status == "IN_PROGRESS" and position == self.after

    def advanced(self, job: Job, **more: int) -> Job:
        """The job after these records. The numbers in `more` are added to its figures."""
        key, records, group, done = self.before
        counts = {name: job.figures.get(name, 0) + number for name, number in more.items()}
        return replace(
            job,
            key=key,
            records=records,
            group=group,
            done=done,
            bytes_before=self.bytes_before,
            figures={**job.figures, **counts},
        )


class Step(msgspec.Struct, gc=False):
    """The valid items, each with its record number and size in bytes, and the faults of the invalid
    items."""

    body: Items
    valid: list[tuple[int, Item, int]]
    faults: list[Fault]


def parse(body: bytes) -> Step:
    request = decoder(Items).decode(body)
    step = Step(request, [], [])
    for number, text in zip(request.numbers, request.items, strict=True):
        try:
            item = _decode_item(text)
            size = inputs.item(item)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            step.faults.append((number, NOT_AN_ITEM))
        except ApiError as error:
            step.faults.append((number, error.message))
        else:
            step.valid.append((number, item, size))
    return step


def decide(step: Step, moment: Moment) -> Decide:
    """Puts the valid items, and returns the faults of all items that were not put."""
    request = step.body
    job = yield from jobs.by_id("import", request.id)
    table = (yield from fetch.find_table(job.table_name)) if job else None
    if job is None or table is None or table.id != job.table_id or not request.fits(job):
        return answer({"Stale": True})
    changes, unfit = yield from _put(table, step.valid, moment)
    faults = [*step.faults, *unfit]
    unreadable = len(request.unreadable)
    after = request.advanced(
        job,
        ErrorCount=len(faults) + unreadable,
        ProcessedItemCount=len(request.items) + unreadable,
        ImportedItemCount=len(request.items) - len(faults),
    )
    after.figures["ProcessedSizeBytes"] = request.bytes_before + request.bytes
    response: dict[str, Any] = {"Stale": False, "Faults": faults}
    return Decision([JobChange(job, after), *changes], response)


def _put(
    table: Table, items: list[tuple[int, Item, int]], moment: Moment
) -> Fetch[tuple[list[ItemChange], list[Fault]]]:
    """The changes that put the items, and the faults of the items that cannot be put."""
    puts: list[ItemWrite] = []
    numbers: list[int] = []
    faults: list[Fault] = []
    for number, item, size in items:
        try:
            keys.check_present(table, item)
            puts.append(writes.put(table, item, size, None, return_old=False))
        except ApiError as error:
            faults.append((number, error.message))
        else:
            numbers.append(number)
    changes, refusals = yield from bulk.put_all(puts, moment)
    faults += [(numbers[index], error.message) for index, error in refusals]
    return changes, faults
