"""GlobalSecondaryIndexUpdates: at most one index created or deleted, and any number updated."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from hashrange.engine.fetch import Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from hashrange.model.limits import GLOBAL_INDEXES_MAX
from hashrange.model.tables import Index, KeyType, Table, TableOrIndex
from hashrange.operations.tables import table_capacity, table_schema

IN_USE = "Attempt to change a resource which is still in use: "
ONE_AT_A_TIME = (
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously "
    "per table"
)


class IndexUpdates(NamedTuple):
    """The global index updates of a request. `types` is None if the request has no
    AttributeDefinitions."""

    creates: tuple[requests.CreateGlobalSecondaryIndexAction, ...]
    deletes: tuple[requests.DeleteGlobalSecondaryIndexAction, ...]
    updates: tuple[requests.UpdateGlobalSecondaryIndexAction, ...]
    types: dict[str, KeyType] | None


def parse(request: requests.UpdateTable) -> IndexUpdates:
    """Check the index updates as far as possible without the table."""
    names: set[str] = set()
    wanted = request.global_secondary_index_updates or ()
    for update in wanted:
        if update.create:
            table_schema.check_global_length(update.create)
    for update in wanted:
        name = _action(update).index_name
        if name in names:
            raise invalid_parameter(
                "Only one global secondary index update per index is allowed simultaneously. "
                f"Index: {name}"
            )
        names.add(name)
    definitions = request.attribute_definitions
    return IndexUpdates(
        tuple(update.create for update in wanted if update.create),
        tuple(update.delete for update in wanted if update.delete),
        tuple(update.update for update in wanted if update.update),
        None if definitions is None else table_schema.attribute_types(definitions),
    )


def _action(
    update: requests.GlobalSecondaryIndexUpdate,
) -> (
    requests.CreateGlobalSecondaryIndexAction
    | requests.DeleteGlobalSecondaryIndexAction
    | requests.UpdateGlobalSecondaryIndexAction
):
    actions = [action for action in (update.update, update.create, update.delete) if action]
    if not actions:
        raise invalid_parameter(
            "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null"
        )
    if len(actions) > 1:
        raise invalid_parameter(
            "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate "
            "object"
        )
    return actions[0]


def apply(
    table: Table, updates: IndexUpdates, on_demand: bool, spaces: Iterator[int], moment: Moment
) -> Table:
    """The table after the updates. A new index gets the next of `spaces`, and its build has not
    begun.

    `on_demand` says whether the table is on demand after the request.
    """
    indexes = {index.name: index for index in table.indexes}
    for change in updates.updates:
        old = _existing(table, change.index_name, "update")
        indexes[old.name] = _updated(table, old, change, on_demand, moment)
    changed = replace(table, indexes=tuple(indexes.values()))
    for create in updates.creates:
        _check_new(table, create, updates.types, on_demand, moment)
    # This comes before the check that the indexes exist.
    if len(updates.creates) + len(updates.deletes) > 1:
        raise LimitExceededException(ONE_AT_A_TIME)
    gone = [_existing(table, delete.index_name, "delete") for delete in updates.deletes]
    if updates.creates or gone:
        _check_one_at_a_time(table, updates)
    for index in gone:
        changed = _without(changed, index.name)
    for create in updates.creates:
        changed = _with(changed, create, updates.types or {}, next(spaces))
    return changed


def _existing(table: Table, name: str, verb: str) -> Index:
    index = table.index(name)
    if index is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: Index {name} for table {table.name}"
        )
    if index.local:
        raise ValidationException(
            f"Cannot {verb} an index that is not a GlobalSecondaryIndex: {name}"
        )
    return index


# ---- updates ----


def _updated(
    table: Table,
    old: Index,
    update: requests.UpdateGlobalSecondaryIndexAction,
    on_demand: bool,
    moment: Moment,
) -> Index:
    capacity, maxima, warm = (
        update.provisioned_throughput,
        update.on_demand_throughput,
        update.warm_throughput,
    )
    _check_mode(update, on_demand)
    if old.name in table.allocating:
        raise ResourceInUseException(
            f"{IN_USE}Index is being created but is not backfilling yet.  "
            f"Table: {table.name} Index: {old.name}"
        )
    table_capacity.check_on_demand(maxima, old.name, can_clear=True)
    table_capacity.check_raises_warm(old.warm, warm, old.name)
    throughput = old.throughput
    if capacity is not None:
        throughput = table_capacity.provisioned(throughput, capacity, old.name, moment)
    table_capacity.check_maxima(moment, capacity, maxima, warm, index=old.name)
    return replace(
        old,
        throughput=throughput,
        on_demand=table_capacity.changed_on_demand(old.on_demand, maxima),
        warm=table_capacity.raised_warm(old.warm, warm).raised(throughput.read, throughput.write),
    )


def _check_mode(update: requests.UpdateGlobalSecondaryIndexAction, on_demand: bool) -> None:
    name, maxima = update.index_name, table_capacity.units(update.on_demand_throughput)
    if on_demand:
        if update.provisioned_throughput or not (maxima or update.warm_throughput):
            raise invalid_parameter(
                f"The only Updates for index: {name} when TableThroughputMode is PAY_PER_REQUEST "
                "can be to OnDemandThroughput, WarmThroughput"
            )
        return
    for member in maxima:
        raise invalid_parameter(
            f"{member} for OnDemandThroughput for index : {name} cannot be specified when the "
            "table BillingMode is PROVISIONED"
        )
    if not (update.provisioned_throughput or update.warm_throughput):
        raise invalid_parameter(f"ProvisionedThroughput must be specified for index: {name}")


# ---- an index is created or deleted ----


def _check_one_at_a_time(table: Table, updates: IndexUpdates) -> None:
    """Raises an error if another index is being built, if an index to be deleted is in the first
    phase of its build (resource allocation), or if there would be too many indexes."""
    for delete in updates.deletes:
        if delete.index_name in table.allocating:
            raise ResourceInUseException(
                f"{IN_USE}Index creation is in resource allocation phase. Retry deletion during "
                "backfilling phase or when the index is active. "
                f"Table: {table.name} Index: {delete.index_name}"
            )
    deleted = {delete.index_name for delete in updates.deletes}
    building = any(index.building and index.name not in deleted for index in table.declared_indexes)
    if building:
        raise LimitExceededException(ONE_AT_A_TIME)
    if updates.creates and len(table.global_indexes) >= GLOBAL_INDEXES_MAX:
        raise LimitExceededException(
            "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table "
            f"limit of {GLOBAL_INDEXES_MAX}"
        )


def _check_new(
    table: Table,
    create: requests.CreateGlobalSecondaryIndexAction,
    types: dict[str, KeyType] | None,
    on_demand: bool,
    moment: Moment,
) -> None:
    """Check a new index. Its name is checked first."""
    name, capacity = create.index_name, create.provisioned_throughput
    check_name_is_free(table, name)
    if types is None:
        raise invalid_parameter(f"AttributeDefinitions is not specified for index: {name}")
    table_schema.check_added_index(create, types)
    _check_not_redefined(table, create, types)
    projected = [index.include for index in table.declared_indexes]
    table_schema.check_projected_names(
        [len(create.projection.non_key_attributes or ()), *map(len, projected)]
    )
    if on_demand and capacity is not None:
        raise invalid_parameter(
            f"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if not on_demand and capacity is None:
        raise invalid_parameter(
            f"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}"
        )
    for member in table_capacity.units(create.on_demand_throughput):
        if not on_demand:
            raise invalid_parameter(
                f"{member} for OnDemandThroughput for index : {name} cannot be specified when the "
                "table BillingMode is PROVISIONED"
            )
    table_capacity.check_on_demand(create.on_demand_throughput, name)
    table_capacity.check_new_warm(create.warm_throughput, capacity, name)
    table_capacity.check_maxima(
        moment, capacity, create.on_demand_throughput, create.warm_throughput, index=name
    )


def check_name_is_free(table: Table, name: str) -> None:
    there = table.named_index(name)
    if there is not None and there.building:
        raise ResourceInUseException(
            f"{IN_USE}Index is being created.  Table: {table.name} Index: {name}"
        )
    if there is not None:
        raise ValidationException("Attempting to create an index which already exists")


def _check_not_redefined(
    table: Table, create: requests.CreateGlobalSecondaryIndexAction, types: dict[str, KeyType]
) -> None:
    """Raises ValidationException if a key attribute of the new index has another type in the table.

    Attribute definitions that the new index does not use are ignored.
    """
    for element in create.key_schema:
        name = element.attribute_name
        if table.types.get(name, types[name]) == types[name]:
            continue
        new = table_schema.index(create, table.space)
        raise redefined(table, name, schema(new, types))


def redefined(table: Table, name: str, new_schema: str) -> ValidationException:
    """The error for a new index whose key attribute `name` already has another type. `new_schema`
    is the key of the new index, as the message shows it."""
    views: list[TableOrIndex] = [table, *table.declared_indexes]
    known = next((view for view in views if name in view.key), table)
    return invalid_parameter(
        "Attributes cannot be redefined. Please check that your attribute has the same type "
        f"as previously defined. Existing schema: {schema(known, table.types)} "
        f"New schema: {new_schema}"
    )


def schema(view: TableOrIndex, types: Mapping[str, KeyType]) -> str:
    kinds = [*((name, "HASH") for name in view.hash), *((name, "RANGE") for name in view.range)]
    elements = [f"SchemaElement: key{{{name}:{types[name]}:{kind}}}" for name, kind in kinds]
    return f"Schema:[{', '.join(elements)}]"


def _without(table: Table, name: str) -> Table:
    """The table without the index, and without the attribute definitions that only it used."""
    left = replace(table, indexes=tuple(i for i in table.indexes if i.name != name))
    return replace(left, types=left.used_types)


def _with(
    table: Table,
    create: requests.CreateGlobalSecondaryIndexAction,
    definitions: dict[str, KeyType],
    space: int,
) -> Table:
    """The table with the new index. New attribute definitions that the index does not use are
    dropped, and existing ones keep their types."""
    index = replace(table_schema.index(create, space), building=True, backfilling=False)
    types = dict(sorted((definitions | table.types).items()))
    changed = replace(table, indexes=(*table.indexes, index), types=types)
    return replace(changed, types=changed.used_types)
