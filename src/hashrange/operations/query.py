"""Query: items of one partition key value, in the order of the sort key."""

from typing import NamedTuple

from hashrange.engine import fetch, ranges
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.expressions import Condition, Expressions, KeyCondition, legacy
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import View
from hashrange.model.values import normalize_item
from hashrange.operations import inputs, reading
from hashrange.operations.parse import decode
from hashrange.operations.reading import Reading


class Request(NamedTuple):
    given: requests.Query
    key_condition: KeyCondition
    reading: Reading


def parse(body: bytes) -> Request:
    given = decode(body, requests.Query)
    placeholders = inputs.expressions(
        given,
        ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
        ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    )
    if given.exclusive_start_key is not None:
        normalize_item(given.exclusive_start_key)
    key_condition = _key_condition(given, placeholders)
    filter_: Condition | None = None
    if placeholders and given.filter_expression is not None:
        filter_ = placeholders.filter(given.filter_expression)
    elif given.query_filter is not None:
        filter_ = legacy.filter(given.query_filter, given.conditional_operator)
    common = reading.parse(given, placeholders, filter_)
    if key_condition is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified "
            "in the request."
        )
    if placeholders:
        placeholders.finish()
    return Request(given, key_condition, common)


def _key_condition(given: requests.Query, placeholders: Expressions | None) -> KeyCondition | None:
    if placeholders and given.key_condition_expression is not None:
        return placeholders.key_condition(given.key_condition_expression)
    if given.key_conditions is not None:
        return legacy.key_conditions(given.key_conditions)
    return None


def decide(request: Request, moment: Moment) -> Decide:
    given = request.given
    table = yield from fetch.table(given.table_name, moment)
    view = reading.view_of(table, request.reading)
    query = request.key_condition.resolve(view.hash, view.range, table.types)
    _check_filter(view, request.reading)
    bounds = ranges.of_query(view, query)
    if given.exclusive_start_key is not None:
        reverse = given.scan_index_forward is False
        bounds = ranges.query_start(table, view, bounds, given.exclusive_start_key, reverse)
    return answer((yield from reading.page(table, view, bounds, request.reading)))


def _check_filter(view: View, common: Reading) -> None:
    if common.filter is None:
        return
    for name in view.key:
        if name in common.filter.attributes:
            if common.given.filter_expression is None:
                raise ValidationException(
                    "QueryFilter can only contain non-primary key attributes: "
                    f"Primary key attribute: {name}"
                )
            raise ValidationException(
                "Filter Expression can only contain non-primary key attributes: "
                f"Primary key attribute: {name}"
            )
