"""The model of a table: its entities, its key columns, and which entities can share a key."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hashrange.design.declare.draft import NAME, Draft
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Index, Item, View, viewed
from hashrange.design.declare.keys.possible_texts import ANY, CharRun, Chars, meet
from hashrange.design.declare.keys.templates import Template
from hashrange.design.declare.references import References
from hashrange.design.declare.schema import Column, EntityKey, KeyColumn, Rival, Source
from hashrange.design.declare.types import field_type
from hashrange.design.declare.vector_indexes import VectorIndex, vector_indexes
from hashrange.design.errors import DeclarationError, place, suggest
from hashrange.model.values import Item as WireItem


@dataclass(frozen=True)
class TableModel:
    """See `st.Table`. `clean` is the set of characters that are not delimiters.

    `handlers` are the functions that `st.on` has registered.
    """

    name: str
    table: Source
    indexes: tuple[Source, ...]
    entities: tuple[Entity, ...]
    by_type: Source | None
    type_attribute: str | None
    clean: Chars
    hide_expired: bool = False
    stream: bool = False
    handlers: list[Any] = field(default_factory=list, compare=False)

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.table, *self.indexes)

    @cached_property
    def by_name(self) -> Mapping[str, Entity]:
        return {entity.name: entity for entity in self.entities}

    @cached_property
    def by_model(self) -> Mapping[type[Item], Entity]:
        return {entity.model: entity for entity in self.entities}

    @cached_property
    def ttl_attribute(self) -> str | None:
        """The table's TTL attribute: that of the first st.TTL field, None if there is none."""
        for entity in self.entities:
            for name, kind in entity.fields.items():
                if kind.expires:
                    return entity.attributes[name]
        return None

    @cached_property
    def vectors(self) -> tuple[VectorIndex, ...]:
        """The vector indexes. Raises DeclarationError."""
        names = {source.name for source in self.sources}
        return vector_indexes(self.name, self.entities, names, self.type_attribute)

    @cached_property
    def references(self) -> References:
        return References(self.entities)

    def hidden(self, raw: WireItem) -> bool:
        """Whether reads leave a stored item out, because it has expired."""
        return self.hide_expired and self.expired(raw, int(time.time()))

    def expired(self, raw: WireItem, now: int) -> bool:
        """Whether an item's TTL has passed at `now`, in epoch seconds."""
        if self.ttl_attribute is None:
            return False
        expiry = raw.get(self.ttl_attribute, {}).get("N")
        return expiry is not None and float(expiry) <= now

    def entity(self, model: type[Any]) -> Entity:
        """The entity of a class. Raises DeclarationError if the table has no such entity."""
        one = self.by_model.get(model)
        if one is None:
            raise DeclarationError(f"{model.__name__} is not in the table {self.name!r}")
        return one

    def check_view(self, view: type[View[Any]]) -> None:
        """Raise DeclarationError for a view's field whose stored type differs from the entity's."""
        entity = self.entity(viewed(view))
        for name, info in view.model_fields.items():
            mine, theirs = field_type(info, f"{place(view)}{name}").tag, entity.fields[name].tag
            if mine != theirs:
                raise DeclarationError(
                    f"the view reads {name} as {mine or 'several types'}, but {entity} stores it "
                    f"as {theirs or 'several types'}",
                    at=view,
                )

    def can_be(self, column: KeyColumn, runs: Sequence[CharRun]) -> bool:
        """Whether the column can have one of the texts that `runs` describes.

        It is assumed that no value contains a delimiter.
        """
        return column.tag == "S" and meet(runs, column.template.runs(self.clean))

    def free_index_name(self, kind: str = "GSI") -> str:
        taken = {source.name for source in self.sources}
        return next(f"{kind}{n}" for n in range(1, 100) if f"{kind}{n}" not in taken)


