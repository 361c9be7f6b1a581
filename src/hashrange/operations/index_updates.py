"""The global index part of UpdateTable: one create or delete, and any number of updates."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from hashrange.engine.keys import INVALID
from hashrange.model import requests
from hashrange.model.errors import (
    LimitExceededException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.limits import GLOBAL_INDEXES_MAX
from hashrange.model.tables import Index, KeyType, Table
from hashrange.operations import table_capacity, table_schema
from hashrange.operations.table_description import describe

ONE_AT_A_TIME = (
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously "
    "per table"
)


class IndexUpdate(NamedTuple):
    create: requests.CreateGlobalSecondaryIndexAction | None = None
    delete: requests.DeleteGlobalSecondaryIndexAction | None = None
    updates: tuple[requests.UpdateGlobalSecondaryIndexAction, ...] = ()
    types: dict[str, KeyType] | None = None


def parse(given: requests.UpdateTable) -> IndexUpdate:
    """What can be checked of the index updates without the table."""
    wanted = given.global_secondary_index_updates
    if wanted is None:
        return IndexUpdate()
    names: set[str] = set()
    for update in wanted:
        actions = [
            action for action in (update.create, update.delete, update.update) if action is not None
        ]
        if len(actions) != 1:
            raise table_schema.refuse(
                "One of Create, Update or Delete must be specified for each "
                "GlobalSecondaryIndexUpdate"
            )
        if actions[0].index_name in names:
            raise table_schema.refuse(
                "Only one global secondary index update per index is allowed simultaneously. "
                f"Index: {actions[0].index_name}"
            )
        names.add(actions[0].index_name)
    creates = [update.create for update in wanted if update.create is not None]
    deletes = [update.delete for update in wanted if update.delete is not None]
    if len(creates) + len(deletes) > 1:
        raise LimitExceededException(ONE_AT_A_TIME)
    return IndexUpdate(
        creates[0] if creates else None,
        deletes[0] if deletes else None,
        tuple(update.update for update in wanted if update.update is not None),
        table_schema.attribute_types(given.attribute_definitions or ()),
    )


def apply(table: Table, update: IndexUpdate, spaces: Iterator[int]) -> Table:
    """The table after the update; a new index gets the next of `spaces`, and is to be built."""
    for change in update.updates:
        table = _updated(table, change)
    if (update.create or update.delete) and any(index.building for index in table.indexes):
        building = next(index for index in table.indexes if index.building)
        if not (
            update.delete and update.delete.index_name == building.name and building.backfilling
        ):
            raise LimitExceededException(ONE_AT_A_TIME)
    if update.delete:
        return _without(table, _existing(table, update.delete.index_name))
    if update.create:
        return _with(table, update.create, update.types or {}, next(spaces))
    return table


def _existing(table: Table, name: str) -> Index:
    index = table.index(name)
    if index is None or index.local:
        raise ResourceNotFoundException("Requested resource not found")
    return index


def _updated(table: Table, change: requests.UpdateGlobalSecondaryIndexAction) -> Table:
    index = _existing(table, change.index_name)
    if change.provisioned_throughput is not None:
        if table.on_demand:
            raise ValidationException(f"{table_capacity.NEITHER_ON_DEMAND} for index: {index.name}")
        index = replace(index, throughput=table_capacity.throughput(change.provisioned_throughput))
    if change.on_demand_throughput is not None:
        index = replace(index, on_demand=table_capacity.on_demand(change.on_demand_throughput))
    if change.warm_throughput is not None:
        index = replace(index, warm=table_capacity.raised(index.warm, change.warm_throughput))
    indexes = tuple(index if old.name == index.name else old for old in table.indexes)
    return replace(table, indexes=indexes)


def _without(table: Table, index: Index) -> Table:
    indexes = tuple(other for other in table.indexes if other is not index)
    used = {*table.key, *(name for other in indexes for name in other.key)}
    types = {name: type_ for name, type_ in table.types.items() if name in used}
    return replace(table, indexes=indexes, types=types)


def _with(
    table: Table,
    create: requests.CreateGlobalSecondaryIndexAction,
    definitions: dict[str, KeyType],
    space: int,
) -> Table:
    """Definitions that the new index does not use are dropped; known types stay as they are."""
    if table.index(create.index_name):
        raise ValidationException(f"{INVALID}Index with name: {create.index_name} already exists")
    types = {**definitions, **table.types}
    table_schema.check_global_index(create, types)
    table_capacity.check_index(table, create)
    if sum(not index.local for index in table.indexes) >= GLOBAL_INDEXES_MAX:
        raise LimitExceededException(
            f"GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES_MAX}"
        )
    index = replace(
        table_schema.index(create, space, local=False), building=True, backfilling=False
    )
    new = {name: types[name] for name in index.key}
    return replace(table, indexes=(*table.indexes, index), types={**table.types, **new})


def show_deleted(description: dict[str, Any], before: Table, update: IndexUpdate) -> None:
    """The answer still lists an index that is going, as DELETING."""
    if update.delete is None:
        return
    name = update.delete.index_name
    for index in describe(before, "ACTIVE")["GlobalSecondaryIndexes"]:
        if index["IndexName"] == name:
            shown = {**index, "IndexStatus": "DELETING"}
            description.setdefault("GlobalSecondaryIndexes", []).append(shown)
