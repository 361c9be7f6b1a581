"""Handling one record of a stream: updating copies, then calling the table's handlers."""

from collections.abc import Mapping
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.errors import Conflict, NotFound
from hashrange.design.execute.steps import Steps
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.commit import commit
from hashrange.design.streams.changes import Change, Handler, change_of

ATTEMPTS = 5


class Dispatcher:
    """Handles the records of one table's stream."""

    def __init__(self, core: StoreSteps) -> None:
        self.core = core
        self.model = core.model
        self.handlers: list[Handler] = core.model.handlers

    def change(self, record: Mapping[str, Any]) -> Change[Any] | None:
        """The change in a record; None if the change needs no handling."""
        change = change_of(self.model, record)
        if change is None:
            return None
        concerns = self._is_owner(change) or self._copies(change)
        return change if concerns or any(h.handles(change) for h in self.handlers) else None

    def handle(self, change: Change[Any]) -> Steps[None]:
        """Handle a change. Errors of handlers are raised unchanged."""
        if self._is_owner(change):
            yield from self._update_copies(change.item)
        if self._copies(change):
            yield from self._correct(change.item)
        for handler in self.handlers:
            if handler.handles(change):
                handler.function(change)

    # ---- copies ----

    def _is_owner(self, change: Change[Any]) -> bool:
        """Whether copies of the item's fields in other items may have to be updated.

        This includes a new item: it may have the key of a deleted item, whose fields still have
        copies.
        """
        fields = {
            copy.field
            for entity in self.model.entities
            for copy in entity.copies.values()
            if copy.sync == "stream" and copy.owner is type(change.item)
        }
        return bool(fields) and (change.old is None or change.changed(*fields))

    def _copies(self, change: Change[Any]) -> bool:
        """Whether the change sets fields that are copies, whose new values may be out of date."""
        if change.new is None:
            return False
        names = _stream_copies(self.model.entity(type(change.new)))
        return bool(names) and (change.old is None or change.changed(*names))

    def _update_copies(self, owner: Item) -> Steps[None]:
        try:
            yield from self.core.sync(owner)
        except NotFound:
            return  # it has been deleted since

    def _correct(self, item: Item) -> Steps[None]:
        """Correct the copied fields of a written item.

        Their owners may have changed just before the write.
        """
        entity = self.model.entity(type(item))
        for attempt in range(ATTEMPTS):
            raw = yield from self.core.writer.copying.read(entity.primary_key(vars(item)))
            if raw is None:
                return
            stored = entity.load(raw)
            values = yield from self._owned(entity, stored)
            if all(getattr(stored, name) == value for name, value in values.items()):
                return
            changed = stored.replace(**values)
            written = yield from self.core.writer.save(changed, trusted=True)
            try:
                yield from commit(written.actions)
            except Conflict:
                if attempt + 1 == ATTEMPTS:
                    raise

    def _owned(self, entity: Entity, item: Item) -> Steps[dict[str, Any]]:
        """The values that the copied fields should have now, except fields whose owner is gone."""
        values: dict[str, Any] = {}
        for name in _stream_copies(entity):
            reference = self.model.references.of_copy(entity, name)
            key = reference.parent_key(entity.complete(vars(item)))
            raw = yield from self.core.writer.copying.read(key)
            if raw is not None:
                values[name] = getattr(reference.parent.load(raw), entity.copies[name].field)
        return values


def _stream_copies(entity: Entity) -> list[str]:
    return [name for name, copy in entity.copies.items() if copy.sync == "stream"]