def build(
    name: str,
    models: Sequence[type[Item]],
    *,
    keys: tuple[str, str],
    index_keys: Mapping[str, tuple[str, str]],
    type_attribute: str | None,
    by_type: str | None,
    hide_expired: bool,
    stream: bool,
) -> TableModel:
    """The model of a table with these entities.

    Raises DeclarationError if the declarations contradict each other or DynamoDB's rules.
    """
    if not NAME(name):
        raise DeclarationError(
            f"{name!r} is not a table name: use 3 to 255 characters of a-z A-Z 0-9 _ . -"
        )
    drafts = [Draft(model, keys, index_keys) for model in models]
    if not drafts:
        raise DeclarationError("a table needs at least one entity", at=name)
    sources = _Sources(drafts)
    for index in index_keys:
        if index not in sources.indexes:
            hint = suggest(index, sources.indexes)
            raise DeclarationError(f"index_keys: {index} is not an index{hint}", at=name)
    entities = tuple(draft.entity(sources.by_name, type_attribute) for draft in drafts)
    clean = Chars(_delimiters(entities), inverted=True)
    if len({entity.name for entity in entities}) < len(entities):
        raise DeclarationError(
            "two entities have the same name: give one of them another name, e.g. "
            'class X(st.Item, name="...")',
            at=name,
        )
    type_source = _type_source(by_type, type_attribute, sources)
    model = TableModel(
        name=name,
        table=sources.table,
        indexes=tuple(sources.indexes.values()) + ((type_source,) if type_source else ()),
        entities=entities,
        by_type=type_source,
        type_attribute=type_attribute,
        clean=clean,
        hide_expired=hide_expired,
        stream=stream or any(c.sync == "stream" for e in entities for c in e.copies.values()),
    )
    if hide_expired:
        _expect_expiry_projected(model)
    _expect_references(model)
    _expect_owners(model)
    _ = model.vectors
    for entity in entities:
        _find_rivals(entity, model)
    return model


def _expect_references(model: TableModel) -> None:
    """Raise DeclarationError for an st.ref to an entity or field that the table does not have."""
    names = [str(entity) for entity in model.entities]
    for entity in model.entities:
        for name, kind in entity.fields.items():
            for ref in kind.refs:
                if isinstance(ref.entity, str) and ref.entity not in names:
                    raise DeclarationError(
                        f"{name}: {ref.entity} is not an entity of {model.name!r}"
                        f"{suggest(ref.entity, names)}",
                        at=entity.model,
                    )
            for other, part in model.references.named(entity, name):
                if part not in other.key.fields:
                    raise DeclarationError(
                        f"{name}: {part!r} is not in the primary key of {other}"
                        f"{suggest(part, other.key.fields)}",
                        at=entity.model,
                    )


def _expect_owners(model: TableModel) -> None:
    """Raise DeclarationError for an st.copy whose owner is unclear or whose type differs."""
    for entity in model.entities:
        for name, copy in entity.copies.items():
            owner = model.references.of_copy(entity, name).parent
            mine, theirs = entity.fields[name].tag, owner.fields[copy.field].tag
            if mine != theirs:
                raise DeclarationError(
                    f"{name} is stored as {mine}, but {owner}.{copy.field} as {theirs}",
                    at=entity.model,
                )


def _expect_expiry_projected(model: TableModel) -> None:
    """Raise DeclarationError for an index that does not project the TTL attribute of its items."""
    for entity in model.entities:
        attributes = [entity.attributes[n] for n, kind in entity.fields.items() if kind.expires]
        for key in entity.indexes:
            source = key.source
            columns = {column.attribute for column in source.columns}
            for attribute in attributes if source.project != "ALL" else ():
                if attribute not in source.project and attribute not in columns:
                    raise DeclarationError(
                        f"hide_expired: {source.name} does not project {attribute}, so a read of "
                        "it cannot tell which items have expired: add the field to project=",
                        at=entity.model,
                    )


# ---- the table and its indexes ----


