"""One entity of a table: converts items to stored items and back.

A stored item consists of the fields, the key attributes that the templates write, the entity's
name in the table's type attribute, and unknown attributes, which every write keeps.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from hashrange.design.declare.absent import encoder, filled_in
from hashrange.design.declare.compiled import Reader, reader
from hashrange.design.declare.derived import Derived
from hashrange.design.declare.generated import WriteTime
from hashrange.design.declare.item import AS_READ, Copy, Item
from hashrange.design.declare.keys.key_length import check_key_value, key_limits
from hashrange.design.declare.schema import EntityKey, KeyColumn, Rival, UniqueTemplate
from hashrange.design.declare.shapes import READABLE_ATTRIBUTE, SHAPE_ATTRIBUTE, Shapes
from hashrange.design.declare.types import AS_IT_IS, FieldType, decode, single_line
from hashrange.design.errors import BadValue, ItemError
from hashrange.model.values import AttributeValue
from hashrange.model.values import Item as WireItem


@dataclass
class Entity:
    """An entity of a table. `attributes` maps fields to attribute names.

    `fields` includes the `derived` fields, which `own` leaves out. `rivals` maps the name of an
    index to the keys of other entities that can have the same text as this entity's key.
    `table_model.build` fills it in.
    """

    model: type[Item]
    name: str
    fields: Mapping[str, FieldType]
    attributes: Mapping[str, str]
    key: EntityKey
    indexes: tuple[EntityKey, ...]
    unique: tuple[UniqueTemplate, ...]
    copies: Mapping[str, Copy]
    derived: Mapping[str, Derived[Any]]
    type_attribute: str | None
    delimiters: re.Pattern[str] = field(default_factory=lambda: re.compile(r"(?!)"))
    rivals: dict[str | None, list[Rival]] = field(default_factory=dict)
    clashes: bool = False
    """Whether another entity can have the same primary key even if no value has a delimiter."""

    def __str__(self) -> str:
        return self.model.__name__

    @cached_property
    def own(self) -> Mapping[str, FieldType]:
        """The fields that are not derived."""
        return {name: kind for name, kind in self.fields.items() if name not in self.derived}

    def info(self, name: str) -> FieldInfo:
        """Pydantic's description of a field."""
        one = self.derived.get(name)
        return self.model.model_fields[name] if one is None else one.info

    def inputs(self, names: Iterable[str]) -> set[str]:
        """The named fields, with each derived field replaced by the fields that it reads."""
        own: set[str] = set()
        for name in names:
            own |= set(self.derived[name].inputs) if name in self.derived else {name}
        return own

    def complete(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values, with the derived fields that can be computed from them. Raises BadValue."""
        if not self.derived:
            return values
        computed = {
            name: one.value(values, self.model)
            for name, one in self.derived.items()
            if name not in values and all(inputs in values for inputs in one.inputs)
        }
        return {**values, **computed}

    # ---- to the table ----

    def dump(self, item: Item) -> WireItem:
        """The item as it is stored, with all of its attributes. Raises BadValue."""
        try:
            return self._dump(item.__dict__)
        except BadValue as error:
            raise error.of(self) from None

    def _dump(self, values: Mapping[str, Any]) -> WireItem:
        image: WireItem = {}
        values = self.complete(values)
        for name, attribute, encode in self._encoders:
            value = values[name]
            try:
                stored = None if value is None else encode(value)
            except BadValue as error:
                raise error.of(field=name, value=value) from None
            if stored is not None:
                image[attribute] = stored
        image.update(self._constants)
        for column in self._written:
            stored = column.value(values)
            if stored is None:
                raise self._none(column, values)
            image[column.attribute] = stored
        for key, columns in self._indexed:
            if key.when is None or key.when.matches(image):
                self._add_index_key(image, columns, values)
        for column, attribute, tag, most in self._limits:
            stored = image.get(attribute)
            # No character has more than four bytes, so that most keys need not be encoded.
            if stored is not None and not 0 < len(stored[tag]) <= most // 4:
                check_key_value(self, column, stored, values, most)
        self._check_delimiters(values)
        return image

    @staticmethod
    def _add_index_key(
        image: WireItem, columns: tuple[KeyColumn, ...], values: Mapping[str, Any]
    ) -> None:
        """Add the index's key attributes. If one has no value, add none: the index is sparse."""
        stored = {}
        for column in columns:
            value = column.value(values)
            if value is None:
                return
            stored[column.attribute] = value
        image.update(stored)

    def primary_key(self, values: Mapping[str, Any]) -> WireItem:
        """The primary key of the item with these field values. Raises BadValue."""
        key = {}
        try:
            values = self.complete(values)
            for column, most in self._key_limits:
                value = column.value(values)
                if value is None:
                    raise self._none(column, values)
                text = value.get("S")
                if text is None or not 0 < len(text) <= most // 4:
                    check_key_value(self, column, value, values, most)
                key[column.attribute] = value
            if self.clashes or self._delimiter_in(values):
                self._check_key(self.key, values)
        except BadValue as error:
            raise error.of(self) from None
        return key

    def _none(self, column: KeyColumn, values: Mapping[str, Any]) -> BadValue:
        name = next(name for name in column.template.fields if values[name] is None)
        return BadValue("a field of the primary key cannot be None", entity=self, field=name)

    def key_of(self, image: WireItem) -> WireItem:
        """The primary key of a stored item or of any mapping that has the key attributes."""
        return {c.attribute: image[c.attribute] for c in self.key.source.columns}

    # ---- from the table ----

    def load(self, raw: WireItem) -> Item:
        """Convert a stored item to an item. Raises ItemError if it does not fit its class."""
        try:
            values = self.read(raw)
        except KeyError:
            values = self.values(raw)
        try:
            item = self._validate(values)
        except ValidationError as error:
            key = self.key_of(raw)
            reason = "; ".join(_reason(e) for e in error.errors())
            raise ItemError(f"{self} ({single_line(key)}): {reason}", key) from error
        item.__dict__[AS_READ] = raw
        return item

    def values(self, raw: WireItem) -> dict[str, Any]:
        """The values of any stored item by attribute, for pydantic to validate."""
        if SHAPE_ATTRIBUTE in raw or self.shapes.shape > 1:
            return self._upgraded(raw)
        known = ((name, tag) for name, tag in self._as_they_are if name in raw)
        values = {n: raw[n][tag] if tag in raw[n] else decode(raw[n]) for n, tag in known}
        for name, read in self._converted:
            if name in raw:
                values[name] = read(raw[name])
        for name, value in self._filled_in:
            values.setdefault(name, value)
        return values

    def _upgraded(self, raw: WireItem) -> dict[str, Any]:
        known = dict(self._decoders)
        own = {self.type_attribute, SHAPE_ATTRIBUTE, READABLE_ATTRIBUTE}
        skip = self.computed_attributes | own
        values = {
            attribute: known.get(attribute, decode)(stored)
            for attribute, stored in raw.items()
            if attribute not in skip
        }
        values = self.shapes.upgraded(raw, values, self.key_of(raw))
        filled = dict(self._filled_in) | values
        return {attribute: filled[attribute] for attribute in known if attribute in filled}

    def recognises(self, raw: WireItem) -> bool:
        """Whether this entity's templates can have produced the stored item's primary key."""
        for column in self.key.columns:
            stored = raw.get(column.attribute, {})
            if column.tag not in stored:
                return False
            if column.natural is None and column.template.split(stored["S"]) is None:
                return False
        return True

    # ---- delimiters ----

    def _delimiter_in(self, values: Mapping[str, Any]) -> bool:
        texts = [values[n] for n in self.free_fields if n in values and values[n] is not None]
        return self.delimiters.search("\0".join(texts)) is not None

    def _check_delimiters(self, values: Mapping[str, Any]) -> None:
        """Raise BadValue if other values or another entity could produce one of the keys."""
        if not self.clashes and not self._delimiter_in(values):
            return
        for key in (self.key, *self.indexes):
            self._check_key(key, values)
        for unique in self.unique:
            text = unique.template.render(values)
            if text is not None:
                unique.template.check_split(values, text)

    def _check_key(self, key: EntityKey, values: Mapping[str, Any]) -> None:
        stored = [column.value(values) for column in key.columns]
        if any(value is None for value in stored):
            return
        texts = [value.get("S", "") for value in stored if value is not None]
        for column, text in zip(key.columns, texts, strict=True):
            if column.natural is None:
                column.template.check_split(values, text)
        for rival in self.rivals.get(key.source.name, ()):
            if rival.reads(texts, self.delimiters):
                name = next((n for n in key.fields if n in self.free_fields), key.fields[0])
                reason = f"the key {texts} could also be a key of {rival.name}"
                raise BadValue(reason, entity=self, field=name, value=values[name])

    # ---- compiled ----

    @cached_property
    def _encoders(self) -> tuple[tuple[str, str, Callable[[Any], AttributeValue | None]], ...]:
        return tuple(
            (name, self.attributes[name], encoder(kind)) for name, kind in self.fields.items()
        )

    @cached_property
    def _decoders(self) -> tuple[tuple[str, Any], ...]:
        return tuple((self.attributes[name], kind.decode) for name, kind in self.own.items())

    @cached_property
    def _validate(self) -> Callable[[dict[str, Any]], Item]:
        validate: Callable[[dict[str, Any]], Item] = (
            self.model.__pydantic_validator__.validate_python
        )
        return validate

    @cached_property
    def _as_they_are(self) -> tuple[tuple[str, str], ...]:
        """(attribute, type) of the fields whose stored content pydantic validates directly."""
        fields = self.own.items()
        return tuple((self.attributes[n], kind.tag) for n, kind in fields if kind.tag in AS_IT_IS)

    @cached_property
    def read(self) -> Reader:
        """Like `values`, but faster. Raises KeyError for an item that only `values` can read."""
        return self.reader({})

    def reader(self, keys: Mapping[str, str]) -> Reader:
        """A function like `read`. `keys` maps an attribute to another name in the result."""
        if self.shapes.shape > 1:
            return lambda raw: {keys.get(n, n): v for n, v in self._upgraded(raw).items()}
        fields = {self.attributes[name]: kind for name, kind in self.own.items()}
        return reader(fields, keys, dict(self._filled_in), [SHAPE_ATTRIBUTE])

    @cached_property
    def _converted(self) -> tuple[tuple[str, Any], ...]:
        """(attribute, decoder) of the fields whose stored content has to be decoded."""
        fields = self.own.items()
        return tuple(
            (self.attributes[n], kind.decode) for n, kind in fields if kind.tag not in AS_IT_IS
        )

    @cached_property
    def _filled_in(self) -> tuple[tuple[str, Any], ...]:
        """(attribute, value if absent) of the fields that can be absent and have no default."""
        filled = filled_in(self.model, self.fields)
        return tuple((self.attributes[name], value) for name, value in filled)

    @cached_property
    def _constants(self) -> WireItem:
        """The attributes that all items share: the type, and the shape if it is above 1."""
        own = {} if self.type_attribute is None else {self.type_attribute: {"S": self.name}}
        return {**own, **self.shapes.constants}

    @cached_property
    def _written(self) -> tuple[KeyColumn, ...]:
        return tuple(column for column in self.key.columns if column.natural is None)

    @cached_property
    def _key_limits(self) -> tuple[tuple[KeyColumn, int], ...]:
        return key_limits(self.key)

    @cached_property
    def _limits(self) -> tuple[tuple[KeyColumn, str, str, int], ...]:
        """(column, attribute, type, most bytes allowed) of each key column of type S or B."""
        limits = [limit for key in (self.key, *self.indexes) for limit in key_limits(key)]
        return tuple((c, c.attribute, c.tag, most) for c, most in limits if c.tag != "N")

    @cached_property
    def _indexed(self) -> tuple[tuple[EntityKey, tuple[KeyColumn, ...]], ...]:
        """(key, its columns outside the primary key) of each index that a template writes."""
        own = {column.attribute for column in self.key.columns}
        indexed = []
        for key in self.indexes:
            columns = tuple(c for c in key.columns if c.attribute not in own)
            if any(column.natural is None for column in columns):
                indexed.append((key, columns))
        return tuple(indexed)

    @cached_property
    def shapes(self) -> Shapes:
        return Shapes(self.model)

    @cached_property
    def free_fields(self) -> tuple[str, ...]:
        """The fields in keys and unique texts that can contain a delimiter."""
        templates = [c.template for key in (self.key, *self.indexes) for c in key.columns]
        templates += [unique.template for unique in self.unique]
        return tuple(
            dict.fromkeys(
                part.field
                for template in templates
                for part in template.placeholders
                if not part.shards and template.formats[part].free
            )
        )

    @cached_property
    def computed_attributes(self) -> frozenset[str]:
        """The key attributes that templates write, and the derived fields."""
        keys = (self.key, *self.indexes)
        written = {c.attribute for key in keys for c in key.columns if c.natural is None}
        return frozenset(written | {self.attributes[name] for name in self.derived})

    @cached_property
    def owned_attributes(self) -> frozenset[str]:
        """The attributes that `dump` may write; other attributes belong to other programs."""
        return self.computed_attributes | {*self.attributes.values(), *self._constants}

    @cached_property
    def update_times(self) -> tuple[str, ...]:
        """The fields that hold the time of the last write."""
        fields = self.model.model_fields.items()
        times = [(n, info.default_factory) for n, info in fields]
        return tuple(n for n, f in times if isinstance(f, WriteTime) and f.update)

    def stamped(self, item: Item) -> Item:
        """A copy of the item, with the time of this write in `update_times`."""
        if not self.update_times:
            return item
        return item.model_copy(update=dict.fromkeys(self.update_times, datetime.now(UTC)))

    @cached_property
    def version(self) -> str | None:
        """The `st.Version` field, if there is one."""
        return next((name for name, kind in self.fields.items() if kind.counts), None)

    @cached_property
    def key_fields(self) -> frozenset[str]:
        return frozenset(self.key.fields)

    @cached_property
    def feeding(self) -> Mapping[str, str]:
        """Maps a field to the name of a key, `st.unique` or derived field that depends on it."""
        feeding: dict[str, str] = {}
        for derived, one in self.derived.items():
            feeding |= dict.fromkeys(one.inputs, derived)
        for key in (self.key, *self.indexes):
            for name in key.fields:
                feeding.setdefault(name, key.declared_as)
        for unique in self.unique:
            for name in unique.template.fields:
                feeding.setdefault(name, unique.name)
            for name, kind in self.fields.items():
                if kind.expires:  # the marker expires together with the item
                    feeding.setdefault(name, unique.name)
        return feeding


def _reason(error: Any) -> str:
    return f"{'.'.join(str(part) for part in error['loc']) or 'item'}: {error['msg']}"
