"""Query: items with one partition key value, in the order of the sort key."""

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
    body: requests.Query
    key_condition: KeyCondition
    parameters: Parameters


_NEW = ("ProjectionExpression", "FilterExpression", "KeyConditionExpression")
_OLD = ("AttributesToGet", "QueryFilter", "ConditionalOperator")
_OLD_AND_KEY = (*_OLD, "KeyConditions")
"""The legacy parameters that may not be used together with KeyConditionExpression. KeyConditions
may be used together with all other expressions."""


def parse(body: bytes) -> Request:
    request = decode(body, requests.Query)
    old = _OLD if request.key_condition_expression is None else _OLD_AND_KEY
    expressed = inputs.uses_expressions(request, _NEW, old)
    if request.select is not None:
        parameters.check_select(request)
    filter_ = legacy.filter(request.query_filter, request.conditional_operator)
    projection = None
    if request.attributes_to_get is not None:
        projection = legacy.projection(request.attributes_to_get)
    if request.exclusive_start_key is not None:
        normalize_item(request.exclusive_start_key)
    key_condition = None
    if request.key_conditions is not None:
        key_condition = legacy.key_conditions(request.key_conditions)
    if expressed:
        return _parse_expressions(request, key_condition)
    if request.select is not None:
        parameters.check_selected(request)
    return _parsed(request, key_condition, filter_, projection)


def _parse_expressions(request: requests.Query, key_condition: KeyCondition | None) -> Request:
    placeholders = inputs.placeholders(request)
    filter_, projection, bound = None, None, None
    if request.key_condition_expression is not None:
        bound = placeholders.key_condition(request.key_condition_expression)
    if request.filter_expression is not None:
        filter_ = placeholders.filter(request.filter_expression)
    if request.projection_expression is not None:
        projection = placeholders.projection(request.projection_expression)
    if request.select is not None:
        parameters.check_selected(request)
    placeholders.finish()
    if bound is not None:
        key_condition = bound.as_key_condition()
    return _parsed(request, key_condition, filter_, projection)


def _parsed(
    request: requests.Query,
    key_condition: KeyCondition | None,
    filter_: Condition | None,
    projection: Projection | None,
) -> Request:
    if key_condition is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified "
            "in the request."
        )
    return Request(request, key_condition, Parameters(request, filter_, projection))


def weight(request: Request) -> int:
    return request.parameters.weight


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    body, condition = request.body, request.key_condition
    source = parameters.find_source(table, body)
    start = body.exclusive_start_key
    if start is not None:
        start_keys.check_partition(table, source, start)
    condition.check_partition(source)
    if start is not None:
        start_keys.check_sort(table, source, start)
        start_keys.check_table(table, source, start)
    query = condition.resolve(source, table.types)
    bounds = ranges.of_query(source, query)
    if start is not None:
        reverse = body.scan_index_forward is False
        bounds = start_keys.resume_query(table, source, query, bounds, start, reverse)
    filter_ = request.parameters.filter
    if filter_ is not None:
        check_filter(body, source, filter_)
    if body.index_name is not None:
        parameters.check_projected(table, source, request.parameters)
    if filter_ is not None:
        indexes.check_filter_projected(table, source, sorted(filter_.attributes))
    if filter_ is not None or request.parameters.projection is not None:
        parameters.check_paths(table, request.parameters)
    read = parameters.read_page(table, source, bounds, request.parameters, moment, query)
    return (yield from read)


def check_filter(request: requests.Query, source: TableOrIndex, filter_: Condition) -> None:
    for name in source.key:
        if name in filter_.attributes:
            if request.filter_expression is None:
                raise ValidationException(
                    "QueryFilter can only contain non-primary key attributes: "
                    f"Primary key attribute: {name}"
                )
            raise ValidationException(
                "Filter Expression can only contain non-primary key attributes: "
                f"Primary key attribute: {name}"
            )
