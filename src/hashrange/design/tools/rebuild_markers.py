"""Making a table's unique markers again from its items, e.g. after a change of a namespace."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import ConditionFailed, NotUnique
from hashrange.design.execute.connection import connect
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.execute.steps import ApiCall, Steps, run
from hashrange.design.execute.writes.commit import commit
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.unique_markers import (
    MARKER_TYPE,
    OWNER_ATTRIBUTE,
    markers,
    markers_of,
)
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.design.table import Table
from hashrange.model.values import Item


@dataclass
class RebuiltMarkers:
    """How many markers were written and deleted.

    `clashes` has a line for each item whose text another item already has.
    """

    written: int = 0
    deleted: int = 0
    clashes: list[str] = field(default_factory=list)


def rebuild_markers(table: Table, connection: Any) -> RebuiltMarkers:
    """Write the missing markers of all items, then delete the markers that no item has.

    Reads the whole table twice. Each marker is written in a transaction that checks its item, so
    other programs may write meanwhile, if their model has the same unique texts. It can be repeated
    at any time. Raises Conflict if an item changes while its marker is written.
    """
    return run(_rebuild(table.model), connect(connection))


def _rebuild(model: TableModel) -> Steps[RebuiltMarkers]:
    rebuilt = RebuiltMarkers()
    loader = Loader(model, [entity.model for entity in model.entities])
    there: dict[str, Item] = {}
    needed: set[str] = set()
    for only_markers in (True, False):
        request: dict[str, Any] = {"TableName": model.name, "ConsistentRead": True}
        while request:
            response = yield ApiCall("Scan", request)
            for raw in response["Items"]:
                if _is_marker(model, raw) and only_markers:
                    there[raw[model.table.hash[0].attribute]["S"]] = raw
                elif not _is_marker(model, raw) and not only_markers:
                    needed |= yield from _write(model, loader.recognise(raw), raw, there, rebuilt)
            after = response.get("LastEvaluatedKey")
            request = {**request, "ExclusiveStartKey": after} if after else {}
    for name, raw in there.items():
        if name not in needed:
            try:
                yield from commit([_delete(model, raw)])
                rebuilt.deleted += 1
            except ConditionFailed:
                continue  # another program has taken it over
    return rebuilt


def _write(
    model: TableModel,
    entity: Entity | None,
    raw: Item,
    there: Mapping[str, Item],
    rebuilt: RebuiltMarkers,
) -> Steps[set[str]]:
    """Write an item's missing markers; returns the names of all markers that it needs."""
    needed = markers_of(model, entity, raw) if entity is not None else {}
    for name, marker in needed.items():
        stored = there.get(name, {})
        expiry = stored.get(model.ttl_attribute or "")
        if (stored.get(OWNER_ATTRIBUTE), expiry) == ({"M": marker.owner}, marker.expiry):
            continue
        puts = [a for a in markers(model, marker.entity, None, raw) if a.key == marker.key]
        try:
            yield from commit([*puts, _unchanged(model, marker.entity, raw)])
            rebuilt.written += 1
        except NotUnique as error:
            rebuilt.clashes.append(f"{error} ({_key_text(raw, model)})")
    return set(needed)


def _is_marker(model: TableModel, raw: Item) -> bool:
    texts: Iterator[str | None] = (raw[c.attribute].get("S") for c in model.table.columns)
    first, *rest = texts
    is_key = first is not None and first.startswith("unique#")
    return is_key and rest in ([], [MARKER_TYPE]) and OWNER_ATTRIBUTE in raw


def _unchanged(model: TableModel, entity: Entity, raw: Item) -> WriteAction:
    """A check that the unique fields of an item are as read."""
    expression = Expression()
    fields = {name for unique in entity.unique for name in unique.template.fields}
    conditions = [f"attribute_exists({expression.name(model.table.hash[0].attribute)})"]
    conditions += [
        expression.as_read(attribute, raw.get(attribute))
        for attribute in sorted(entity.attributes[name] for name in fields)
    ]
    key = entity.key_of(raw)
    parameters = {
        "TableName": model.name,
        "Key": key,
        "ConditionExpression": " AND ".join(conditions),
        **expression.parameters(),
    }
    return WriteAction("ConditionCheck", parameters, key)


def _delete(model: TableModel, raw: Item) -> WriteAction:
    expression = Expression()
    key = {column.attribute: raw[column.attribute] for column in model.table.columns}
    parameters = {
        "TableName": model.name,
        "Key": key,
        "ConditionExpression": expression.as_read(OWNER_ATTRIBUTE, raw[OWNER_ATTRIBUTE]),
        **expression.parameters(),
    }
    return WriteAction("Delete", parameters, key)


def _key_text(raw: Item, model: TableModel) -> str:
    return " / ".join(raw[column.attribute].get("S", "") for column in model.table.columns)
