"""Reading one entity's declarations. The checks across entities are in `table_model`."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import PydanticUserError

from hashrange.design.declare import conditions
from hashrange.design.declare.absent import expect_readable_defaults
from hashrange.design.declare.derived import derived_fields
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.generated import WriteTime
from hashrange.design.declare.item import (
    Attr,
    Copy,
    Index,
    Item,
    Key,
    KeyPart,
    Projection,
    Unique,
    declarations,
)
from hashrange.design.declare.keys.formats import Format, format_of
from hashrange.design.declare.keys.possible_texts import ANY, CharRun
from hashrange.design.declare.keys.templates import Placeholder, Template, bind, parse
from hashrange.design.declare.schema import EntityKey, KeyColumn, Source, UniqueTemplate
from hashrange.design.declare.types import FieldType, field_type
from hashrange.design.errors import DeclarationError, place, suggest

KEY_TYPES = ("S", "N", "B")
PROJECTS = ("ALL", "KEYS_ONLY")
SYNCS = ("transaction", "batch", "stream")
NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}").fullmatch


class Draft:
    """An entity whose declarations have been read, before the table and its indexes are known."""

    def __init__(
        self,
        model: type[Item],
        keys: tuple[str, str],
        index_keys: Mapping[str, tuple[str, str]],
    ) -> None:
        self.model = model
        self.names = keys
        self.index_names = index_keys
        self._expect_complete()
        self.fields: dict[str, FieldType] = {
            name: field_type(info, f"{place(model)}{name}")
            for name, info in model.model_fields.items()
        }
        expect_readable_defaults(model, self.fields)
        self.derived = derived_fields(model)
        for name, one in self.derived.items():
            one.expect_inputs(model)
            self.fields[name] = field_type(one.info, f"{place(model)}{name}")
        for name, info in model.model_fields.items():
            time = isinstance(info.default_factory, WriteTime)
            if time and self.fields[name].python is not datetime:
                raise DeclarationError(
                    f"{name}: st.now needs a field of the type datetime", at=model
                )
        self.attributes = {
            name: info.serialization_alias or info.alias or name
            for name, info in model.model_fields.items()
        } | {name: name for name in self.derived}
        self._expect_own_attributes()
        self._expect_version_from_zero()
        declared = declarations(model)
        key = declared.get("key")
        if not isinstance(key, Key):
            raise DeclarationError('it has no key: declare key = st.key("...", "...")', at=model)
        self.hash = self._columns(key.hash, keys[0], "key", 1)
        self.range = self._columns(key.range, keys[1], "key", 1)
        self._expect_required()
        self.declared = declared

    def _expect_complete(self) -> None:
        try:
            self.model.model_rebuild()
        except (NameError, PydanticUserError) as error:
            raise DeclarationError(
                f"{error}; with `from __future__ import annotations`, a model finds only types "
                "that are declared at the top level of its module, not inside a function",
                at=self.model,
            ) from error

    def _expect_own_attributes(self) -> None:
        fields: dict[str, str] = {}
        for name, attribute in self.attributes.items():
            if fields.setdefault(attribute, name) != name:
                raise DeclarationError(
                    f"the fields {fields[attribute]!r} and {name!r} are both stored as "
                    f"{attribute!r}: give one of them another alias",
                    at=self.model,
                )

    def _expect_version_from_zero(self) -> None:
        for name, kind in self.fields.items():
            if kind.counts and self._default(name) != 0:
                raise DeclarationError(
                    f"{name}: a version counts from 0, so write `{name}: st.Version = 0`",
                    at=self.model,
                )

    def _default(self, name: str) -> Any:
        return None if name in self.derived else self.model.model_fields[name].default

    def _expect_required(self) -> None:
        for column in self.hash + self.range:
            for name in column.template.fields:
                if self.fields[name].optional:
                    raise DeclarationError(
                        f"{name} is part of the primary key, so it cannot be None",
                        at=self.model,
                        rule="K01",
                    )

    def _columns(
        self, part: KeyPart | None, attribute: str, what: str, most: int
    ) -> tuple[KeyColumn, ...]:
        if part is None:
            return ()
        if isinstance(part, str):
            template = bind(parse(part, self.model), self.fields, self.model, what)
            self._expect_no_shadow(attribute)
            return (KeyColumn(attribute, "S", template),)
        if not isinstance(part, (Attr, tuple)):
            raise DeclarationError(
                f"{what}: {part!r} is not a key: write a template, st.attr(...), or in a global "
                "index a tuple of fields",
                at=self.model,
            )
        fields = part if isinstance(part, tuple) else (part.field,)
        if len(fields) > most:
            limit = "four attributes" if most == 4 else "one attribute"
            raise DeclarationError(
                f"{what}: this key can have at most {limit}, not {len(fields)}: {fields}",
                at=self.model,
                rule="I06",
            )
        return tuple(self._natural(name, what) for name in fields)

    def _natural(self, name: str, what: str) -> KeyColumn:
        if name not in self.fields:
            hint = suggest(name, self.fields)
            raise DeclarationError(
                f"{what}: {name} is not a field{hint}", at=self.model, rule="K01"
            )
        kind = self.fields[name]
        if kind.tag not in KEY_TYPES:
            raise DeclarationError(
                f"{what}: {name} is stored as {kind.tag or 'several types'}; a key attribute is "
                "S, N or B",
                at=self.model,
                rule="K18",
            )
        return natural_column(name, kind, self.attributes[name], self.model)

    def _expect_no_shadow(self, attribute: str) -> None:
        for name, taken in self.attributes.items():
            if taken == attribute:
                raise DeclarationError(
                    f"the field {name!r} is stored as {attribute!r}, a key attribute that a "
                    "template writes: rename the key attributes with st.Table(keys=...)",
                    at=self.model,
                )

    def index_columns(
        self, index: Index, declared_as: str
    ) -> tuple[tuple[KeyColumn, ...], tuple[KeyColumn, ...]]:
        default = (f"{index.name}-pk", f"{index.name}-sk")
        hash_name, range_name = self.index_names.get(index.name, default)
        if index.hash is None:
            return self.hash, self._columns(index.range, range_name, declared_as, 1)
        hash_key = self._columns(index.hash, hash_name, declared_as, 4)
        return hash_key, self._columns(index.range, range_name, declared_as, 4)

    def projection(self, index: Index) -> Projection:
        """The index's projection, with attributes in place of fields.

        Raises DeclarationError for an unknown field or projection type.
        """
        if isinstance(index.project, str):
            if index.project not in PROJECTS:
                hint = suggest(index.project, PROJECTS)
                raise DeclarationError(
                    f"project={index.project!r}{hint}: write ALL, KEYS_ONLY or a list of fields",
                    at=self.model,
                )
            return index.project
        for name in index.project:
            if name not in self.fields:
                hint = suggest(name, self.fields)
                raise DeclarationError(f"project: {name} is not a field{hint}", at=self.model)
        return tuple(self.attributes[name] for name in index.project)

    def expect_name(self, name: str, declared_as: str) -> None:
        if not NAME(name):
            raise DeclarationError(
                f"{declared_as}: {name!r} is not an index name: use 3 to 255 characters of "
                "a-z A-Z 0-9 _ . -",
                at=self.model,
            )

    def entity(self, sources: Mapping[str | None, Source], type_attribute: str | None) -> Entity:
        name = self.model.entity_name
        stored_type = type_attribute
        for field, attribute in self.attributes.items():
            if attribute == type_attribute:
                name, stored_type = self._discriminator(field), None
        indexes = [
            self._entity_key(index, declared_as, sources)
            for declared_as, index in self.declared.items()
            if isinstance(index, Index)
        ]
        if len({key.source.name for key in indexes}) < len(indexes):
            raise DeclarationError("it declares two keys for one index", at=self.model)
        entity = Entity(
            model=self.model,
            name=name,
            fields=self.fields,
            attributes=self.attributes,
            key=EntityKey(sources[None], self.hash, self.range),
            indexes=tuple(indexes),
            unique=tuple(self._unique()),
            copies=self._copies(),
            derived=self.derived,
            type_attribute=stored_type,
        )
        self._expect_one_template_per_attribute(entity)
        return entity

    def _discriminator(self, field: str) -> str:
        choices = self.fields[field].choices
        if len(choices) != 1:
            raise DeclarationError(
                f"the field {field!r} is stored as the type attribute, so it must be a Literal "
                "of one value",
                at=self.model,
            )
        return choices[0]

    def _entity_key(
        self, index: Index, declared_as: str, sources: Mapping[str | None, Source]
    ) -> EntityKey:
        when = None
        if index.when is not None:
            condition = conditions.parse(index.when, self.fields, self.attributes, self.model, "#w")
            when = conditions.bound(index.when, condition, index.values, self.model)
        hash_key, range_key = self.index_columns(index, declared_as)
        if when is not None and all(column.natural for column in hash_key + range_key):
            raise DeclarationError(
                f"{declared_as}: `when` needs a key with a template: an attribute that is itself a "
                "field is always stored, so the item would be in the index even if `when` does "
                "not hold",
                at=self.model,
            )
        return EntityKey(sources[index.name], hash_key, range_key, when, declared_as)

    def _unique(self) -> list[UniqueTemplate]:
        return [
            UniqueTemplate(
                name,
                bind(parse(unique.template, self.model), self.fields, self.model, name),
                unique.namespace,
            )
            for name, unique in self.declared.items()
            if isinstance(unique, Unique)
        ]

    def _copies(self) -> dict[str, Copy]:
        copies = {}
        for name, info in self.model.model_fields.items():
            copy = info.default
            if not isinstance(copy, Copy):
                continue
            copies[name] = copy
            if copy.field not in copy.owner.model_fields:
                hint = suggest(copy.field, copy.owner.model_fields)
                message = f"{name}: {copy.owner.__name__} has no field {copy.field!r}{hint}"
                raise DeclarationError(message, at=self.model)
            if copy.sync not in SYNCS:
                hint = suggest(copy.sync, SYNCS)
                raise DeclarationError(
                    f"{name}: there is no sync={copy.sync!r}{hint}", at=self.model
                )
        return copies

    def _expect_one_template_per_attribute(self, entity: Entity) -> None:
        written: dict[str, str] = {}
        for key in (entity.key, *entity.indexes):
            for column in key.columns:
                text = str(column.template)
                if written.setdefault(column.attribute, text) != text:
                    raise DeclarationError(
                        f"two templates would write the attribute {column.attribute}: "
                        f"{written[column.attribute]!r} and {text!r}",
                        at=self.model,
                    )


def natural_column(name: str, kind: FieldType, attribute: str, at: object) -> KeyColumn:
    """The key column of a field that is itself the key attribute (`st.attr`)."""
    part = Placeholder(name, "")
    template = Template((part,), _natural_formats(part, kind, at))
    return KeyColumn(attribute, kind.tag, template, name, kind)


def _natural_formats(part: Placeholder, kind: FieldType, at: object) -> dict[Placeholder, Any]:
    if kind.tag == "S" and kind.python is not bytes:
        return {part: format_of(kind, "", at)}
    return {part: Format(str, [CharRun(ANY)], ordered=True)}
