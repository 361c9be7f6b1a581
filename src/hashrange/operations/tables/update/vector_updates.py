"""VectorIndexUpdates: one vector index created or deleted."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from hashrange.engine.keys import invalid_parameter
from hashrange.engine.vectors import sizes
from hashrange.model import requests
from hashrange.model.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.limits import VECTOR_INDEXES_MAX
from hashrange.model.tables import KeyType, Table
from hashrange.operations.tables import table_schema, vector_schema
from hashrange.operations.tables.update.index_updates import (
    IN_USE,
    ONE_AT_A_TIME,
    check_name_is_free,
    redefined,
)


class VectorUpdates(NamedTuple):
    """The vector index updates of a request. `types` is None if the request has no
    AttributeDefinitions."""

    creates: tuple[requests.CreateVectorIndexAction, ...]
    deletes: tuple[requests.DeleteVectorIndexAction, ...]
    types: dict[str, KeyType] | None


def parse(request: requests.UpdateTable) -> VectorUpdates:
    """Check the updates as far as possible without the table."""
    wanted = request.vector_index_updates or ()
    for update in wanted:
        if (update.create is None) == (update.delete is None):
            fault = "must not be null" if update.create is None else "is allowed"
            raise invalid_parameter(
                f"One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete {fault}"
            )
    definitions = request.attribute_definitions
    return VectorUpdates(
        tuple(update.create for update in wanted if update.create),
        tuple(update.delete for update in wanted if update.delete),
        None if definitions is None else table_schema.attribute_types(definitions),
    )


def apply(table: Table, updates: VectorUpdates, on_demand: bool, spaces: Iterator[int]) -> Table:
    """The table after the updates. A new index gets the next two of `spaces`, and its build has not
    begun.

    `on_demand` says whether the table is on demand after the request.
    """
    if not on_demand and (updates.creates or table.vector_indexes):
        raise invalid_parameter(vector_schema.ONLY_ON_DEMAND)
    for create in updates.creates:
        _check_new(table, create, updates.types)
    if len(updates.creates) + len(updates.deletes) > 1:
        raise LimitExceededException(ONE_AT_A_TIME)
    for delete in updates.deletes:
        table = _without(table, delete.index_name)
    for create in updates.creates:
        table = _with(table, create, updates.types or {}, spaces)
    return table


def _check_new(
    table: Table, create: requests.CreateVectorIndexAction, types: dict[str, KeyType] | None
) -> None:
    """Check a new index. Its name is checked first."""
    name, attribute = create.index_name, create.vector_attribute.attribute_name
    check_name_is_free(table, name)
    if types is None and create.search_schema:
        raise invalid_parameter(f"AttributeDefinitions is not specified for index: {name}")
    types = types or {}
    vector_schema.check(create, types)
    if attribute in table.types:
        vector = f"VectorIndexSchema:[VectorAttribute: key{{{attribute}:L:{create.dimensions}}}]"
        raise redefined(table, attribute, vector)
    for searched in vector_schema.searched_names(create):
        if table.types.get(searched, types[searched]) != types[searched]:
            kinds = ", ".join(
                f"SearchSchemaElement: key{{{each.attribute_name}:{types[each.attribute_name]}:"
                f"{each.search_schema_element_type}}}"
                for each in create.search_schema or ()
            )
            raise redefined(table, searched, f"VectorIndexSchema:[{kinds}]")
    known = [(index.attribute, index.dimensions) for index in table.vector_indexes]
    vector_schema.check_dimensions([*known, (attribute, create.dimensions)])
    table_schema.check_projected_names(
        [
            len(create.projection.non_key_attributes or ()),
            *(len(index.include) for index in table.declared_indexes),
        ]
    )


def _without(table: Table, name: str) -> Table:
    index = table.vector_index(name)
    if index is None:
        if table.index(name) is not None:
            raise ValidationException(f"Cannot delete an index that is not a VectorIndex: {name}")
        raise ResourceNotFoundException(
            f"Requested resource not found: Index {name} for table {table.name}"
        )
    if name in table.allocating:
        raise ResourceInUseException(
            f"{IN_USE}Index creation is in resource allocation phase. Retry deletion during "
            f"backfilling phase or when the index is active. Table: {table.name} Index: {name}"
        )
    if any(other.building and other is not index for other in table.declared_indexes):
        raise LimitExceededException(ONE_AT_A_TIME)
    left = replace(
        table,
        vector_indexes=tuple(other for other in table.vector_indexes if other is not index),
        former_vectors=sizes.former(table, name),
    )
    return replace(left, types=left.used_types)


def _with(
    table: Table,
    create: requests.CreateVectorIndexAction,
    definitions: dict[str, KeyType],
    spaces: Iterator[int],
) -> Table:
    """The table with the new index. New attribute definitions that the index does not use are
    dropped, and existing ones keep their types."""
    if any(index.building for index in table.declared_indexes):
        raise LimitExceededException(ONE_AT_A_TIME)
    if len(table.vector_indexes) >= VECTOR_INDEXES_MAX:
        raise LimitExceededException(
            "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table "
            f"limit of {VECTOR_INDEXES_MAX}"
        )
    index = vector_schema.definition(create, next(spaces), next(spaces))
    index = replace(index, building=True, backfilling=False)
    types = dict(sorted((definitions | table.types).items()))
    changed = replace(table, vector_indexes=(*table.vector_indexes, index), types=types)
    return replace(changed, types=changed.used_types)
