"""The steps of a bulk put: items, some with conditions, are put into an existing table.

The puts of a step and the job's new position are committed together, as in an import. Items that
could not be put are stored with the job until they have been written to a report.
"""

from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine import bulk, fetch, jobs, keys, writes
from hashrange.engine.capacity import write_units
from hashrange.engine.decision import Decide, Decision, JobChange, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.writes import ItemWrite
from hashrange.model.errors import ApiError, ConditionalCheckFailedException
from hashrange.operations.items import put_item
from hashrange.operations.upkeep.import_items import Fault, Items

PENDING_BYTES_MAX = 8 * 1024 * 1024
"""The size of a step's report lines above which further lines are shorter: they leave out the
faulty record, or the existing item of a failed condition."""

_encode = msgspec.json.Encoder().encode


class BulkItems(Items, rename="pascal"):
    """The next records of a bulk put. Each element of `items` is a request to PutItem without
    TableName."""

    table_name: str
    key: str
    """The name of the object that contains the records."""


class Step(msgspec.Struct, gc=False):
    """The valid requests, each with its record number, and the faults of the invalid requests."""

    body: BulkItems
    valid: list[tuple[int, put_item.Request]]
    faults: list[Fault]


class Begin(msgspec.Struct, rename="pascal"):
    id: str
    total: int
    """The size of all objects in bytes."""


def parse_begin(body: bytes) -> Begin:
    return decoder(Begin).decode(body)


def decide_begin(request: Begin, moment: Moment) -> Decide:
    job = yield from jobs.by_id("bulk-operation", request.id)
    if job is None or not job.in_progress or job.begun:
        return answer({})
    figures = {**job.figures, "TotalInputBytes": request.total}
    return Decision([JobChange(job, replace(job, begun=True, figures=figures))], {})


def parse(body: bytes) -> Step:
    request = decoder(BulkItems).decode(body)
    step = Step(request, [], list(request.unreadable))
    named = b'{"TableName":%b,' % _encode(request.table_name)
    for number, text in zip(request.numbers, request.items, strict=True):
        try:
            step.valid.append((number, put_item.parse(named + bytes(text)[1:])))
        except ApiError as error:
            step.faults.append((number, error.message))
    return step


def decide(step: Step, moment: Moment) -> Decide:
    items = step.body
    job = yield from jobs.by_id("bulk-operation", items.id)
    if job is None or job.status != "IN_PROGRESS" or not items.fits(job):
        return answer({"Stale": True})
    table = yield from fetch.find_table(job.table_name)
    if table is None or table.id != job.table_id:
        return answer({"Stale": True, "Gone": True})
    puts: list[ItemWrite] = []
    numbers: list[int] = []
    faults = list(step.faults)
    for number, request in step.valid:
        try:
            item = request.body.item
            keys.check_present(table, item)
            puts.append(writes.put(table, item, request.size, request.condition, return_old=True))
        except ApiError as error:
            faults.append((number, error.message))
        else:
            numbers.append(number)
    changes, refusals = yield from bulk.put_all(puts, moment)
    failed: list[tuple[int, ConditionalCheckFailedException]] = []
    for index, refusal in refusals:
        if isinstance(refusal, ConditionalCheckFailedException):
            failed.append((numbers[index], refusal))
        else:
            faults.append((numbers[index], refusal.message))
    reports = _Reports(job.request["OutputS3Configuration"]["OutputType"], items.key)
    reports.add_faults(faults, dict(zip(items.numbers, items.items, strict=True)))
    reports.add_failed(failed, step)
    after = items.advanced(
        job,
        ProcessedItemCount=len(items.items) + len(items.unreadable),
        FailedItemCount=len(faults),
        BulkPutBytes=sum(change.new_size for change in changes),
    )
    after.figures["ProcessedInputBytes"] = items.bytes_before + items.bytes
    after = replace(
        after, pending=reports.lines, reports=job.reports + 1 if reports.lines else job.reports
    )
    response: dict[str, Any] = {
        "Stale": False,
        "Units": sum(write_units(change.new_size) for change in changes),
        "Pending": reports.lines,
        "Reports": after.reports,
    }
    return Decision([JobChange(job, after), *changes], response)


class _Reports:
    """Report lines of the requested types, for items that were not put."""

    def __init__(self, types: list[str], key: str) -> None:
        self.lines: dict[str, list[Raw]] = {}
        self._types = types
        self._key = key
        self._size = 0

    def add_faults(self, faults: list[Fault], texts: dict[int, Raw]) -> None:
        for number, message in sorted(faults):
            line: dict[str, Any] = {"ErrorMessage": message}
            if number in texts and len(bytes(texts[number])) + self._size < PENDING_BYTES_MAX:
                line["Record"] = texts[number]
            self._add("ERROR", number, line)

    def add_failed(
        self, failed: list[tuple[int, ConditionalCheckFailedException]], step: Step
    ) -> None:
        """Add a line for each put whose condition failed.

        A line has the item of the put and, if there is room for it, the existing item.
        """
        attempted = {number: request.body.item for number, request in step.valid}
        for number, error in failed:
            line: dict[str, Any] = {"Item": attempted[number]}
            if (there := error.members.get("Item")) and self._size < PENDING_BYTES_MAX:
                line["ExistingItem"] = there
            self._add("CONDITION_CHECK_FAILURE", number, line)

    def _add(self, type_: str, number: int, line: dict[str, Any]) -> None:
        if type_ in self._types:
            text = _encode({"S3Key": self._key, "RecordNumber": number, **line})
            self._size += len(text)
            self.lines.setdefault(type_, []).append(Raw(text))
