"""Generated items that fit together: parents exist and keys are distinct.

An entity's parents are the entities to which it refers or from which it copies fields. Ids are
short and share prefixes ("1", "10", "a", "ab"), because such values reveal mistakes in prefixes and
ranges.
"""

import math
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from annotated_types import Ge, MinLen
from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Copy, Item
from hashrange.design.declare.keys.templates import shard_of
from hashrange.design.declare.markers import Expires
from hashrange.design.declare.schema import UniqueTemplate
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.types import bounds_of, core_type
from hashrange.design.declare.vectors import Vector
from hashrange.design.errors import BadValue, DesignError
from hashrange.design.table import Table
from hashrange.design.tools.readable_texts import readable_text

TEXTS = ("1", "10", "2", "a", "ab", "b", "B")
START = datetime(2024, 1, 30, 22, tzinfo=UTC)
READABLE_START = datetime(2024, 10, 14, 9, tzinfo=UTC)
DAYS = (0, 1, 3, 40)
"""The possible numbers of days between START and a generated time. They lead to days in START's
month and in later months."""
FAR = datetime(2100, 1, 1, tzinfo=UTC)
"""The time at which items expire, so late that none expires during a test."""
TOGETHER = 3
"""The number of readable items with the same partition key, if no parent determines the key."""
ATTEMPTS = 20
NUMBERS = 12
"""The largest difference between two generated integers."""
PLACES, FRACTIONS = 2, 999
"""The decimal places of generated decimals, and the largest difference between two of them, in
units of the last place."""
NONE_SHARE = 0.25
"""The probability that an optional field is None."""


def sample(
    table: Table, *, parents: int = 5, children: int = 12, seed: int = 0, readable: bool = False
) -> list[Item]:
    """Generated items of all entities, parents before children.

    There are up to `parents` items of each entity without a parent, and up to `children` items of
    each entity with a parent. The declared volumes limit the children of a parent. The same seed
    gives the same items. With `readable`, texts are made for people instead of for finding
    mistakes. A field with `Field(examples=[...])` has one of these values. Raises DesignError if no
    generated value satisfies a field's constraints.
    """
    return _Inventor(table, parents, children, random.Random(seed), readable).items()


