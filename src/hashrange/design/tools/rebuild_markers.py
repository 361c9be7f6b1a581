"""Makes a table's unique markers again from its items, e.g. after a change of a namespace."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import Conflict, NotUnique
from hashrange.design.execute.batches import get_one
from hashrange.design.execute.connection import connect
from hashrange.design.execute.reads.loading import Loader
from hashrange.design.execute.steps import ApiCall, Steps, run
from hashrange.design.execute.writes.commit import commit
from hashrange.design.execute.writes.expression import Expression
from hashrange.design.execute.writes.unique_markers import (
    MARKER_TYPE,
    OWNER_ATTRIBUTE,
    Marker,
    markers,
    markers_of,
)
from hashrange.design.execute.writes.write_actions import WriteAction
from hashrange.design.table import Table
from hashrange.model.values import Item

ATTEMPTS = 10
"""The number of attempts to rebuild an item's markers while other programs change the item."""


@dataclass
class RebuiltMarkers:
    """The numbers of markers that were written and deleted.

    `clashes` has a line for each item whose unique text another item already has.
    """

    written: int = 0
    deleted: int = 0
    clashes: list[str] = field(default_factory=list)


def rebuild_markers(table: Table, connection: Any) -> RebuiltMarkers:
    """Write the missing markers of all items, then delete the markers that no item needs.

    Reads the whole table twice. Each transaction that writes or deletes a marker also checks the
    marker's item, so other programs may write meanwhile if their model has the same unique texts. A
    changed item is read again, up to ten times; after that, Conflict is raised. The call can be
    repeated at any time.
    """
    rebuild = _Rebuild(table.model)
    return run(rebuild.steps(), connect(connection))


class _Rebuild:
    """One run.

    `there` has the stored markers by name, and `needed` the names of the markers that items need.
    """

    def __init__(self, model: TableModel) -> None:
        self.model = model
        self.loader = Loader(model, [entity.model for entity in model.entities])
        self.there: dict[str, Item] = {}
        self.needed: set[str] = set()
        self.rebuilt = RebuiltMarkers()

    def steps(self) -> Steps[RebuiltMarkers]:
        for only_markers in (True, False):
            request: dict[str, Any] = {"TableName": self.model.name, "ConsistentRead": True}
            while request:
                response = yield ApiCall("Scan", request)
                for raw in response["Items"]:
                    if _is_marker(self.model, raw) and only_markers:
                        self.there[raw[self.model.table.hash[0].attribute]["S"]] = raw
                    elif not _is_marker(self.model, raw) and not only_markers:
                        yield from self._write(raw)
                after = response.get("LastEvaluatedKey")
                request = {**request, "ExclusiveStartKey": after} if after else {}
        for name, raw in self.there.items():
            if name not in self.needed:
                yield from self._clear(name, raw)
        return self.rebuilt

    def _markers(self, raw: Item | None) -> dict[str, Marker]:
        entity = None if raw is None else self.loader.recognise(raw)
        return {} if entity is None else markers_of(self.model, entity, raw)

    def _write(self, raw: Item) -> Steps[None]:
        """Write an item's missing markers; try again if another program changes the item."""
        clashes: list[str] = []
        conflict: Conflict | None = None
        for _ in range(ATTEMPTS):
            clashes, conflict = [], None
            for name, marker in self._markers(raw).items():
                try:
                    yield from self._put(name, marker, raw)
                except NotUnique as error:
                    clashes.append(f"{error} ({_key_text(raw, self.model)})")
                except Conflict as error:
                    conflict = error
            if not clashes and conflict is None:
                return
            current = yield from get_one(self.model.name, self._key(raw))
            if current is None:
                return
            if conflict is None and current == raw:
                break
            raw = current
        if conflict is not None:
            raise conflict
        self.rebuilt.clashes += clashes

    def _put(self, name: str, marker: Marker, raw: Item) -> Steps[None]:
        self.needed.add(name)
        stored = self.there.get(name, {})
        expiry = stored.get(self.model.ttl_attribute or "")
        if (stored.get(OWNER_ATTRIBUTE), expiry) == ({"M": marker.owner}, marker.expiry):
            return
        puts = [a for a in markers(self.model, marker.entity, None, raw) if a.key == marker.key]
        yield from commit([*puts, _unchanged(self.model, marker.entity, marker.owner, raw)])
        self.rebuilt.written += 1

    def _clear(self, name: str, raw: Item) -> Steps[None]:
        """Delete the marker `name`, unless its owner has changed and needs it again."""
        key = raw[OWNER_ATTRIBUTE]["M"]
        for _ in range(ATTEMPTS):
            owner = yield from get_one(self.model.name, key)
            if name in self._markers(owner):
                return
            entity = None if owner is None else self.loader.recognise(owner)
            unchanged = _unchanged(self.model, entity, key, owner)
            try:
                yield from commit([_delete(self.model, raw), unchanged])
            except Conflict:
                stored = yield from get_one(self.model.name, self._key(raw))
                if stored is None or stored[OWNER_ATTRIBUTE] != raw[OWNER_ATTRIBUTE]:
                    return  # another program has deleted it or taken it over
            else:
                self.rebuilt.deleted += 1
                return

    def _key(self, raw: Item) -> Item:
        return {c.attribute: raw[c.attribute] for c in self.model.table.columns}


def _is_marker(model: TableModel, raw: Item) -> bool:
    texts: Iterator[str | None] = (raw[c.attribute].get("S") for c in model.table.columns)
    first, *rest = texts
    is_key = first is not None and first.startswith("unique#")
    return is_key and rest in ([], [MARKER_TYPE]) and OWNER_ATTRIBUTE in raw


def _unchanged(
    model: TableModel, entity: Entity | None, key: Item, raw: Item | None
) -> WriteAction:
    """A check that an item's unique fields have the values of `raw`.

    If `raw` is None, the check is that the item does not exist.
    """
    expression = Expression()
    hash_name = model.table.hash[0].attribute
    conditions = [
        expression.as_read(hash_name, None)
        if raw is None
        else f"attribute_exists({expression.name(hash_name)})"
    ]
    if raw is not None and entity is not None:
        fields = {name for unique in entity.unique for name in unique.template.fields}
        attributes = sorted(entity.attributes[name] for name in fields)
        conditions += [expression.as_read(name, raw.get(name)) for name in attributes]
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
