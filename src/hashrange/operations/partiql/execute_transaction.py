"""ExecuteTransaction: up to 100 PartiQL statements, either all reads or all writes.

Each write becomes the same `ItemWrite` as in TransactWriteItems. EXISTS becomes a condition check.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from hashrange.engine import fetch, keys, throughput
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Decision, Response, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.writes import ItemWrite
from hashrange.expressions import partiql
from hashrange.expressions.partiql import Exists, Select, Statement
from hashrange.expressions.partiql import tree as partiql_tree
from hashrange.model import requests
from hashrange.model.errors import ApiError, ResourceNotFoundException, ValidationException
from hashrange.model.limits import TRANSACTION_BYTES_MAX
from hashrange.model.tables import Table
from hashrange.operations.common import inputs, number_sets, outputs
from hashrange.operations.common.parse import decode
from hashrange.operations.partiql import statements
from hashrange.operations.partiql.statements import AnyWrite
from hashrange.operations.transactions import cancellation, transaction
from hashrange.operations.transactions.transaction import Tables

T = TypeVar("T")

_MODE = "ReturnValuesOnConditionCheckFailure"


class Request(NamedTuple):
    """A checked request. Either `reads` or `changes` is empty."""

    body: requests.ExecuteTransaction
    reads: list[Select]
    changes: list[AnyWrite]
    fingerprint: bytes

    @property
    def writes(self) -> bool:
        return bool(self.changes)


def parse(body: bytes) -> Request:
    request = decode(body, requests.ExecuteTransaction)
    members = request.transact_statements
    size = 0
    parsed = []
    for at, member in enumerate(members):
        size += statements.normalize_all(member.parameters)
        parsed.append(_numbered(at, partiql.parse, member.statement))
    if len({isinstance(each, partiql_tree.Select) for each in parsed}) > 1:
        raise ValidationException(
            "ExecuteTransaction API does not support both read and write operations in the same "
            "request."
        )
    bound = [
        _numbered(at, _bind, *each) for at, each in enumerate(zip(parsed, members, strict=True))
    ]
    reads = [statement for statement in bound if isinstance(statement, Select)]
    changes = [statement for statement in bound if not isinstance(statement, Select)]
    cancellation.check_size(size)
    return Request(request, reads, changes, _fingerprint(request))


def _fingerprint(request: requests.ExecuteTransaction) -> bytes:
    """The fingerprint of a request. A ReturnValuesOnConditionCheckFailure of NONE counts as
    absent."""
    content = msgspec.to_builtins(request.transact_statements)
    for member in content:
        member["Statement"] = member["Statement"].strip()
        if member.get(_MODE) == "NONE":
            del member[_MODE]
    return transaction.fingerprint(content, request.return_consumed_capacity)


@inputs.legacy_validation
def _bind(parsed: partiql_tree.Statement, member: requests.ParameterizedStatement) -> Statement:
    statement = partiql.bind(parsed, member.parameters or ())
    if getattr(statement, "returning", None):
        raise ValidationException("RETURNING clause is not supported in ExecuteTransaction.")
    if isinstance(statement, Select):
        statement.check_columns()
    read = statement.select if isinstance(statement, Exists) else statement
    if isinstance(read, Select) and read.index_name is not None:
        raise ValidationException("Reads on indices are not supported within transactions.")
    return statement


def _numbered(position: int, function: Callable[..., T], *arguments: Any) -> T:
    """Call the function and return its result. If it raises ValidationException, the statement's
    position is added to the message."""
    try:
        return function(*arguments)
    except ValidationException as fault:
        raise ValidationException(
            f"Validation failed in TransactStatements[{position}]: {fault.message}"
        ) from None


def weight(request: Request) -> int:
    return max(map(statements.weight, (*request.reads, *request.changes)))


def decide(request: Request, moment: Moment) -> Decide:
    if request.reads:
        return (yield from _read(request, moment))
    token = transaction.ClientToken(request.body.client_request_token, request.fingerprint)
    item_writes, respond = partial(_item_writes, request, moment), partial(_respond, request)
    return (yield from transaction.decide(token, item_writes, respond, moment))


def _tables(request: Request, moment: Moment) -> Fetch[Tables]:
    """The tables by the names that the statements use.

    Raises TransactionCanceledException if a table does not exist. TransactWriteItems would raise
    ResourceNotFoundException.
    """
    names = [statements.table_name(each) for each in (*request.reads, *request.changes)]
    results: list[Table | ApiError] = []
    for name in names:
        try:
            results.append((yield from fetch.table(name, moment)))
        except ResourceNotFoundException as missing:
            results.append(missing)
    return dict(zip(names, cancellation.succeeded(results), strict=True))


# ---- writes ----


def _item_writes(request: Request, moment: Moment) -> Fetch[tuple[Tables, list[ItemWrite]]]:
    tables = yield from _tables(request, moment)
    pairs = list(zip(request.body.transact_statements, request.changes, strict=True))
    for position, statement in enumerate(request.changes):
        table = tables[statements.table_name(statement)]
        key, _ = _numbered(position, statements.target, statement, table)
        keys.check_none_empty(table, key)
    wanted = cancellation.prepared(
        [
            cancellation.attempt(
                statements.item_write,
                statement,
                tables[statements.table_name(statement)],
                member.return_values_on_condition_check_failure == "ALL_OLD",
            )
            for member, statement in pairs
        ]
    )
    cancellation.check_distinct([(write.table, write.key) for write in wanted])
    return tables, wanted


def _respond(request: Request, receipt: Receipt, tables: Tables) -> Response:
    response: Response = {"Responses": []}
    outputs.add_consumed_list(response, receipt, request.body.return_consumed_capacity, tables)
    return response


# ---- reads ----


def _read(request: Request, moment: Moment) -> Fetch[Decision]:
    tables = yield from _tables(request, moment)
    places = [tables[select.table_name] for select in request.reads]
    named = [
        _numbered(position, statements.single_key, select, table, "ExecuteTransaction")
        for position, (select, table) in enumerate(zip(request.reads, places, strict=True))
    ]
    targets = [
        cancellation.attempt(statements.row_key, table, key)
        for table, key in zip(places, named, strict=True)
    ]
    places_read = list(zip(places, cancellation.prepared(targets), strict=True))
    cancellation.check_distinct(places_read)
    if moment.asks_admission:
        asked = [throughput.of_read(table, key, consistent=True) for table, key in places_read]
        yield from throughput.admit_transaction(asked)
    rows = yield from fetch.items_of_one_moment(
        places_read, TRANSACTION_BYTES_MAX, cancellation.check_read
    )
    receipt = Receipt(transactional=True)
    responses: list[dict[str, Any]] = []
    for select, (table, key), row in zip(request.reads, places_read, rows, strict=True):
        receipt.add_read(table, key, row.size if row else 0, consistent=True)
        if row is None:
            responses.append({})
        elif select.columns:
            responses.append({"Item": (yield from outputs.shown(row, select.columns.project))})
        else:
            responses.append({"Item": Raw(row.json)})
    response: Response = {"Responses": responses}
    outputs.add_consumed_list(response, receipt, request.body.return_consumed_capacity, tables)
    return answer(number_sets.in_hash_order(response), receipt)
