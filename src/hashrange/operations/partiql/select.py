"""SELECT: finds the rows of a table or index that match a WHERE clause, and reads a page of them.

If the clause has partition key values, ranges of rows are read one after another, and each is
charged separately. Otherwise the table or index is scanned. NextToken is base64 of JSON: digest of
the statement, number of the range, key of the last row.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from functools import cmp_to_key
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec

from hashrange.engine import fetch, ranges, start_keys, throughput
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Admit, Moment
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.expressions import Condition, KeyQuery
from hashrange.expressions.partiql import Order, Select
from hashrange.expressions.partiql import keys as partiql_keys
from hashrange.expressions.partiql.keys import ReadPlan
from hashrange.model import numbers, requests
from hashrange.model.errors import ApiError, ValidationException
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.model.values import AttributeValue, Item, compare, normalize_item
from hashrange.operations.common import number_sets, outputs
from hashrange.operations.partiql import statements
from hashrange.operations.queries import indexes, pages
from hashrange.operations.queries.pages import ItemPage, PageOptions

_BAD_TOKEN = "Invalid NextToken"
DIGEST_BYTES = 16


class Position(NamedTuple):
    """The place where a page ends: the number of a range, and the key of the last row read in it,
    if any."""

    number: int
    key: Item | None


START = Position(0, None)
Numerals = Sequence[str]
"""The parameters that are numbers, as they were sent."""

_TOKEN: Any = tuple[bytes, int, dict[str, dict[Literal["S", "N", "B"], str]] | None]
"""The content of a token. It is flat, so that a forged token cannot contain nested values."""


def numerals(parameters: Sequence[AttributeValue] | None) -> Numerals:
    """The parameters that are numbers. Call this before binding the parameters, which converts
    numbers to canonical form."""
    return [each["N"] for each in parameters or () if each.get("N") is not None]


def parse_token(request: requests.ExecuteStatement, numerals: Numerals) -> Position:
    """The position at which the page begins. Raises ValidationException for another statement's
    token.

    The text and the parameter values must be those of the request that returned the token. The
    service treats 1 and 1.0 as different, and a list or map as different even from itself. So a
    token is always refused if a parameter is a list or map.
    """
    if request.next_token is None:
        return START
    try:
        content = urlsafe_b64decode(request.next_token)
        digest, number, key = msgspec.json.decode(content, type=_TOKEN)
    except (ValueError, msgspec.MsgspecError):
        raise ValidationException(_BAD_TOKEN) from None
    never = any(each.keys() & {"L", "M"} for each in request.parameters or ())
    if never or digest != _digest(request, numerals):
        raise ValidationException("NextToken does not match request")
    return Position(number, key)


def _token(request: requests.ExecuteStatement, numerals: Numerals, position: Position) -> str:
    return urlsafe_b64encode(msgspec.json.encode((_digest(request, numerals), *position))).decode()


def _digest(request: requests.ExecuteStatement, numerals: Numerals) -> bytes:
    scales = [numbers.scale(each) for each in numerals]
    content = msgspec.json.encode((request.statement, request.parameters, scales))
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def decide(
    request: requests.ExecuteStatement,
    statement: Select,
    numerals: Numerals,
    start: Position,
    moment: Moment,
) -> Decide:
    """Return a page of the items that the statement selects."""
    table = yield from fetch.table(statement.table_name, moment)
    consistent = bool(request.consistent_read)
    source = _source(table, statement, consistent)
    plan = _plan(table, source, statement)
    columns = statement.columns
    options = PageOptions(
        table,
        source,
        matches=Condition.of(plan.filter).matches if plan.filter else None,
        project=columns.project if columns else None,
        weight=statements.weight(statement),
        fetching=bool(indexes.unprojected(table, source, _columns(statement))),
        consistent=consistent,
        reverse=_reverse(source, statement.order),
        limit=request.limit,
        scanning=plan.queries is None,
    )
    every = _bounds(table, source, plan, statement.order, start, options.reverse)
    receipt = Receipt()
    if moment.asks_admission:
        yield from throughput.admit(Admit(table, source, every[0].start, written=False))
    page = yield from pages.read(options, every, receipt)
    receipt.returned = page.count
    response: Response = {"Items": page.items}
    key, end = _end(table, source, plan, page, len(every))
    if key is not None:
        spelled = _names_items(source, plan)
        response["LastEvaluatedKey"] = _spelled(key, numerals) if spelled else key
    if end is not None:
        end = end._replace(number=start.number + end.number)
        response["NextToken"] = _token(request, numerals, end)
    mode = request.return_consumed_capacity
    outputs.add_consumed(response, receipt, mode, statement.table_name)
    return answer(number_sets.in_hash_order(response), receipt)


def _end(
    table: Table, source: TableOrIndex, plan: ReadPlan, page: ItemPage, count: int
) -> tuple[Item | None, Position | None]:
    """The LastEvaluatedKey, and the position of the next page. The number in this position counts
    from the first of the `count` ranges that were left for this page.

    If a clause names items by their full keys, DynamoDB returns the key of the last item read, even
    if no page follows.
    """
    last = ranges.last_key(table, source, page.last) if page.last else None
    if not _names_items(source, plan):
        if page.ended_in is None:
            return None, None
        key = None if page.between else last
        return key, Position(page.ended_in, key)
    assert plan.queries is not None, (
        "a WHERE that names items by their keys must be planned as queries"
    )
    shown = last if page.full and plan.filter is None else None
    if page.ended_in is None:
        return shown, None
    number = page.ended_in if page.between else page.ended_in + 1
    return shown, Position(number, None) if number < count else None


def _names_items(source: TableOrIndex, plan: ReadPlan) -> bool:
    """Whether each query names a single item by its full key."""
    if plan.queries is None or isinstance(source, Index):
        return False
    return not source.range or all(query.range_equals for query in plan.queries)


def _spelled(key: Item, numerals: Numerals) -> Item:
    """The key as DynamoDB returns it: its numbers are spelled as in the parameters."""
    texts = {numbers.canonical(each): each for each in numerals}
    return {
        name: {"N": texts.get(value["N"], value["N"])} if "N" in value else value
        for name, value in key.items()
    }


def _reverse(source: TableOrIndex, order: Sequence[Order]) -> bool:
    """Whether partitions are read backwards: if ORDER BY has the sort key with DESC, or if the
    source has a sort key and ORDER BY names only the partition key."""
    sorts = [each.descending for each in order if each.name in source.range]
    return any(sorts) if sorts else bool(order and source.range)


def _source(table: Table, statement: Select, consistent: bool) -> TableOrIndex:
    """The table or index to read. Raises ValidationException if it cannot be read."""
    if statement.index_name is None:
        statement.check_columns()
        return table
    statements.check_index_keys(statement, table)
    index = table.index(statement.index_name)
    if index is None:
        raise ValidationException("The table does not have the specified index")
    statement.check_columns()
    if index.local:
        return index
    if consistent:
        raise ValidationException(
            "Strongly consistent read is not supported on Global Secondary Indexes"
        )
    if index.building:
        raise indexes.not_built(index)
    indexes.check_projected(table, index, _columns(statement))
    return index


def _columns(statement: Select) -> Sequence[str]:
    return statement.columns.attributes if statement.columns else ()


def _plan(table: Table, source: TableOrIndex, statement: Select) -> ReadPlan:
    range_name = source.range[0] if source.range else None
    plan = partiql_keys.plan(statement.where, source.hash[0], range_name, table.types)
    statements.check_disjoint(source, plan.queries or ())
    for order in statement.order:
        if order.name not in source.key:
            raise ValidationException(
                f"Attribute {order.name} in ORDER BY clause must be part of the primary key"
            )
    if statement.order and plan.queries is None:
        raise ValidationException(
            "Must have at least one non-optional hash key condition in WHERE clause when using "
            "ORDER BY clause."
        )
    sorts_partitions = any(order.name in source.hash for order in statement.order)
    if statement.order and not sorts_partitions and len(_partitions(plan.queries or ())) > 1:
        raise ValidationException(
            "Must have hash key in ORDER BY clause when more than one hash key condition "
            "specified in WHERE clause."
        )
    indexes.check_filter_projected(table, source, plan.filtered)
    return plan


def _bounds(
    table: Table,
    source: TableOrIndex,
    plan: ReadPlan,
    order: Sequence[Order],
    start: Position,
    reverse: bool,
) -> list[Bounds]:
    """The ranges that are still to be read. Raises ValidationException if the position `start` is
    not valid."""
    if plan.queries is None:
        every = [ranges.of_scan(None, None)]
    else:
        every = _in_order(source, plan.queries, order, reverse)
    if not 0 <= start.number < len(every):
        raise ValidationException(_BAD_TOKEN)
    left = every[start.number :]
    if start.key is not None:
        left[0] = _resume(table, source, left[0], start.key, reverse)
    return left


def _in_order(
    source: TableOrIndex, queries: Sequence[KeyQuery], order: Sequence[Order], reverse: bool
) -> list[Bounds]:
    """The ranges of the queries. Ranges of one partition are in the order of their sort keys.

    With ORDER BY, partitions are sorted by their keys. Otherwise they are in the order of the
    statement.
    """
    partitions = _partitions(queries)
    if order:
        descending = any(each.descending for each in order if each.name in source.hash)
        partitions.sort(key=cmp_to_key(_by_value), reverse=descending)
    ranks = {str([value]): rank for rank, value in enumerate(partitions)}
    placed = [(ranks[str(each.hash_values)], ranges.of_query(source, each)) for each in queries]
    placed.sort(key=lambda place: place[1].start, reverse=reverse)
    placed.sort(key=lambda place: place[0])
    return [bounds for _, bounds in placed]


def _partitions(queries: Sequence[KeyQuery]) -> list[AttributeValue]:
    """The distinct values of the partition key, in the order of the statement."""
    return list({str(query.hash_values): query.hash_values[0] for query in queries}.values())


def _by_value(a: AttributeValue, b: AttributeValue) -> int:
    return compare(a, b) or 0


def _resume(table: Table, source: TableOrIndex, bounds: Bounds, key: Item, reverse: bool) -> Bounds:
    try:
        normalize_item(key)
        return start_keys.resume(table, source, bounds, key, reverse)
    except ApiError:
        raise ValidationException(_BAD_TOKEN) from None
