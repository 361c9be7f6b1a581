"""Scan: all items of a table or an index in the order of their hash, or one segment of them."""

from typing import NamedTuple

from hashrange.engine import fetch, ranges
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.expressions import Condition, legacy
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.values import normalize_item
from hashrange.operations import inputs, reading
from hashrange.operations.parse import decode
from hashrange.operations.reading import Reading


class Request(NamedTuple):
    given: requests.Scan
    reading: Reading


def parse(body: bytes) -> Request:
    given = decode(body, requests.Scan)
    placeholders = inputs.expressions(
        given,
        ("ProjectionExpression", "FilterExpression"),
        ("AttributesToGet", "ScanFilter", "ConditionalOperator"),
    )
    if given.exclusive_start_key is not None:
        normalize_item(given.exclusive_start_key)
    _check_segment(given)
    filter_: Condition | None = None
    if placeholders and given.filter_expression is not None:
        filter_ = placeholders.filter(given.filter_expression)
    elif given.scan_filter is not None:
        filter_ = legacy.filter(given.scan_filter, given.conditional_operator)
    common = reading.parse(given, placeholders, filter_)
    if placeholders:
        placeholders.finish()
    return Request(given, common)


def _check_segment(given: requests.Scan) -> None:
    segment, total = given.segment, given.total_segments
    if segment is not None and total is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request when "
            "Segment parameter is present"
        )
    if total is not None and segment is None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request when parameter "
            "TotalSegments is present"
        )
    if segment is not None and total is not None and segment >= total:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )


def decide(request: Request, moment: Moment) -> Decide:
    given = request.given
    table = yield from fetch.table(given.table_name, moment)
    view = reading.view_of(table, request.reading)
    segment, total = given.segment, given.total_segments
    bounds = ranges.of_scan(segment, total)
    if given.exclusive_start_key is not None:
        start = given.exclusive_start_key
        bounds = ranges.scan_start(table, view, bounds, start, segment, total)
    return answer((yield from reading.page(table, view, bounds, request.reading)))