class _Sources:
    """Checks that all entities declare the same key attributes, and collects the indexes."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        first = drafts[0]
        self.table = Source(None, "table", _plain(first.hash), _plain(first.range))
        self.indexes: dict[str, Source] = {}
        for draft in drafts:
            if (_plain(draft.hash), _plain(draft.range)) != (self.table.hash, self.table.range):
                mine = column_names(draft.hash + draft.range)
                theirs = column_names(first.hash + first.range)
                raise DeclarationError(
                    f"its key is {mine}, but the key of {first.model.__name__} is {theirs}: a "
                    "table has one key, so put entities with another key into another table",
                    at=draft.model,
                    rule="K18",
                )
            for declared_as, index in draft.declared.items():
                if isinstance(index, Index):
                    self._add(draft, index, declared_as)

    @property
    def by_name(self) -> Mapping[str | None, Source]:
        places: dict[str | None, Source] = {None: self.table}
        return places | dict(self.indexes)

    def _add(self, draft: Draft, index: Index, declared_as: str) -> None:
        draft.expect_name(index.name, declared_as)
        hash_key, range_key = draft.index_columns(index, declared_as)
        kind: Any = "LSI" if index.hash is None else "GSI"
        if kind == "LSI" and not self.table.range:
            raise DeclarationError(
                f"{declared_as}: a table without a sort key cannot have local indexes",
                at=draft.model,
            )
        source = Source(
            index.name, kind, _plain(hash_key), _plain(range_key), draft.projection(index)
        )
        known = self.indexes.setdefault(index.name, source)
        if (known.kind, known.columns) != (source.kind, source.columns):
            raise DeclarationError(
                f"{declared_as}: the key of the index {index.name!r} is "
                f"{column_names(hash_key + range_key)} here, but "
                f"{', '.join(f'{c.attribute} ({c.tag})' for c in known.columns)} in another entity",
                at=draft.model,
                rule="K18",
            )
        if known.project != source.project and "ALL" in (known.project, source.project):
            raise DeclarationError(
                f"{declared_as}: the index {index.name!r} projects {_projection_text(source)} "
                f"here, but {_projection_text(known)} in another entity: give each the same "
                "project=, since an index has one projection",
                at=draft.model,
            )
        self.indexes[index.name] = _merged(known, source)


def _projection_text(source: Source) -> str:
    return source.project if isinstance(source.project, str) else ", ".join(source.project)


def _merged(known: Source, more: Source) -> Source:
    """Combine two declarations of one index: the result projects the attributes of both."""
    if known.project == more.project:
        return known
    attributes = [p for s in (known, more) if s.project != "KEYS_ONLY" for p in s.project]
    merged = tuple(dict.fromkeys(attributes))
    return Source(known.name, known.kind, known.hash, known.range, merged)


def _type_source(
    by_type: str | None, type_attribute: str | None, sources: _Sources
) -> Source | None:
    if by_type is None:
        return None
    if type_attribute is None or by_type in sources.indexes:
        raise DeclarationError(
            f"by_type={by_type!r} needs a type attribute and an index name that no entity uses"
        )
    return Source(by_type, "GSI", (Column(type_attribute, "S"),), ())


def _plain(columns: tuple[KeyColumn, ...]) -> tuple[Column, ...]:
    return tuple(Column(column.attribute, column.tag) for column in columns)


def column_names(columns: tuple[KeyColumn, ...]) -> str:
    return ", ".join(f"{column.attribute} ({column.tag})" for column in columns)


# ---- entities whose keys can be equal ----


def _delimiters(entities: Sequence[Entity]) -> frozenset[str]:
    """The characters of templates' constants that separate values, without letters and digits."""
    delimiters: set[str] = set()
    for entity in entities:
        for key in (entity.key, *entity.indexes):
            for column in key.columns:
                delimiters |= _delimiters_of(column.template)
        for unique in entity.unique:
            delimiters |= _delimiters_of(unique.template)
    return frozenset(delimiters)


def _delimiters_of(template: Template) -> set[str]:
    delimiters: set[str] = set()
    for part in template.parts if template.placeholders else ():
        if isinstance(part, str):
            marks = {c for c in part if not c.isalnum()}
            delimiters |= marks or set(part)
    return delimiters


def _find_rivals(entity: Entity, model: TableModel) -> None:
    marks = "".join(sorted(model.clean.members))
    if marks:
        entity.delimiters = re.compile(f"[{re.escape(marks)}]")
    for key in (entity.key, *entity.indexes):
        for other in model.entities:
            if other is entity:
                continue
            for theirs in (other.key, *other.indexes):
                if theirs.source.name == key.source.name and key.meets(theirs, ANY, ANY):
                    strict = _literal_text(key) > _literal_text(theirs)
                    rival = Rival(other.model.__name__, theirs, strict)
                    entity.rivals.setdefault(key.source.name, []).append(rival)
                    if key.source.name is None and key.meets(theirs, model.clean, model.clean):
                        entity.clashes = True


def _literal_text(key: EntityKey) -> int:
    return sum(len(column.template.literal_text) for column in key.columns)
