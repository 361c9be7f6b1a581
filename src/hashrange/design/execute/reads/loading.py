"""Converts stored items to a pattern's results, and counts items of unknown entities."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import ValidationError

from hashrange.design.declare.absent import STORED, absent_value
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import View, viewed
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import ItemError
from hashrange.model.values import Item


class ReadItem(NamedTuple):
    """A stored item, and the number of the partition from which it was read.

    A cursor continues after the item `position`: this is `raw` or, with @st.through, the item whose
    reference led to `raw`.
    """

    raw: Item
    partition: int
    position: Item


class Loader:
    """Recognises the entity of a stored item and converts it to a pattern's result."""

    def __init__(self, model: TableModel, results: Sequence[type[Any]]) -> None:
        self.model = model
        self._makers: dict[str, Callable[[Item], Any]] = {}
        for result in results:
            if issubclass(result, View):
                entity = model.entity(viewed(result))
                self._makers[entity.name] = _ViewLoader(model, entity, result).load
            else:
                entity = model.entity(result)
                self._makers[entity.name] = entity.load

    def recognise(self, raw: Item) -> Entity | None:
        """The stored item's entity; None if the model has no such entity."""
        attribute = self.model.type_attribute
        if attribute is not None and attribute in raw:
            return self.model.by_name.get(raw[attribute].get("S", ""))
        return next((e for e in self._by_key if e.recognises(raw)), None)

    @cached_property
    def _by_key(self) -> list[Entity]:
        """The entities, in the order in which they are tried for an item without a type.

        Entities that the pattern returns come first, then entities with more constant text in their
        key.
        """
        return sorted(
            self.model.entities,
            key=lambda e: (
                e.name not in self._makers,
                -sum(len(c.template.literal_text) for c in e.key.columns),
            ),
        )

    def load_all(self, raws: Sequence[Item], items: "LoadedItems") -> list[Any]:
        """Convert stored items to results. Adds the number of unknown items to `items.skipped`.

        Raises ItemError.
        """
        attribute, makers = self.model.type_attribute or "", self._makers
        hides = self.model.hide_expired
        loaded: list[Any] = []
        for raw in raws:
            if hides and self.model.hidden(raw):
                continue
            try:
                maker = makers[raw[attribute]["S"]]
            except KeyError:
                entity = self.recognise(raw)
                items.skipped += entity is None
                if entity is None or entity.name not in makers:
                    continue
                maker = makers[entity.name]
            loaded.append(maker(raw))
        return loaded

    def wants(self, entity: Entity) -> bool:
        return entity.name in self._makers

    def load(self, entity: Entity, raw: Item) -> Any:
        """Convert a stored item to the pattern's result. Raises ItemError."""
        return self._makers[entity.name](raw)


@dataclass(frozen=True)
class _ViewLoader:
    model: TableModel
    entity: Entity
    view: type[View[Any]]

    def load(self, raw: Item) -> Any:
        stored = self.entity.values(raw) | self._derived(raw)
        values: dict[str, Any] = {}
        for name in self.view.model_fields:
            attribute = self.entity.attributes[name]
            if attribute in stored:
                values[name] = stored[attribute]
        if len(values) < len(self.view.model_fields):
            values = {**self._absent, **self._from_keys(raw), **values}
        try:
            return self.view.model_validate(values)
        except ValidationError as error:
            key = self.entity.key_of(raw)
            raise ItemError(f"{self.view.__name__} ({key}): {error}", key) from error

    def _derived(self, raw: Item) -> dict[str, Any]:
        """The stored values of derived fields, which an index may have without their inputs."""
        names = [name for name in self.view.model_fields if name in self.entity.derived]
        return {n: self.entity.fields[n].decode(raw[n]) for n in names if n in raw}

    @cached_property
    def _absent(self) -> dict[str, Any]:
        """The values of fields whose attributes are absent: None or an empty set."""
        values = {name: absent_value(self.entity.fields[name]) for name in self.view.model_fields}
        return {name: value for name, value in values.items() if value is not STORED}

    def _from_keys(self, raw: Item) -> dict[str, Any]:
        """The values of fields that the text of a key shows: an index may project only keys."""
        values: dict[str, Any] = {}
        for key in (self.entity.key, *self.entity.indexes):
            for column in key.columns:
                text = raw.get(column.attribute, {}).get("S")
                if column.natural is None and text is not None:
                    values = {**column.template.read(text), **values}
        return {n: v for n, v in values.items() if n in self.view.model_fields}


@dataclass
class LoadedItems:
    """The results of a read, with the items that gave no result.

    Each of `results` has the number of items read up to and including its own item. `skipped`
    counts items of unknown entities. `errors` has an error for each item that could not be loaded.
    """

    results: list[tuple[Any, int]] = field(default_factory=list)
    rows: list[ReadItem] = field(default_factory=list)
    skipped: int = 0
    errors: list[ItemError] = field(default_factory=list)

    def take(self, rows: Sequence[ReadItem], loader: Loader, collect: bool) -> Iterator[Any]:
        """Load items. Yields their results, and adds them to `results`.

        With `collect`, an ItemError is added to `errors`; otherwise it is raised.
        """
        for row in rows:
            self.rows.append(row)
            if loader.model.hidden(row.raw):
                continue
            entity = loader.recognise(row.raw)
            if entity is None:
                self.skipped += 1
            elif loader.wants(entity):
                try:
                    result = loader.load(entity, row.raw)
                except ItemError as error:
                    if not collect:
                        raise
                    self.errors.append(error)
                    continue
                self.results.append((result, len(self.rows)))
                yield result
