"""Key schemas, attribute definitions, projections and indexes as requests give them, checked.

Used by CreateTable, and by UpdateTable for an index it creates. Source: API reference of
CreateTable; wording observed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from hashrange.engine.keys import INVALID
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import (
    GLOBAL_INDEXES_MAX,
    INDEX_KEY_ATTRIBUTES_MAX,
    LOCAL_INDEXES_MAX,
    PROJECTED_NAMES_MAX,
)
from hashrange.model.tables import Index, KeyType
from hashrange.operations import table_capacity

GivenIndex = (
    requests.LocalSecondaryIndex
    | requests.GlobalSecondaryIndex
    | requests.CreateGlobalSecondaryIndexAction
)
Elements = Sequence[requests.KeySchemaElement]


def refuse(message: str) -> ValidationException:
    return ValidationException(INVALID + message)


def listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


def attribute_types(
    definitions: Iterable[requests.AttributeDefinition],
) -> dict[str, KeyType]:
    types: dict[str, KeyType] = {}
    for definition in definitions:
        name = definition.attribute_name
        if name in types:
            raise refuse(f"Duplicate AttributeName in AttributeDefinitions: {name}")
        types[name] = definition.attribute_type
    return types


def names_of(schema: Elements, key_type: Literal["HASH", "RANGE"]) -> tuple[str, ...]:
    return tuple(element.attribute_name for element in schema if element.key_type == key_type)


def check_key_schema(schema: Elements) -> None:
    """A table's or local index's: one HASH, then at most one RANGE of another name."""
    if schema[0].key_type != "HASH":
        raise ValidationException(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        )
    if len(schema) > 2:
        raise ValidationException(
            "1 validation error detected: Value at 'keySchema' failed to satisfy constraint: "
            "Member must have length less than or equal to 2"
        )
    if len(schema) == 2:
        if schema[1].key_type != "RANGE":
            raise ValidationException(
                "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
            )
        if schema[0].attribute_name == schema[1].attribute_name:
            raise ValidationException(
                "Both the Hash Key and the Range Key element in the KeySchema have the same name"
            )


def check_global_key_schema(index: str, schema: Elements) -> None:
    """Up to four HASH, then up to four RANGE attributes, none twice."""
    if schema[0].key_type != "HASH":
        raise ValidationException(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        )
    if len(schema) == 2:
        check_key_schema_pair(schema)
    kinds = [element.key_type for element in schema]
    if kinds != sorted(kinds):
        raise ValidationException(
            "Invalid KeySchema: All HASH key elements must come before the RANGE key elements"
        )
    for kind in ("HASH", "RANGE"):
        if kinds.count(kind) > INDEX_KEY_ATTRIBUTES_MAX:
            raise refuse(
                f"Number of {kind} attributes in the KeySchema of index {index} exceeds the "
                f"limit of {INDEX_KEY_ATTRIBUTES_MAX}"
            )
    names = [element.attribute_name for element in schema]
    if len(set(names)) < len(names):
        raise refuse(f"Duplicate attributes in the KeySchema of index {index}")


def check_key_schema_pair(schema: Elements) -> None:
    if schema[0].attribute_name == schema[1].attribute_name:
        raise ValidationException(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
        )


def check_defined(schema: Elements, types: Mapping[str, str]) -> None:
    names = [element.attribute_name for element in schema]
    if any(name not in types for name in names):
        raise refuse(
            "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: {listed(names)}, AttributeDefinitions: {listed(types)}"
        )


def check_projection(projection: requests.Projection) -> None:
    kind, names = projection.projection_type, projection.non_key_attributes
    if kind is None:
        raise refuse("Unknown ProjectionType: null")
    if kind == "INCLUDE" and not names:
        raise refuse("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and names is not None:
        raise refuse(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if names and len(set(names)) < len(names):
        raise refuse("NonKeyAttributes contains duplicates")


def check_local_indexes(
    indexes: Sequence[requests.LocalSecondaryIndex], key: Elements, types: Mapping[str, str]
) -> None:
    if not indexes:
        raise refuse("List of LocalSecondaryIndexes is empty")
    if len(key) < 2:
        raise refuse(
            "Table KeySchema does not have a range key, "
            "which is required when specifying a LocalSecondaryIndex"
        )
    for index in indexes:
        check_defined(index.key_schema, types)
        check_key_schema(index.key_schema)
        hash_name = index.key_schema[0].attribute_name
        if hash_name != key[0].attribute_name:
            raise refuse(
                "Index KeySchema does not have the same leading hash key as table KeySchema for "
                f"index: {index.index_name}. index hash key: {hash_name}, "
                f"table hash key: {key[0].attribute_name}"
            )
        if len(index.key_schema) < 2:
            raise refuse(f"Index KeySchema does not have a range key for index: {index.index_name}")
        check_projection(index.projection)
    if len(indexes) > LOCAL_INDEXES_MAX:
        raise refuse(
            f"Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_INDEXES_MAX}"
        )


def check_global_indexes(
    indexes: Sequence[requests.GlobalSecondaryIndex], types: Mapping[str, str]
) -> None:
    if not indexes:
        raise refuse("List of GlobalSecondaryIndexes is empty")
    for index in indexes:
        check_global_index(index, types)
    if len(indexes) > GLOBAL_INDEXES_MAX:
        raise refuse(
            f"GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES_MAX}"
        )


def check_global_index(index: GivenIndex, types: Mapping[str, str]) -> None:
    check_defined(index.key_schema, types)
    check_global_key_schema(index.index_name, index.key_schema)
    check_projection(index.projection)


def check_names(indexes: Iterable[GivenIndex]) -> None:
    """Names are unique over all indexes, and INCLUDE lists are bounded over all of them."""
    seen: set[str] = set()
    projected = 0
    for index in indexes:
        if index.index_name in seen:
            raise refuse(f"Duplicate index name: {index.index_name}")
        seen.add(index.index_name)
        projected += len(index.projection.non_key_attributes or ())
    if projected > PROJECTED_NAMES_MAX:
        raise refuse(
            "Number of NonKeyAttributes over all indexes exceeds the limit of "
            f"{PROJECTED_NAMES_MAX}"
        )


def index(given: GivenIndex, space: int, local: bool) -> Index:
    """The stored definition of an index that was checked."""
    settings: dict[str, Any] = {}
    if not isinstance(given, requests.LocalSecondaryIndex):
        settings = {
            "throughput": table_capacity.throughput(given.provisioned_throughput),
            "on_demand": table_capacity.on_demand(given.on_demand_throughput),
            "warm": table_capacity.warm(given.warm_throughput),
        }
    projection = given.projection
    assert projection.projection_type, "checked above"
    return Index(
        space=space,
        hash=names_of(given.key_schema, "HASH"),
        range=names_of(given.key_schema, "RANGE"),
        name=given.index_name,
        local=local,
        projection=projection.projection_type,
        include=tuple(projection.non_key_attributes or ()),
        **settings,
    )
