"""Scan: the items of a table, an index or a segment, in the order of their hashed partition
keys."""

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
    body: requests.Scan
    parameters: Parameters


def parse(body: bytes) -> Request:
    request = decode(body, requests.Scan)
    expressed = inputs.uses_expressions(request, _NEW, _OLD)
    filter_ = legacy.filter(request.scan_filter, request.conditional_operator)
    projection = None
    if request.attributes_to_get is not None:
        projection = legacy.projection(request.attributes_to_get)
    if request.exclusive_start_key is not None:
        normalize_item(request.exclusive_start_key)
    if expressed:
        return _parse_expressions(request)
    _check_members(request)
    return Request(request, Parameters(request, filter_, projection))


def _parse_expressions(request: requests.Scan) -> Request:
    placeholders = inputs.placeholders(request)
    filter_, projection = None, None
    if request.filter_expression is not None:
        filter_ = placeholders.filter(request.filter_expression)
    if request.projection_expression is not None:
        projection = placeholders.projection(request.projection_expression)
    _check_members(request)
    placeholders.finish()
    return Request(request, Parameters(request, filter_, projection))


def _check_members(request: requests.Scan) -> None:
    if request.select is not None:
        parameters.check_select(request)
        parameters.check_selected(request)
    if request.segment is not None or request.total_segments is not None:
        _check_segment(request)


def _check_segment(request: requests.Scan) -> None:
    segment, total = request.segment, request.total_segments
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
            + (f": Segment: {segment} is not less than TotalSegments: {total}" * request.legacy)
        )


def weight(request: Request) -> int:
    return max(1, request.parameters.weight)  # number sets are put in another order


def decide(request: Request, table: Table, moment: Moment) -> Decide:
    body = request.body
    source = parameters.find_source(table, body)
    start = body.exclusive_start_key
    parameters.check_projected(table, source, request.parameters)
    bounds = ranges.of_scan(body.segment, body.total_segments)
    if start is not None:
        start_keys.check_index_types(table, source, start)
        start_keys.check_partition(table, source, start)
        start_keys.check_sort(table, source, start)
        start_keys.check_table(table, source, start)
        bounds = start_keys.resume_scan(
            table, source, bounds, start, body.segment, body.total_segments
        )
    parameters.check_paths(table, request.parameters)
    return (yield from parameters.read_page(table, source, bounds, request.parameters, moment))
