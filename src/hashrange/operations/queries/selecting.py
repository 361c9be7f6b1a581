"""SELECT: which rows of a table or index a WHERE clause asks for, and a page of them.

It reads one partition after the other where the clause names partition keys, and scans where it
does not. Between pages stands a NextToken: base64 of JSON (statement's digest, number of the
partition, key of the last row).
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from functools import cmp_to_key
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec

from hashrange.engine import fetch, ranges, start_keys
from hashrange.engine.capacity import Consumed
from hashrange.engine.decision import Response
from hashrange.engine.fetch import Bounds, Fetch, Moment
from hashrange.engine.keys import INVALID
from hashrange.expressions import Condition, KeyQuery
from hashrange.expressions.partiql import Order, Select
from hashrange.expressions.partiql import keys as partiql_keys
from hashrange.expressions.partiql.keys import Plan
from hashrange.model import requests
from hashrange.model.errors import ApiError, ValidationException
from hashrange.model.limits import PAGE_BYTES_MAX
from hashrange.model.tables import Index, Table, View
from hashrange.model.values import Item, compare, normalize_item
from hashrange.operations.common import outputs
from hashrange.operations.partiql import statements
from hashrange.operations.queries.reading import Page, Walk, walk_all

_BAD_TOKEN = "Invalid NextToken"
DIGEST_BYTES = 16


class Position(NamedTuple):
    """Where a page ends: in which of the partitions, and at which row (None: before the first)."""

    partition: int
    key: Item | None


START = Position(0, None)
_TOKEN: Any = tuple[bytes, int, dict[str, dict[Literal["S", "N", "B"], str]] | None]
"""Shallow, so that nothing nested comes in by a token that is not ours."""


def parse_token(given: requests.ExecuteStatement) -> Position:
    """Where to go on. Raises ValidationException for what is no token of this statement."""
    if given.next_token is None:
        return START
    try:
        content = urlsafe_b64decode(given.next_token)
        digest, partition, key = msgspec.json.decode(content, type=_TOKEN)
    except (ValueError, msgspec.MsgspecError):
        raise ValidationException(_BAD_TOKEN) from None
    if digest != _digest(given):
        raise ValidationException("NextToken does not match request")
    return Position(partition, key)


def _token(given: requests.ExecuteStatement, position: Position) -> str:
    return urlsafe_b64encode(msgspec.json.encode((_digest(given), *position))).decode()


def _digest(given: requests.ExecuteStatement) -> bytes:
    content = msgspec.json.encode((given.statement, given.parameters))
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def select(
    given: requests.ExecuteStatement, statement: Select, start: Position, moment: Moment
) -> Fetch[Response]:
    """A page of what the statement selects."""
    table = yield from fetch.table(statement.table_name, moment)
    consistent = bool(given.consistent_read)
    view = _view(table, statement, consistent)
    plan = _plan(table, view, statement)
    how = Walk(
        matches=Condition.of(plan.filter).matches if plan.filter else None,
        project=statement.columns.project if statement.columns else None,
        fetching=isinstance(view, Index) and bool(_unprojected(table, view, _columns(statement))),
        consistent=consistent,
        reverse=any(order.descending for order in statement.order if order.name in view.range),
    )
    bounds = _bounds(table, view, plan, statement.order, start, how.reverse)
    stretches = [[each] for each in bounds]
    if plan.queries is None and given.return_consumed_capacity:
        stretches = [ranges.by_partition(table, view, *bounds)]
    response: Response = {"Items": []}
    consumed = Consumed(table)
    end = yield from _walk_all(table, view, stretches, how, start, given.limit, response, consumed)
    if end:
        if end.key is not None:
            response["LastEvaluatedKey"] = end.key
        response["NextToken"] = _token(given, end)
    mode = given.return_consumed_capacity
    outputs.add_consumed(response, consumed, mode, statement.table_name)
    return response


def _walk_all(
    table: Table,
    view: View,
    stretches: Sequence[Sequence[Bounds]],
    how: Walk,
    start: Position,
    limit: int | None,
    response: Response,
    consumed: Consumed,
) -> Fetch[Position | None]:
    """Fill the page from all in turn; gives where it ends, if that is not the end of all."""
    items: list[Any] = response["Items"]
    scanned = size = 0
    for number, each in enumerate(stretches, start.partition):
        page = Page()
        rows_max = None if limit is None else limit - scanned
        if rows_max == 0 or size >= PAGE_BYTES_MAX:
            return Position(number, None)
        bytes_max = PAGE_BYTES_MAX - size
        left = yield from walk_all(table, view, each, how, rows_max, bytes_max, page)
        page.charge(consumed, view)
        items.extend(page.items)
        scanned += page.scanned
        size += page.evaluated
        if left and page.last:
            return Position(number, ranges.last_key(table, view, page.last))
    return None


# ---- which rows ----


def _view(table: Table, statement: Select, consistent: bool) -> View:
    if statement.index_name is None:
        return table
    statements.check_index_keys(statement, table)
    index = table.index(statement.index_name)
    if index is None:
        raise ValidationException("The table does not have the specified index")
    if index.local:
        return index
    if consistent:
        raise ValidationException(
            "Strongly consistent read is not supported on Global Secondary Indexes"
        )
    if index.building:
        raise ValidationException(
            f"Cannot read from backfilling global secondary index: {index.name}"
        )
    missing = _unprojected(table, index, _columns(statement))
    if missing:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return index


def _columns(statement: Select) -> Sequence[str]:
    return statement.columns.attributes if statement.columns else ()


def _unprojected(table: Table, index: Index, names: Sequence[str]) -> list[str]:
    if index.projection == "ALL":
        return []
    return [name for name in names if name not in (*table.key, *index.key, *index.include)]


def _plan(table: Table, view: View, statement: Select) -> Plan:
    range_name = view.range[0] if view.range else None
    plan = partiql_keys.plan(statement.where, view.hash[0], range_name, table.types)
    for order in statement.order:
        if order.name not in view.key:
            raise ValidationException(
                f"Variable reference {order.name} in ORDER BY clause must be part of the primary "
                "key"
            )
    if statement.order and plan.queries is None:
        raise ValidationException(
            "Must have at least one non-optional hash key condition in WHERE clause when using "
            "ORDER BY clause."
        )
    missing = _unprojected(table, view, plan.filtered) if isinstance(view, Index) else []
    if missing:
        assert isinstance(view, Index)
        raise ValidationException(
            f"{INVALID}Secondary index {view.name} does not project one or more filter "
            f"attributes: [{', '.join(missing)}]"
        )
    return plan


def _bounds(
    table: Table, view: View, plan: Plan, order: Sequence[Order], start: Position, reverse: bool
) -> list[Bounds]:
    """What is left to read at a position, partition by partition."""
    if plan.queries is None:
        every = [ranges.of_scan(None, None)]
    else:
        queries = _in_order(view, plan.queries, order)
        every = [ranges.of_query(view, query) for query in queries]
    if not 0 <= start.partition < len(every):
        raise ValidationException(_BAD_TOKEN)
    left = every[start.partition :]
    if start.key is not None:
        left[0] = _resume(table, view, left[0], start.key, reverse)
    return left


def _in_order(view: View, queries: list[KeyQuery], order: Sequence[Order]) -> list[KeyQuery]:
    """ORDER BY sorts partitions too, whether it names their key or not."""
    if not order:
        return queries
    descending = any(each.descending for each in order if each.name in view.hash)

    def by_value(a: KeyQuery, b: KeyQuery) -> int:
        return compare(a.hash_values[0], b.hash_values[0]) or 0

    return sorted(queries, key=cmp_to_key(by_value), reverse=descending)


def _resume(table: Table, view: View, bounds: Bounds, key: Item, reverse: bool) -> Bounds:
    try:
        normalize_item(key)
        return start_keys.resume(table, view, bounds, key, reverse)
    except ApiError:
        raise ValidationException(_BAD_TOKEN) from None
