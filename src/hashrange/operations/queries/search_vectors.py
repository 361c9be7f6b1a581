"""SearchVectors: the items whose vectors are nearest to a query vector.

The results of the service are approximate. These results are exact for the stored 32-bit numbers.
The messages and the order of the checks were captured on the service in autumn 2026.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.engine.vectors import entries
from hashrange.engine.vectors.distances import Query
from hashrange.engine.vectors.search import Match, nearest
from hashrange.expressions import Projection
from hashrange.model import floats, requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import (
    SEARCH_ANSWER_BYTES_MAX,
    SEARCHED_BYTES_PER_DIMENSION,
    TOP_K_MAX,
    VECTOR_REQUEST_BYTES_MIN,
)
from hashrange.model.tables import Table, VectorIndex
from hashrange.model.values import AttributeValue, Item, normalize
from hashrange.operations.common import inputs
from hashrange.operations.common.parse import decode
from hashrange.operations.queries import strict_json

INVALID_VECTOR = (
    "Search vector contains invalid values. All values in the search vector must be a 32-bit "
    "floating-point number attribute"
)

_decode_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Request(Struct, gc=False):
    body: requests.SearchVectors
    vector: list[float]
    condition: dict[str, AttributeValue]
    projection: Projection | None


def parse(body: bytes) -> Request:
    strict_json.check(body)
    request = decode(body, requests.SearchVectors)
    if request.top_k > TOP_K_MAX:
        raise ValidationException(
            f"Provided TopK value '{request.top_k}' is out of valid range. The value must be "
            f"between 1 and {TOP_K_MAX} inclusive"
        )
    vector = _vector(request.search_vector)
    placeholders = inputs.placeholders(request)
    condition: dict[str, AttributeValue] = {}
    if request.search_condition_expression is not None:
        parsed = placeholders.search_condition(request.search_condition_expression)
        condition = parsed.as_search_condition()
    projection = inputs.projection(request, placeholders)
    placeholders.finish()
    return Request(request, vector, condition, projection)


_NUMBER = r"-?[0-9]{1,18}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?"
_plain = re.compile(f"{_NUMBER}(,{_NUMBER})*+", re.ASCII).fullmatch
"""Matches one or more numbers, separated by commas, whose digits and exponents are within the
limits."""


def _vector(elements: Sequence[AttributeValue]) -> list[float]:
    numbers = _plain_numbers(elements)
    if numbers is None:
        for element in elements:
            normalize(element)
        numbers = floats.numbers_of({"L": elements})
    if numbers is None or not floats.fits(numbers):
        raise ValidationException(INVALID_VECTOR)
    return numbers


def _plain_numbers(elements: Sequence[AttributeValue]) -> list[float] | None:
    """The numbers of a vector. None if an element is not a plain number: each must then be checked
    separately."""
    try:
        texts = [element["N"] for element in elements]
        joined = ",".join(texts)
    except (KeyError, TypeError):
        return None
    are_separate = joined.count(",") == len(elements) - 1 and set(map(len, elements)) == {1}
    return list(map(float, texts)) if are_separate and _plain(joined) else None


def decide(request: Request, moment: Moment) -> Decide:
    body = request.body
    table = yield from fetch.table(body.table_name, moment)
    index = table.vector_index(body.index_name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {body.index_name}")
    _check(table, index, request)
    if index.building:
        raise ValidationException(f"Cannot search backfilling vector index: {index.name}")
    # The query is rounded to 32 bits, as all vectors are.
    query = Query(index.distance, floats.unpack(floats.pack(request.vector)))
    group = entries.group_with(request.condition[name] for name in index.hash)
    filters = None
    if any(name in request.condition for name in index.filters):
        filters = [_filter(request.condition.get(name)) for name in index.filters]
    matches = yield from nearest(index, group, query, filters, body.top_k, moment)
    results, size = yield from _results(table, index, matches, request.projection)
    response: Response = {"SearchResults": results}
    if body.return_consumed_capacity not in (None, "NONE"):
        searched = round(SEARCHED_BYTES_PER_DIMENSION * index.dimensions) + size
        consumed = float(max(searched, VECTOR_REQUEST_BYTES_MIN))
        response["ConsumedCapacity"] = {"VectorSearchRequestBytes": consumed}
    return answer(response)


def _filter(value: AttributeValue | None) -> tuple[str, Any] | None:
    return None if value is None else next(iter(value.items()))


def _check(table: Table, index: VectorIndex, request: Request) -> None:
    searched = (*index.hash, *index.filters)
    for name in request.condition:
        if name not in searched:
            raise ValidationException(
                "SearchConditionExpression must not contain any attributes that is not in "
                f"SearchSchema. Invalid attribute: {name}"
            )
    for name in index.hash:
        if name not in request.condition:
            raise ValidationException(
                "SearchConditionExpression must be provided when SearchSchema has a HASH key"
            )
    for name, value in request.condition.items():
        if table.types[name] not in value:
            raise invalid_parameter("Condition parameter type does not match schema type")
    if len(request.vector) != index.dimensions:
        raise ValidationException(
            f"Input search vector dimension {len(request.vector)} does not match vector index "
            f"dimension {index.dimensions}"
        )


def _results(
    table: Table, index: VectorIndex, matches: Sequence[Match], projection: Projection | None
) -> fetch.Fetch[tuple[list[Response], int]]:
    """The results, and the total size in bytes of their items before projection.

    Results after the first 16 MB of items are left out, and so are items that no longer exist.
    """
    owners = [(table, entries.owner(table, match.row.raw)) for match in matches]
    rows = yield from fetch.items(owners)
    results: list[Response] = []
    size = 0
    for match, row in zip(matches, rows, strict=True):
        if row is None:
            continue  # the index lags behind its table
        size += row.size
        if size > SEARCH_ANSWER_BYTES_MAX:
            break
        item = _shown(table, index, match, row.json, projection)
        results.append({"Item": item, "Score": match.score})
        yield from fetch.pause()
    return results, size


def _shown(
    table: Table,
    index: VectorIndex,
    match: Match,
    stored: bytes,
    projection: Projection | None,
) -> Item:
    """The projected attributes of an item that the index holds. The vector, rounded to 32-bit
    numbers, is included only if the projection names it."""
    item = _without_vector(index, stored)
    if index.projection != "ALL":
        item = entries.projected(table, index, item)
    if projection is None:
        return item
    for name in projection.containers & item.keys():
        item[name] = msgspec.json.decode(item[name])
    if index.attribute in projection.attributes:
        item[index.attribute] = floats.as_list(match.row.packed)
    return projection.project(item)


def _without_vector(index: VectorIndex, stored: bytes) -> dict[str, Any]:
    """The item without its vector. The attributes remain JSON.

    Decoding a vector would take long, so its text is cut out, up to the first closing bracket. The
    texts before and after it are decoded as two objects. If both are valid, the vector was an
    attribute of the item. Otherwise the whole item is decoded.
    """
    opening = msgspec.json.encode(index.attribute) + b':{"L":['
    begin = stored.find(opening)
    end = stored.find(b"]", begin + len(opening)) + len(b"]}")
    try:
        if begin > 0:
            left, right = stored[:begin].rstrip(b","), stored[end:].lstrip(b",")
            return _decode_attributes(left + b"}") | _decode_attributes(b"{" + right)
    except msgspec.DecodeError:
        pass  # an attribute of a map has the same name, or the index lags behind its table
    attributes = _decode_attributes(stored)
    attributes.pop(index.attribute, None)
    return attributes
