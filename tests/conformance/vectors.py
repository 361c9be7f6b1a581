"""Vector indexes as requests define them, and a search by brute force."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from struct import pack, unpack
from typing import Any

from .support import Table, drop_none, plain, wire


def defined(*names: str) -> dict[str, Any]:
    """AttributeDefinitions of strings, beside the key."""
    definitions = [{"AttributeName": n, "AttributeType": "S"} for n in ("pk", *names)]
    return {"AttributeDefinitions": definitions}


def vector(*numbers: Any) -> dict[str, Any]:
    return {"L": [{"N": str(number)} for number in numbers]}


def index(
    name: str = "nearest",
    *,
    attribute: str = "e",
    dimensions: int = 4,
    distance: str = "COSINE",
    by: str | None = None,
    filters: Sequence[str] = (),
    projection: str | Sequence[str] = "ALL",
) -> dict[str, Any]:
    """A VectorIndex; `by` is the HASH attribute of its search schema."""
    elements = [(by, "HASH")] if by else []
    elements += [(each, "INLINE_FILTER") for each in filters]
    schema = [{"AttributeName": n, "SearchSchemaElementType": kind} for n, kind in elements]
    include = not isinstance(projection, str)
    shown = {
        "ProjectionType": "INCLUDE" if include else projection,
        "NonKeyAttributes": list(projection) if include else None,
    }
    return drop_none(
        {
            "IndexName": name,
            "VectorAttribute": {"AttributeName": attribute},
            "SearchSchema": schema or None,
            "Projection": drop_none(shown),
            "Dimensions": dimensions,
            "DistanceFunction": distance,
        }
    )


def search(table: Table, to: Sequence[Any], top: int = 10, **parameters: Any) -> dict[str, Any]:
    """SearchVectors; `values` and `where` are the values and the text of its condition."""
    values: Mapping[str, Any] = parameters.pop("values", {})
    request: dict[str, Any] = {
        "IndexName": "nearest",
        "SearchVector": vector(*to)["L"],
        "TopK": top,
        "SearchConditionExpression": parameters.pop("where", None),
        "ExpressionAttributeValues": {k: wire(v) for k, v in values.items()} or None,
        **parameters,
    }
    return table.call("SearchVectors", **drop_none(request))


def found(table: Table, to: Sequence[Any], top: int = 10, **parameters: Any) -> list[Any]:
    """The partition keys of the nearest items, in their order."""
    results = search(table, to, top, **parameters)["SearchResults"]
    return [plain(result["Item"])["pk"] for result in results]


def as_32_bits(number: float) -> float:
    rounded: float = unpack("<f", pack("<f", number))[0]
    return rounded


def score(distance: str, one: Sequence[float], other: Sequence[float]) -> float:
    """The score of two vectors of 32-bit numbers, from exact fractions."""
    a = [Fraction(as_32_bits(number)) for number in one]
    b = [Fraction(as_32_bits(number)) for number in other]
    dot = sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
    if distance == "DOT_PRODUCT":
        return float(dot)
    if distance == "EUCLIDEAN":
        squares = (((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))
        return math.sqrt(sum(*squares))
    lengths = sum(x * x for x in a) * sum(y * y for y in b)
    return 1 - float(dot) / math.sqrt(lengths) if lengths else 1.0
