"""BatchExecuteStatement: up to 25 PartiQL statements on single items, all reads or all writes.

If a statement fails, its place in the response has an Error, and the other statements still run.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from hashrange.engine import fetch, throughput, writes
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Decision, ItemChange, Response, answer
from hashrange.engine.fetch import Admit, Fetch, Moment
from hashrange.engine.keyspace.keys import RowKey
from hashrange.engine.keyspace.rows import Row
from hashrange.engine.writes import ItemWrite
from hashrange.expressions import partiql
from hashrange.expressions.partiql import Exists, Select, Statement
from hashrange.expressions.partiql import tree as partiql_tree
from hashrange.model import requests
from hashrange.model.errors import (
    ApiError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ThrottlingException,
    ValidationException,
)
from hashrange.model.tables import Table
from hashrange.operations.common import inputs, number_sets, outputs
from hashrange.operations.common.parse import decode
from hashrange.operations.operation import Division, Outcomes, Part
from hashrange.operations.partiql import statements

Member = requests.BatchStatementRequest

_THROTTLED: dict[type[ApiError], str] = {
    ThrottlingException: "ThrottlingError",
    ProvisionedThroughputExceededException: "ProvisionedThroughputExceeded",
    RequestLimitExceeded: "RequestLimitExceeded",
}


class Wanted(NamedTuple):
    """An item to be read."""

    table: Table
    key: RowKey


Target = Wanted | ItemWrite
"""The item that a member reads or writes."""


class Request(NamedTuple):
    """A checked request. For each member, `bound` has either its statement or the error in it."""

    body: requests.BatchExecuteStatement
    bound: list[Statement | ApiError]
    writes: bool


def parse(body: bytes) -> Request:
    request = decode(body, requests.BatchExecuteStatement)
    kinds = {_kind(member) for member in request.statements} - {None}
    if len(kinds) > 1:
        raise ValidationException(
            "Read and write requests together in the same batch is not supported."
        )
    return Request(request, [_bind(member) for member in request.statements], "write" in kinds)


def _kind(member: Member) -> Literal["read", "write"] | None:
    """Whether a member reads or writes, according to the text of its statement.

    None if a parameter is invalid, if the text is not a valid statement, or if it is EXISTS.
    """
    try:
        statements.normalize_all(member.parameters)
        parsed = partiql.parse(member.statement)
    except ApiError:
        return None
    if isinstance(parsed, partiql_tree.Exists):
        return None
    return "read" if isinstance(parsed, partiql_tree.Select) else "write"


def _bind(member: Member) -> Statement | ApiError:
    try:
        statement = statements.bind(member.statement, member.parameters)
        if isinstance(statement, Exists):
            raise ValidationException(partiql.EXISTS_MISPLACED)
        return statement
    except ApiError as fault:
        return fault


def weight(request: Request) -> int:
    bound = (each for each in request.bound if not isinstance(each, ApiError))
    return max(map(statements.weight, bound), default=0)


def decide(request: Request, moment: Moment) -> Decide:
    targets: list[Target | ApiError] = []
    for member, each in zip(request.body.statements, request.bound, strict=True):
        if isinstance(each, ApiError):
            targets.append(each)
        else:
            targets.append((yield from _target(member, each, moment)))
    _check_distinct(targets)
    if moment.asks_admission:
        targets = yield from _admitted(request, targets)
    if request.writes:
        return (yield from _write(request, targets, moment))
    return (yield from _read(request, targets))


def _target(member: Member, statement: Statement, moment: Moment) -> Fetch[Target | ApiError]:
    try:
        table = yield from fetch.table(statements.table_name(statement), moment)
        return _target_in(table, member, statement)
    except ApiError as fault:
        return fault


def _target_in(table: Table, member: Member, statement: Statement) -> Target:
    if isinstance(statement, Select):
        key = statements.single_key(statement, table, "BatchExecuteStatement")
        return Wanted(table, statements.row_key(table, key))
    return_old = member.return_values_on_condition_check_failure == "ALL_OLD"
    return statements.item_write(statement, table, return_old)


def _check_distinct(targets: Sequence[Target | ApiError]) -> None:
    valid = [target for target in targets if not isinstance(target, ApiError)]
    if len({(target.table.space, target.key.key) for target in valid}) < len(valid):
        raise ValidationException(inputs.DUPLICATES)


def _admitted(request: Request, targets: list[Target | ApiError]) -> Fetch[list[Target | ApiError]]:
    """The targets, with an error in place of each target that throttling refuses."""
    asked = [
        _admission(target, bool(member.consistent_read))
        for member, target in zip(request.body.statements, targets, strict=True)
        if not isinstance(target, ApiError)
    ]
    refusals = iter((yield from throughput.admit_each(asked)))
    return [
        target if isinstance(target, ApiError) else next(refusals) or target for target in targets
    ]


def _admission(target: Target, consistent: bool) -> Admit:
    if isinstance(target, ItemWrite):
        return writes.admission(target)
    return throughput.of_read(target.table, target.key, consistent)


def _read(request: Request, targets: Sequence[Target | ApiError]) -> Decide:
    wanted = [target for target in targets if isinstance(target, Wanted)]
    rows = iter((yield from fetch.items(wanted)))
    receipt = Receipt()
    outcomes: list[Any] = []
    for member, statement, target in zip(
        request.body.statements, request.bound, targets, strict=True
    ):
        if not isinstance(target, Wanted):
            outcomes.append(target)
            continue
        row: Row | None = next(rows)
        size = row.size if row else 0
        receipt.add_read(target.table, target.key, size, bool(member.consistent_read))
        assert isinstance(statement, Select), "a batch with a read must have only reads"
        shown: Any = None
        if row and statement.columns:
            shown = yield from outputs.shown(row, statement.columns.project)
        elif row:
            shown = Raw(row.json)
        outcomes.append(shown)
    return answer(_respond(request, targets, outcomes, lambda _, item: item, receipt), receipt)


def _write(request: Request, targets: Sequence[Target | ApiError], moment: Moment) -> Decide:
    wanted = [target for target in targets if isinstance(target, ItemWrite)]
    before = iter((yield from writes.read(wanted)))
    outcomes: list[Any] = []
    refused = Receipt()
    for target in targets:
        if not isinstance(target, ItemWrite):
            outcomes.append(target)
            continue
        old = next(before)
        try:
            outcomes.append(writes.decide(target, old, moment))
        except ApiError as refusal:
            outcomes.append(refusal)
            if refusal.receipt is not None:
                refused.charges += refusal.receipt.charges
    changes = [outcome for outcome in outcomes if isinstance(outcome, ItemChange)]

    def respond(receipt: Receipt) -> Raw:
        response = _respond(request, targets, outcomes, statements.returned, receipt, refused)
        receipt.charges += refused.charges
        return response

    return Decision(changes, respond)


def _respond(
    request: Request,
    targets: Sequence[Target | ApiError],
    outcomes: Sequence[Any],
    shown: Callable[[Any, Any], Any],
    receipt: Receipt,
    refused: Receipt | None = None,
) -> Raw:
    """The response. Each member's part names its table if the table was found, even if the member
    failed. `shown` makes the item to return from a member's statement and outcome.

    `refused` has the units of failed conditions. DynamoDB shows them only in the sum of a table to
    which another member has written.
    """
    responses: list[dict[str, Any]] = []
    tables: dict[str, Table] = {}
    for statement, target, outcome in zip(request.bound, targets, outcomes, strict=True):
        response: dict[str, Any] = {}
        if isinstance(outcome, ApiError):
            response["Error"] = _error(outcome)
        elif (item := shown(statement, outcome)) is not None:
            response["Item"] = item
        if not isinstance(target, ApiError) and not isinstance(statement, ApiError):
            response["TableName"] = statements.table_name(statement)
            tables[response["TableName"]] = target.table
        responses.append(response)
    answered: Response = {"Responses": responses}
    mode = request.body.return_consumed_capacity
    outputs.add_consumed_list(answered, receipt, mode, tables)
    charges = refused.charges if refused else ()
    for consumed in answered.get("ConsumedCapacity", ()):
        name = tables[consumed["TableName"]].name
        consumed["CapacityUnits"] += sum(each.units for each in charges if each.table.name == name)
    return number_sets.in_hash_order(answered)


def _error(fault: ApiError) -> dict[str, Any]:
    if type(fault) in _THROTTLED:
        return {"Code": _THROTTLED[type(fault)], "Message": fault.message}  # without reasons
    code = fault.code.removesuffix("Exception")
    if isinstance(fault, ValidationException):
        code = "ValidationError"
    return {"Code": code, "Message": fault.message, **fault.members}


# ---- a part for each place ----


def divide(
    request: Request, tables: Mapping[str, Table], place_of: Callable[[bytes], Hashable]
) -> list[Part]:
    """See `Division`. Reads are not divided: a store reads from several places at once. Nor is a
    request for capacity, because the units that are shown for one failed condition depend on the
    other statements."""
    if not request.writes or request.body.return_consumed_capacity not in (None, "NONE"):
        return []
    groups: dict[Hashable, list[int]] = {}
    faulty: list[int] = []
    for number, member in enumerate(request.body.statements):
        try:
            key = _key(member, request.bound[number], tables)
            groups.setdefault(place_of(key), []).append(number)
        except ApiError:
            faulty.append(number)
    if len(groups) < 2:
        return []
    next(iter(groups.values())).extend(faulty)
    return [_part(request, group) for group in groups.values()]


def _key(member: Member, statement: Statement | ApiError, tables: Mapping[str, Table]) -> bytes:
    """The row key that a statement writes. Raises ApiError if the statement has a fault."""
    if isinstance(statement, ApiError):
        raise statement
    table = tables[fetch.plain_name(statements.table_name(statement))]
    return _target_in(table, member, statement).key.key


def _part(request: Request, numbers: Sequence[int]) -> Part:
    """The part with the statements of these numbers."""
    members = [request.body.statements[number] for number in numbers]
    body = replace(request.body, statements=members)
    bound = [request.bound[number] for number in numbers]
    return Part(Request(body, bound, writes=True), json.encode(body))


def join(request: Request, parts: Sequence[Part], outcomes: Outcomes) -> bytes:
    """See `Division`. The statements of a part that has failed have the part's error.

    This is also the answer to a statement that is invalid for its table. Whether its caller may
    know that was to be decided in the part.
    """
    failures = [outcome for outcome in outcomes if isinstance(outcome, ApiError)]
    if len(failures) == len(outcomes):
        raise failures[0]
    responses: dict[int, Any] = {}  # by the identity of the statements, since two may be equal
    for part, outcome in zip(parts, outcomes, strict=True):
        members = part.request.body.statements
        if isinstance(outcome, ApiError):
            answers: Sequence[Any] = [_failed(each, outcome) for each in part.request.bound]
        else:
            answers = json.decode(outcome, type=_Answer).responses
        responses.update(zip(map(id, members), answers, strict=True))
    return json.encode({"Responses": [responses[id(it)] for it in request.body.statements]})


class _Answer(Struct, rename="pascal"):
    """The members of a part's response."""

    responses: list[Raw]


def _failed(statement: Statement | ApiError, failure: ApiError) -> dict[str, Any]:
    if isinstance(statement, ApiError):
        return {"Error": _error(statement)}
    return {"Error": _error(failure), "TableName": statements.table_name(statement)}


DIVISION = Division(divide, join)
