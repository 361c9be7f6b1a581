"""Checks the vector indexes of CreateTable and UpdateTable, and makes their definitions.

Source: shapes VectorIndex and CreateVectorIndexAction of the service model. The messages were
captured on the service in autumn 2026, except those that a comment marks as assumed.
"""

from collections.abc import Iterable, Mapping, Sequence

from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.limits import (
    SEARCH_FILTER_ATTRIBUTES_MAX,
    SEARCH_HASH_ATTRIBUTES_MAX,
    VECTOR_DIMENSIONS_MAX,
    VECTOR_INDEXES_MAX,
)
from hashrange.model.tables import VectorIndex
from hashrange.operations.tables.table_schema import check_defined, check_projection

Given = requests.VectorIndex | requests.CreateVectorIndexAction
Types = Mapping[str, str]
ONLY_ON_DEMAND = "Vector indexes are only supported for PAY_PER_REQUEST tables"
_ELEMENTS_MAX = {
    "HASH": SEARCH_HASH_ATTRIBUTES_MAX,
    "INLINE_FILTER": SEARCH_FILTER_ATTRIBUTES_MAX,
}


def check_all(indexes: Sequence[requests.VectorIndex], types: Types, on_demand: bool) -> None:
    """Check the vector indexes of a new table."""
    if not indexes:
        raise invalid_parameter("List of VectorIndexes is empty")
    if not on_demand:
        raise invalid_parameter(ONLY_ON_DEMAND)
    for index in indexes:
        check(index, types)
    check_dimensions((index.vector_attribute.attribute_name, index.dimensions) for index in indexes)
    if len(indexes) > VECTOR_INDEXES_MAX:
        raise invalid_parameter(
            f"VectorIndex count exceeds the per-table limit of {VECTOR_INDEXES_MAX}"
        )


def check(index: Given, types: Types) -> None:
    """Check a single index. `types` are the attribute definitions of the request."""
    attribute = index.vector_attribute.attribute_name
    if not 1 <= index.dimensions <= VECTOR_DIMENSIONS_MAX:
        raise invalid_parameter(
            f"Number of dimensions must be between 1 and {VECTOR_DIMENSIONS_MAX} inclusive."
        )
    if attribute in types:
        raise invalid_parameter(
            f"Conflicting attribute definition for '{attribute}'. An attribute cannot be defined "
            "in AttributeDefinitions when used as a VectorAttribute."
        )
    names = searched_names(index)
    if names:
        check_defined(names, types)
    _check_elements(index.search_schema or ())
    check_projection(index.projection)


def _check_elements(schema: Sequence[requests.SearchSchemaElement]) -> None:
    """Check the elements of a search schema. DynamoDB's messages for these errors are not known;
    ours are guesses."""
    names = [element.attribute_name for element in schema]
    if len(set(names)) < len(names):
        raise invalid_parameter("The SearchSchema contains multiple attributes with the same name")
    for kind, count_max in _ELEMENTS_MAX.items():
        if sum(element.search_schema_element_type == kind for element in schema) > count_max:
            raise invalid_parameter(
                f"The SearchSchema exceeds the maximum allowed number of {kind} attributes"
            )


def check_dimensions(pairs: Iterable[tuple[str, int]]) -> None:
    """Check that all indexes on one attribute have the same number of dimensions."""
    known: dict[str, int] = {}
    for attribute, dimensions in pairs:
        if known.setdefault(attribute, dimensions) != dimensions:
            raise invalid_parameter(
                f"Conflicting attribute definition for '{attribute}'. All VectorIndexes on the "
                "same vector attribute must use the same dimensions."
            )


def searched_names(index: Given) -> list[str]:
    """The attributes of the search schema, in order."""
    return [element.attribute_name for element in index.search_schema or ()]


def definition(index: Given, space: int, log: int) -> VectorIndex:
    """The definition to store for an index. The request must have been checked."""
    projection, schema = index.projection, index.search_schema or ()
    assert projection.projection_type, "a projection must have a type"
    return VectorIndex(
        space=space,
        log=log,
        hash=_names(schema, "HASH"),
        filters=_names(schema, "INLINE_FILTER"),
        name=index.index_name,
        attribute=index.vector_attribute.attribute_name,
        dimensions=index.dimensions,
        distance=index.distance_function,
        projection=projection.projection_type,
        include=tuple(sorted(projection.non_key_attributes or ())),
    )


def _names(schema: Sequence[requests.SearchSchemaElement], kind: str) -> tuple[str, ...]:
    return tuple(
        element.attribute_name for element in schema if element.search_schema_element_type == kind
    )
