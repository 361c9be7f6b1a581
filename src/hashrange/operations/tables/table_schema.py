"""Checks the key schemas, attribute definitions, projections and indexes of a request.

CreateTable uses these checks, and UpdateTable uses them for a new index. Source: API reference of
CreateTable. Messages and the order of the checks were observed on the service.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.limits import (
    GLOBAL_INDEXES_MAX,
    GLOBAL_KEY_ATTRIBUTES_MAX,
    KEY_ATTRIBUTES_MAX,
    LOCAL_INDEXES_MAX,
    PROJECTED_NAMES_MAX,
)
from hashrange.model.partitions import equal_parts
from hashrange.model.tables import Index, KeyType, partitions_needed
from hashrange.model.validation import java
from hashrange.operations.tables import table_capacity

GivenGlobalIndex = requests.GlobalSecondaryIndex | requests.CreateGlobalSecondaryIndexAction
GivenIndex = requests.LocalSecondaryIndex | GivenGlobalIndex
Elements = Sequence[requests.KeySchemaElement]
Types = Mapping[str, str]
_UNDEFINED = "Invalid KeySchema: Some index key attribute have no definition"
TABLE_CLASSES = ("STANDARD", "STANDARD_INFREQUENT_ACCESS")


def check_supported(
    request: requests.CreateTable | requests.UpdateTable, unsupported: Mapping[str, str]
) -> None:
    """Raises ValidationException if the request has a field that is not supported.

    `unsupported` maps the names of such fields to the names of the members in the API.
    """
    for field, member in unsupported.items():
        if getattr(request, field) is not None:
            raise ValidationException(f"{member} is not supported by this server")


def check_class(table_class: str | None) -> None:
    if table_class not in (None, *TABLE_CLASSES):
        raise ValidationException(
            "Invalid table-class parameter provided. Please try again with a valid table-class "
            f"value: {_listed(TABLE_CLASSES)}."
        )


def attribute_types(definitions: Iterable[requests.AttributeDefinition]) -> dict[str, KeyType]:
    types: dict[str, KeyType] = {}
    for definition in definitions:
        name = definition.attribute_name
        if name in types:
            raise ValidationException(f"Attribute Name is duplicated: {name}")
        types[name] = definition.attribute_type
    return types


def names_of(schema: Elements, key_type: Literal["HASH", "RANGE"]) -> tuple[str, ...]:
    return tuple(element.attribute_name for element in schema if element.key_type == key_type)


def _names(schema: Elements) -> list[str]:
    return [element.attribute_name for element in schema]


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


def _listed_hashed(names: Collection[str]) -> str:
    """The names in the order in which DynamoDB's messages list them: the order of a Java hash
    table that has as many buckets as there are names."""
    return _listed(java.names_in_hash_order(list(names), len(names)))


# ---- the whole of a new table, in the order of the service ----


def check_table(request: requests.CreateTable, types: Types) -> None:
    """Check the keys and indexes of a new table. `vector_schema` checks vector indexes."""
    local, global_ = request.local_secondary_indexes, request.global_secondary_indexes
    _check_lengths(request.key_schema, local or (), global_ or ())
    _check_table_key(request.key_schema, types)
    vectors = request.vector_indexes
    if local is None and global_ is None and vectors is None:
        if len(request.key_schema) < len(types):
            raise invalid_parameter(
                "Number of attributes in KeySchema does not exactly match number of attributes "
                "defined in AttributeDefinitions"
            )
        return
    if local is not None:
        _check_may_have_local_indexes(local, request.key_schema)
    if global_ is not None and not global_:
        raise invalid_parameter("List of GlobalSecondaryIndexes is empty")
    indexes = [*(local or ()), *(global_ or ())]
    for index in indexes:
        _check_index_defined(index.key_schema, types)
    for index in indexes:
        _check_different(index.key_schema)
    schemas = [request.key_schema, *(index.key_schema for index in indexes)]
    searched = (index.search_schema or () for index in vectors or ())
    _check_all_used(types, [each.attribute_name for each in chain(*schemas, *searched)])
    _check_local_indexes(local or (), request.key_schema)
    _check_global_indexes(global_ or (), on_demand=request.billing_mode == "PAY_PER_REQUEST")
    every = [*indexes, *(vectors or ())]
    _check_names(index.index_name for index in every)
    check_projected_names(len(index.projection.non_key_attributes or ()) for index in every)


def _check_lengths(
    key: Elements,
    local: Sequence[requests.LocalSecondaryIndex],
    global_: Sequence[requests.GlobalSecondaryIndex],
) -> None:
    """Check the number of attributes in each key. Only a global index may have more than two.

    The message names a faulty local index, but not a faulty global index.
    """
    _check_length(key, KEY_ATTRIBUTES_MAX)
    for place, index in enumerate(local, 1):
        path = f"localSecondaryIndexes.{place}.member.keySchema"
        _check_length(index.key_schema, KEY_ATTRIBUTES_MAX, path)
    for each in global_:
        check_global_length(each)


def check_global_length(index: GivenGlobalIndex) -> None:
    """Raises ValidationException if the key of a global index has too many attributes.

    The message is that of CreateTable. The message of UpdateTable is not known.
    """
    _check_length(index.key_schema, 2 * GLOBAL_KEY_ATTRIBUTES_MAX)


def _check_length(schema: Elements, length_max: int, path: str = "keySchema") -> None:
    if len(schema) > length_max:
        value = java.printed(msgspec.to_builtins(schema), "KeySchema")
        raise ValidationException(
            f"1 validation error detected: Value '{value}' at '{path}' failed to satisfy "
            f"constraint: Member must have length less than or equal to {length_max}"
        )


def _check_table_key(schema: Elements, types: Types) -> None:
    if len(schema) > len(types):
        raise ValidationException(_UNDEFINED)
    check_defined(_names(schema), types)
    _check_pair(schema)


def _check_index_defined(schema: Elements, types: Types) -> None:
    if len({element.attribute_name for element in schema}) > len(types):
        raise ValidationException(_UNDEFINED)
    check_defined(_names(schema), types)


def check_defined(attributes: Iterable[str], types: Types) -> None:
    names = list(dict.fromkeys(attributes))
    if any(name not in types for name in names):
        raise invalid_parameter(
            "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: {_listed_hashed(names)}, AttributeDefinitions: {_listed_hashed(types)}"
        )


def _check_pair(schema: Elements) -> None:
    """Check that a key is a HASH attribute, alone or followed by a RANGE attribute with another
    name."""
    _check_different(schema)
    _check_hash_first(schema)
    if len(schema) == KEY_ATTRIBUTES_MAX and schema[1].key_type != "RANGE":
        raise ValidationException(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
        )


def _check_different(schema: Elements) -> None:
    names = _names(schema)
    if len(set(names)) < len(names):
        raise ValidationException(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
            if [element.key_type for element in schema] == ["HASH", "RANGE"]
            else "The KeySchema contains multiple key attributes with the same name"
        )


def _check_hash_first(schema: Elements) -> None:
    if schema[0].key_type != "HASH":
        raise ValidationException(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
        )


def _check_may_have_local_indexes(
    indexes: Sequence[requests.LocalSecondaryIndex], key: Elements
) -> None:
    if not indexes:
        raise invalid_parameter("List of LocalSecondaryIndexes is empty")
    if len(key) < KEY_ATTRIBUTES_MAX:
        raise invalid_parameter(
            "Table KeySchema does not have a range key, "
            "which is required when specifying a LocalSecondaryIndex"
        )


def _check_all_used(types: Types, names: Iterable[str]) -> None:
    used = dict.fromkeys(names)
    if len(used) < len(types):
        raise invalid_parameter(
            "Some AttributeDefinitions are not used. AttributeDefinitions: "
            f"{_listed_hashed(types)}, keys used: {_listed(java.names_in_hash_order(list(used)))}"
        )


def _check_names(index_names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in index_names:
        if name in seen:
            raise invalid_parameter(f"Duplicate index name: {name}")
        seen.add(name)


def check_projected_names(counts: Iterable[int]) -> None:
    """Raises ValidationException if the INCLUDE lists of all indexes have too many names. `counts`
    has the number of names in each list."""
    if sum(counts) > PROJECTED_NAMES_MAX:
        raise invalid_parameter(
            "Number of NonKeyAttributes over all indexes exceeds the limit of "
            f"{PROJECTED_NAMES_MAX}"
        )


# ---- indexes ----


def _check_local_indexes(indexes: Sequence[requests.LocalSecondaryIndex], key: Elements) -> None:
    for index in indexes:
        _check_pair(index.key_schema)
        if len(index.key_schema) < KEY_ATTRIBUTES_MAX:
            raise invalid_parameter(
                f"Index KeySchema does not have a range key for index: {index.index_name}"
            )
        own, table_hash = index.key_schema[0].attribute_name, key[0].attribute_name
        if own != table_hash:
            raise invalid_parameter(
                "Index KeySchema does not have the same leading hash key as table KeySchema for "
                f"index: {index.index_name}. index hash key: {own}, table hash key: {table_hash}"
            )
        check_projection(index.projection)
    if len(indexes) > LOCAL_INDEXES_MAX:
        raise invalid_parameter(
            f"Number of LocalSecondaryIndexes exceeds per-table limit of {LOCAL_INDEXES_MAX}"
        )


def _check_global_indexes(
    indexes: Sequence[requests.GlobalSecondaryIndex], on_demand: bool
) -> None:
    for index in indexes:
        _check_global_index(index)
        _check_throughput(index, on_demand)
    if len(indexes) > GLOBAL_INDEXES_MAX:
        raise invalid_parameter(
            f"GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES_MAX}"
        )


def check_added_index(index: requests.CreateGlobalSecondaryIndexAction, types: Types) -> None:
    """Check an index that is added to a table, except its throughput.

    `types` are the attribute definitions of the request. They must define the attributes of the
    key, even if the table already does.
    """
    _check_index_defined(index.key_schema, types)
    _check_global_index(index)


def _check_global_index(index: GivenGlobalIndex) -> None:
    _check_global_key(index.key_schema)
    check_projection(index.projection)


def _check_global_key(schema: Elements) -> None:
    """Check that a key has up to four HASH attributes, then up to four RANGE attributes, all
    different."""
    _check_different(schema)
    _check_hash_first(schema)
    for kind in ("HASH", "RANGE"):
        if sum(element.key_type == kind for element in schema) > GLOBAL_KEY_ATTRIBUTES_MAX:
            raise invalid_parameter(
                f"The KeySchema exceeds the maximum allowed number of {kind} key attributes"
            )
    kinds = [element.key_type for element in schema]
    if kinds != sorted(kinds):
        raise invalid_parameter(
            "All HASH key attributes must precede RANGE key attributes in the KeySchema"
        )


def _check_throughput(index: requests.GlobalSecondaryIndex, on_demand: bool) -> None:
    name, capacity = index.index_name, index.provisioned_throughput
    if on_demand and capacity is not None:
        raise invalid_parameter(
            f"ProvisionedThroughput should not be specified for index: {name} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if not on_demand and capacity is None:
        raise invalid_parameter(f"ProvisionedThroughput is not specified for index: {name}")
    table_capacity.check_bounds(capacity)
    for member in table_capacity.units(index.on_demand_throughput):
        if not on_demand:
            raise invalid_parameter(
                f"{member} for OnDemandThroughput for index: {name} cannot be specified when "
                "table BillingMode is PROVISIONED."
            )
    table_capacity.check_on_demand(index.on_demand_throughput, name)
    table_capacity.check_new_warm(index.warm_throughput, capacity, name)


def check_projection(projection: requests.Projection) -> None:
    kind, names = projection.projection_type, projection.non_key_attributes
    if kind is None:
        raise invalid_parameter("Unknown ProjectionType: null")
    if kind == "INCLUDE" and names is None:
        raise invalid_parameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and names is not None:
        raise invalid_parameter(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    seen: set[str] = set()
    for name in names or ():
        if name in seen:
            raise invalid_parameter(f"Duplicate element in NonKeyAttributes: {name}")
        seen.add(name)


# ---- definitions to be stored ----


def index(request: GivenIndex, space: int) -> Index:
    """The definition to store for an index. The request must have been checked."""
    settings: dict[str, Any] = {}
    if not isinstance(request, requests.LocalSecondaryIndex):
        capacity = request.provisioned_throughput
        throughput = table_capacity.new_throughput(capacity)
        warm = table_capacity.new_warm(request.warm_throughput, capacity)
        settings = {
            "throughput": throughput,
            "on_demand": table_capacity.changed_on_demand(None, request.on_demand_throughput),
            "warm": warm,
            "partitions": equal_parts(partitions_needed(throughput, warm)),
        }
    projection = request.projection
    assert projection.projection_type, "a projection must have a type"
    return Index(
        space=space,
        hash=names_of(request.key_schema, "HASH"),
        range=names_of(request.key_schema, "RANGE"),
        name=request.index_name,
        local=isinstance(request, requests.LocalSecondaryIndex),
        projection=projection.projection_type,
        include=tuple(sorted(projection.non_key_attributes or ())),
        **settings,
    )
