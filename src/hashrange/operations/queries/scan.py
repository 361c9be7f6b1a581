"""Scan: all items of a table or an index in the order of their hash, or one segment of them."""

from msgspec import Struct

from hashrange.engine import ranges, start_keys
from hashrange.engine.decision import Decide
from hashrange.engine.fetch import Moment
from hashrange.expressions import legacy
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Table
from hashrange.model.values import normalize_item
from hashrange.operations.common import inputs
from hashrange.operations.common.parse import decode
from hashrange.operations.queries import parameters
from hashrange.operations.queries.parameters import Parameters

_NEW = ("ProjectionExpression", "FilterExpression")
_OLD = ("AttributesToGet", "ScanFilter", "ConditionalOperator")


class Request(Struct, gc=False):
    given: requests.Scan
    parameters: Parameters


def parse(body: bytes) -> Request:
    given = decode(body, requests.Scan)
    expressed = inputs.uses_expressions(given, _NEW, _OLD)
    filter_ = legacy.filter(given.scan_filter, given.conditional_operator)
    projection = None
    if given.attributes_to_get is not None:
        projection = legacy.projection(given.attributes_to_get)
    if given.exclusive_start_key is not None:
        normalize_item(given.exclusive_start_key)
    if expressed:
        return _parse_expressions(given)
    _check_members(given)
    return Request(given, Parameters(given, filter_, projection))


def _parse_expressions(given: requests.Scan) -> Request:
    placeholders = inputs.placeholders(given)
    filter_, projection = None, None
    if given.filter_expression is not None:
        filter_ = placeholders.filter(given.filter_expression)
    if given.projection_expression is not None:
        projection = placeholders.projection(given.projection_expression)
    _check_members(given)
    placeholders.finish()
    return Request(given, Parameters(given, filter_, projection))


def _check_members(given: requests.Scan) -> None:
    if given.select is not None:
        parameters.check_select(given)
        parameters.check_selected(given)
    if given.segment is not None or given.total_segments is not None:
        _check_segment(given)


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
            "The Segment parameter is zero-based and must be less than parameter TotalSegments"
            + (f": Segment: {segment} is not less than TotalSegments: {total}" * given.legacy)
        )


def weight(request: Request) -> int:
    return max(1, request.parameters.weight)  # number sets are put in another order


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    given = request.given
    source = parameters.find_source(table, given)
    start = given.exclusive_start_key
    parameters.check_projected(table, source, request.parameters)
    bounds = ranges.of_scan(given.segment, given.total_segments)
    if start is not None:
        start_keys.check_index_types(table, source, start)
        start_keys.check_partition(table, source, start)
        start_keys.check_sort(table, source, start)
        start_keys.check_table(table, source, start)
        bounds = start_keys.resume_scan(
            table, source, bounds, start, given.segment, given.total_segments
        )
    parameters.check_paths(table, request.parameters)
    return (yield from parameters.read_page(table, source, bounds, request.parameters, moment))
