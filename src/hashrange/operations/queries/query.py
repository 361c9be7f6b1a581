"""Query: items of one partition key value, in the order of the sort key."""

from msgspec import Struct

from hashrange.engine import ranges, start_keys
from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.expressions import Condition, KeyCondition, Projection, legacy
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table, TableOrIndex
from hashrange.model.values import normalize_item
from hashrange.operations.common import inputs
from hashrange.operations.common.parse import decode
from hashrange.operations.queries import indexes, parameters
from hashrange.operations.queries.parameters import Parameters


class Request(Struct, gc=False):
    given: requests.Query
    key_condition: KeyCondition
    parameters: Parameters


_NEW = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
_OLD = ("AttributesToGet", "QueryFilter", "ConditionalOperator")
_OLD_AND_KEY = (*_OLD, "KeyConditions")
"""KeyConditions may be used with all expressions except the one that replaced them."""


def parse(body: bytes) -> Request:
    given = decode(body, requests.Query)
    old = _OLD if given.key_condition_expression is None else _OLD_AND_KEY
    expressed = inputs.uses_expressions(given, _NEW, old)
    if given.select is not None:
        parameters.check_select(given)
    filter_ = legacy.filter(given.query_filter, given.conditional_operator)
    projection = None
    if given.attributes_to_get is not None:
        projection = legacy.projection(given.attributes_to_get)
    if given.exclusive_start_key is not None:
        normalize_item(given.exclusive_start_key)
    key_condition = None
    if given.key_conditions is not None:
        key_condition = legacy.key_conditions(given.key_conditions)
    if expressed:
        return _parse_expressions(given, key_condition)
    if given.select is not None:
        parameters.check_selected(given)
    return _parsed(given, key_condition, filter_, projection)


def _parse_expressions(given: requests.Query, key_condition: KeyCondition | None) -> Request:
    placeholders = inputs.placeholders(given)
    filter_, projection, bound = None, None, None
    if given.key_condition_expression is not None:
        bound = placeholders.key_condition(given.key_condition_expression)
    if given.filter_expression is not None:
        filter_ = placeholders.filter(given.filter_expression)
    if given.projection_expression is not None:
        projection = placeholders.projection(given.projection_expression)
    if given.select is not None:
        parameters.check_selected(given)
    placeholders.finish()
    if bound is not None:
        key_condition = bound.as_key_condition()
    return _parsed(given, key_condition, filter_, projection)


def _parsed(
    given: requests.Query,
    key_condition: KeyCondition | None,
    filter_: Condition | None,
    projection: Projection | None,
) -> Request:
    if key_condition is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified "
            "in the request."
        )
    return Request(given, key_condition, Parameters(given, filter_, projection))


def weight(request: Request) -> int:
    return request.parameters.weight


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    given, condition = request.given, request.key_condition
    source = parameters.find_source(table, given)
    start = given.exclusive_start_key
    if start is not None:
        start_keys.check_partition(table, source, start)
    condition.check_partition(source)
    if start is not None:
        start_keys.check_sort(table, source, start)
        start_keys.check_table(table, source, start)
    query = condition.resolve(source, table.types)
    bounds = ranges.of_query(source, query)
    if start is not None:
        reverse = given.scan_index_forward is False
        bounds = start_keys.resume_query(table, source, query, bounds, start, reverse)
    filter_ = request.parameters.filter
    if filter_ is not None:
        check_filter(given, source, filter_)
    if given.index_name is not None:
        parameters.check_projected(table, source, request.parameters)
    if filter_ is not None:
        indexes.check_filter_projected(table, source, sorted(filter_.attributes))
    if filter_ is not None or request.parameters.projection is not None:
        parameters.check_paths(table, request.parameters)
    read = parameters.read_page(table, source, bounds, request.parameters, moment, query)
    return (yield from read)


def check_filter(given: requests.Query, source: TableOrIndex, filter_: Condition) -> None:
    for name in source.key:
        if name in filter_.attributes:
            if given.filter_expression is None:
                raise ValidationException(
                    "QueryFilter can only contain non-primary key attributes: "
                    f"Primary key attribute: {name}"
                )
            raise ValidationException(
                "Filter Expression can only contain non-primary key attributes: "
                f"Primary key attribute: {name}"
            )