class _Inventor:
    def __init__(
        self, table: Table, parents: int, children: int, chance: random.Random, readable: bool
    ) -> None:
        self.table = table
        self.model: TableModel = table.model
        self.parents, self.children = parents, children
        self.chance = chance
        self.readable = readable
        self.number = 0
        """The number of the readable item in progress; 0 if items need not be readable."""
        self.made: dict[str, list[Item]] = {}
        self.texts: set[tuple[str, str]] = set()
        """The unique texts of the items generated so far, each as (namespace, text)."""

    def items(self) -> list[Item]:
        order = self._order()
        for entity in order:
            self.made[entity.name] = self._of(entity)
        return [item for entity in order for item in self.made[entity.name]]

    def _order(self) -> list[Entity]:
        """The entities, parents before children. Owners of copies come as early as possible."""
        left = sorted(self.model.entities, key=lambda e: (len(e.key_fields), len(e.fields)))
        owners = {self.model.entity(c.owner).name for e in left for c in e.copies.values()}
        left.sort(key=lambda entity: entity.name not in owners)
        entities: list[Entity] = []
        while left:
            free = (e for e in left if not any(self._above(o, e) for o in left))
            entities.append(next(free, left[0]))
            left.remove(entities[-1])
        return entities

    def _of(self, entity: Entity) -> list[Item]:
        above = self._parents_of(entity)
        items: dict[str, Item] = {}
        many = above or (self.readable and self._shared(entity))
        for number in range(self.children if many else self.parents):
            item = self._one(entity, above, number + 1)
            if item is None or not self._may_have_texts(entity, item):
                continue
            key = repr(sorted(entity.primary_key(vars(item)).items()))
            if key not in items and self._fits(entity, item, list(items.values())):
                items[key] = item
                self.texts |= _unique_texts(entity, item).keys()
        return list(items.values())

    def _may_have_texts(self, entity: Entity, item: Item) -> bool:
        """Whether the item's unique texts are free for its entity.

        If several entities share a namespace, its texts are divided between them. Otherwise the
        first entity would take all of the few texts.
        """
        texts = _unique_texts(entity, item)
        if not self.texts.isdisjoint(texts):
            return False
        for (_, text), unique in texts.items():
            sharing = [
                other.name
                for other in self.model.entities
                if any(theirs.namespace == unique.namespace for theirs in other.unique)
            ]
            if sharing[shard_of(text, len(sharing))] != entity.name:
                return False
        return True

    def _parents_of(self, entity: Entity) -> list[Entity]:
        parents = [
            other
            for other in self.model.entities
            if self._above(other, entity) and self.made.get(other.name)
        ]
        return sorted(parents, key=lambda other: -len(other.key_fields))

    def _above(self, other: Entity, entity: Entity) -> bool:
        """Whether each item of the entity holds the primary key of an item of `other`."""
        references = self.model.references
        if not references.between(entity, other):
            return False
        return not references.between(other, entity) or not entity.key_fields < other.key_fields

    def _fits(self, entity: Entity, item: Item, others: Sequence[Item]) -> bool:
        """Whether the parents of the item may have it as a child, by the declared volumes. `others`
        are the items of the same entity so far."""
        for each in self.table.volumes.of(entity).each:
            parent = next(e for e in self.model.entities if str(e) == each.parent)
            for one in self.model.references.between(entity, parent):
                same = [o for o in others if all(getattr(o, n) == getattr(item, n)
                                                 for n in one.fields)]  # fmt: skip
                if len(same) >= each.max:
                    return False
        return True

    def _one(self, entity: Entity, above: Sequence[Entity], number: int) -> Item | None:
        """The `number`-th item of the entity, with values from items of its parents, `above`.

        None if all generated values fail, e.g. because of a delimiter in a key.
        """
        error: Exception | None = None
        for attempt in range(ATTEMPTS):
            readable = self.readable and attempt < ATTEMPTS // 2
            self.number = number if self.readable else 0
            values = self._inherited(entity, above)
            for name, info in entity.model.model_fields.items():
                if name in values or isinstance(info.default, Copy) or entity.version == name:
                    continue
                if info.examples:
                    values[name] = self._example(info.examples, number)
                    continue
                metadata = [*info.metadata, *self._written(entity, name)]
                values[name] = self._value(info.annotation, metadata)
                if readable and entity.fields[name].python is str:
                    values[name] = self._readable(entity, name, number)
            if readable:
                self._leave_out(entity, values, number)
            try:
                item: Item = entity.model.model_validate(values)
                entity.primary_key(entity.complete(vars(item)))
            except BadValue:
                continue
            except ValidationError as problem:
                error = problem
                continue
            return item
        if error is not None:
            assert isinstance(error, ValidationError)
            reasons = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors() if e["loc"])
            raise DesignError(
                f"{entity}: no generated value is valid ({reasons or error.errors()[0]['msg']}): "
                "give valid ones with Field(examples=[...])"
            ) from error
        return None

    def _inherited(self, entity: Entity, above: Sequence[Entity]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for parent in above:
            for one in self.model.references.between(entity, parent):
                fitting = [p for p in self.made[parent.name] if self._agrees(p, one.held, values)]
                if fitting:
                    chosen = self.chance.choice(fitting)
                    values |= {field: getattr(chosen, name) for name, field in one.held.items()}
        return values

    @staticmethod
    def _agrees(item: Item, held: Mapping[str, str], values: Mapping[str, Any]) -> bool:
        return all(values.get(f, getattr(item, n)) == getattr(item, n) for n, f in held.items())

    # ---- values ----

    def _readable(self, entity: Entity, field: str, number: int) -> str:
        if field in self._shared(entity):
            number = (number - 1) // TOGETHER + 1
        return readable_text(str(entity), field, number, field in entity.key_fields)

    @staticmethod
    def _shared(entity: Entity) -> frozenset[str]:
        """The fields of the partition key; empty if the primary key has no other fields."""
        fields = frozenset(f for column in entity.key.hash for f in column.template.fields)
        return fields if fields < entity.key_fields else frozenset()

    def _leave_out(self, entity: Entity, values: dict[str, Any], number: int) -> None:
        """Set the optional fields of every fourth item to None, to show sparse indexes."""
        for name, kind in entity.fields.items():
            if kind.optional and name in values and number % 4 == 0:
                values[name] = None

    def _value(self, annotation: Any, metadata: list[Any]) -> Any:
        core, optional = core_type(annotation, metadata)
        if optional and self.chance.random() < NONE_SHARE:
            return None
        if any(isinstance(fact, Expires) for fact in metadata):
            return FAR
        vector = next((fact for fact in metadata if isinstance(fact, Vector)), None)
        if vector is not None:
            return [round(self.chance.uniform(-1, 1), PLACES) for _ in range(vector.dimensions)]
        origin = get_origin(core)
        if origin is Literal:
            if self.number:
                return get_args(core)[(self.number - 1) % len(get_args(core))]
            return self.chance.choice(get_args(core))
        if origin in (list, set, frozenset, tuple):
            inner = next((a for a in get_args(core) if a is not Ellipsis), str)
            return origin(self._value(inner, []) for _ in range(self.chance.randint(1, 3)))
        if origin is dict or core is dict:
            key, value = get_args(core) or (str, str)
            return {"a" if key is str else self._value(key, []): self._value(value, [])}
        if isinstance(core, type) and issubclass(core, Enum):
            return self.chance.choice(list(core))
        if isinstance(core, type) and issubclass(core, BaseModel):
            fields = core.model_fields.items()
            return core(**{n: self._value(i.annotation, [*i.metadata]) for n, i in fields})
        return self._scalar(core, metadata)

    @staticmethod
    def _written(entity: Entity, field: str) -> list[Any]:
        """Constraints for a field's generated values, so that they test the field's templates.

        Numbers may be negative if a template of a key writes their signs. If a template shows only
        the first characters of a text, the texts are longer.
        """
        columns = [column for key in (entity.key, *entity.indexes) for column in key.columns]
        placed = [
            (part, column.template.formats[part])
            for column in columns
            for part in column.template.placeholders
            if part.field == field and not part.shards
        ]
        facts: list[Any] = [Ge(-NUMBERS) for part, _ in placed if part.spec.startswith("+")][:1]
        return facts + [MinLen(written.length + 1) for _, written in placed if written.length]

    def _example(self, examples: Sequence[Any], number: int) -> Any:
        if self.readable:
            return examples[(number - 1) % len(examples)]
        return self.chance.choice(examples)

    def _scalar(self, core: Any, metadata: Sequence[Any] = ()) -> Any:
        moment = START + timedelta(
            days=self.chance.choice(DAYS),
            hours=self.chance.choice((0, 1, 5)),
            minutes=self.chance.choice((0, 17, 34)),
        )
        if self.number:
            later = timedelta(days=self.number % 2, minutes=17 * self.number)
            moment = READABLE_START + later
        makers: dict[Any, Any] = {
            str: lambda: _long_enough(self.chance.choice(TEXTS), metadata),
            int: lambda: self.chance.randint(*_range(metadata, NUMBERS, 1)),
            Decimal: lambda: self._decimal(metadata),
            bool: lambda: self.chance.random() < 0.5,
            bytes: lambda: self.chance.randbytes(3),
            datetime: lambda: moment,
            date: moment.date,
            time: moment.time,
            UUID: lambda: UUID(int=self.chance.getrandbits(128)),
            SecretStr: lambda: SecretStr("secret"),
            SecretBytes: lambda: SecretBytes(b"secret"),
        }
        return makers.get(core, makers[str])()

    def _decimal(self, metadata: Sequence[Any]) -> Decimal:
        decimals = (getattr(fact, "decimal_places", None) for fact in metadata)
        places = min((p for p in decimals if p is not None), default=PLACES)
        low, high = _range(metadata, FRACTIONS, 10**places)
        return Decimal(self.chance.randint(low, high)).scaleb(-places)


def _unique_texts(entity: Entity, item: Item) -> dict[tuple[str, str], UniqueTemplate]:
    values = entity.complete(vars(item))
    rendered = ((unique, unique.template.render(values)) for unique in entity.unique)
    return {(unique.namespace, text): unique for unique, text in rendered if text is not None}


def _range(metadata: Sequence[Any], span: int, unit: int) -> tuple[int, int]:
    """(lowest, highest) number to generate, in units of 1/`unit`, at most `span` apart.

    If negative and positive numbers are allowed, the range has both.
    """
    lows, highs = [], []
    for sign, bound in bounds_of(metadata):
        if sign in (">=", ">"):
            lows.append(math.ceil(bound * unit) + (sign == ">"))
        else:
            highs.append(math.floor(bound * unit) - (sign == "<"))
    high = min(highs, default=None)
    low = max(lows, default=0 if high is None or high >= 0 else high - span)
    if low < 0 and (high is None or high > 0):
        low = max(low, -span // 2)
    return low, low + span if high is None else max(low, min(high, low + span))


def _long_enough(text: str, metadata: Sequence[Any]) -> str:
    least = max((getattr(fact, "min_length", None) or 0 for fact in metadata), default=0)
    return text + "x" * (least - len(text))
