"""Inferring an entity's source from a group of items: its fields, templates and indexes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hashrange.design.declare.schema import Column, Source
from hashrange.design.inference.field_guesses import FieldGuess, Piece, guess_field
from hashrange.design.inference.grouping import Group, words_of
from hashrange.design.inference.template_search import FoundTemplate, find_template, known_template
from hashrange.design.source.model_source import (
    EntitySource,
    FieldSource,
    IndexSource,
    Part,
    class_name,
    distinct,
    field_name,
    index_field_name,
    quoted,
)
from hashrange.design.source.table_shape import TableShape
from hashrange.model.values import Item

COMMON = ("info", "metadata", "profile", "meta", "data", "content", "details", "item", "root")
"""Words that are common in sort keys but say nothing about the entity."""
KEY_WORDS = ("pk", "sk", "hash", "range", "key", "gsi", "lsi", "index")
WHEN_VALUES_MAX = 8
CHOICES_MAX, TIMES = 12, 4
"""Limits for a text field whose type is a list of values. It has at most CHOICES_MAX different
values, which occur at least TIMES times on average."""
_SLUG = re.compile(r"[A-Za-z0-9_-]+").fullmatch


@dataclass
class InferredEntity:
    """An entity's source, and the facts that it was inferred from.

    By attribute, `guesses` has the guessed types and `names` the names of fields. `templates` has
    the templates of key attributes.
    """

    source: EntitySource
    group: Group
    guesses: dict[str, FieldGuess]
    names: dict[str, str]
    templates: dict[str, FoundTemplate] = field(default_factory=dict)


def infer_entity(shape: TableShape, group: Group, type_name: str | None, taken: set[str]
                 ) -> InferredEntity:  # fmt: skip
    """Infer the entity of a group of items.

    `type_name` is the table's type attribute. `taken` has the names of other classes.
    """
    return _Search(shape, group, type_name).entity(taken)


class _Search:
    def __init__(self, shape: TableShape, group: Group, type_name: str | None) -> None:
        self.shape = shape
        self.items = group.items
        self.group = group
        self.comments: list[str] = []
        attributes = dict.fromkeys(name for item in group.items for name in item)
        self.key_columns = dict.fromkeys(c for s in shape.sources for c in s.columns)
        keys = {column.attribute for column in self.key_columns}
        hidden = {type_name} if type_name is not None else set()
        self.guesses = {
            name: guess_field(name, group.items, shape.ttl_attribute)
            for name in attributes
            if name not in hidden
        }
        self.plain = [guess for name, guess in self.guesses.items() if name not in keys]
        self.templates: dict[str, FoundTemplate] = {}
        columns = [c for c in self.key_columns if c.attribute != type_name]
        columns.sort(key=lambda column: _named_as_key(column.attribute))
        for column in columns:
            self._find(column)
            attribute = column.attribute
            field = attribute in self.guesses and attribute not in self.templates
            if field and not _named_as_key(attribute):
                self.plain.append(self.guesses[attribute])  # a field that is also a key attribute

    def _find(self, column: Column) -> None:
        """Decide whether a template makes a key attribute, or the attribute is a field."""
        attribute = column.attribute
        having = [item for item in self.items if attribute in item]
        if column.tag != "S" or not having:
            return
        known = self.group.templates.get(attribute, "")
        template = known_template(known, attribute, having, self.plain) if known else None
        template = template or find_template(attribute, having, self.plain)
        if template is None:
            if self.plain and _named_as_key(attribute):
                example = having[0][attribute]["S"]
                self.comments.append(
                    f"{attribute} is a field, because no template fits: keys such as {example!r} "
                    "do not consist of the values of other attributes."
                )
            return
        constant = not template.pieces
        if constant and not _named_as_key(attribute):
            return  # e.g. a status that all of the sampled items share
        if len(template.pieces) == len(template.parts) == 1 and not _named_as_key(attribute):
            return  # a copy of another attribute, with a meaning of its own
        self.templates[attribute] = template
        missing = len(having) - template.made
        if missing:
            self.comments.append(
                f"{attribute}: {missing} of {len(having)} items have a key that the template does "
                "not make."
            )

    # ---- the source ----

    def entity(self, taken: set[str]) -> InferredEntity:
        self.names = self._names()
        hash_column = self.shape.table.hash[0]
        ranges = self.shape.table.range
        source = EntitySource(
            "",
            self._part((hash_column,)),
            self._part(ranges) if ranges else None,
            [*self._fields()],
        )
        source.name = distinct(self._name(source), taken)
        if self.group.stored_as != source.name:
            source.stored_as = self.group.stored_as
        source.indexes = [*self._indexes()]
        doubts = [guess.doubt for guess in self.guesses.values() if guess.doubt]
        source.comments = [f"{len(self.items):,} items.", *self.comments, *doubts]
        return InferredEntity(source, self.group, self.guesses, self.names, self.templates)

    def _names(self) -> dict[str, str]:
        names: dict[str, str] = {}
        for attribute in self.guesses:
            if attribute not in self.templates:
                names[attribute] = distinct(field_name(attribute), names.values())
        return names

    def _fields(self) -> Iterator[FieldSource]:
        for attribute, name in self.names.items():
            guess = self.guesses[attribute]
            optional = guess.present < len(self.items)
            yield FieldSource(name, guess.annotation, attribute, optional)

    def _part(self, columns: Sequence[Column]) -> Part:
        first = columns[0].attribute
        if len(columns) == 1 and first in self.templates:
            return Part(self._text(self.templates[first]))
        return Part(fields=tuple(self.names[column.attribute] for column in columns))

    def _text(self, template: FoundTemplate) -> str:
        return "".join(
            part.placeholder(self.names[part.guess.attribute])
            if isinstance(part, Piece)
            else part.replace("{", "{{").replace("}", "}}")
            for part in template.parts
        )

    def _name(self, source: EntitySource) -> str:
        """A name for the entity's class: from the stored type, or else from a word of its keys."""
        known = self.group.name or self.group.stored_as
        if known:
            return class_name(known, "Entity")
        parts = [part for part in (source.hash, source.range) if part is not None]
        texts = [part.template for part in parts]
        words = [[w for w in words_of(_before_fields(t)) if w.lower() not in COMMON] for t in texts]
        chosen = next((named[-1] for named in reversed(words) if named), "")
        if chosen:
            return class_name(chosen.lower() if chosen.isupper() else chosen, "Entity")
        return class_name(self.shape.name, "Entity")

    # ---- indexes ----

    def _indexes(self) -> Iterator[IndexSource]:
        declared = {*self.names.values(), "key"}
        for source in self.shape.indexes:
            columns = source.range if source.kind == "LSI" else source.columns
            known = [c for c in columns if c.attribute in self.templates or
                     c.attribute in self.names]  # fmt: skip
            if len(known) < len(columns) or not columns:
                continue
            name = distinct(index_field_name(source.name or ""), declared)
            declared.add(name)
            index = IndexSource(
                name,
                source.name or "",
                None if source.kind == "LSI" else self._part(source.hash),
                self._part(source.range) if source.range else None,
                self._project(source),
            )
            self._explain_absence(source, index)
            yield index

    def _project(self, source: Source) -> str | tuple[str, ...]:
        if isinstance(source.project, str):
            return source.project
        return tuple(self.names[a] for a in source.project if a in self.names)

    def _explain_absence(self, source: Source, index: IndexSource) -> None:
        """Find the condition by which a sparse index selects items. If none fits, add a comment."""
        attributes = [c.attribute for c in source.columns if c.attribute in self.templates]
        if not attributes:
            return
        wrong = [item for item in self.items if self._should_be_in(attributes, item)]
        if not wrong:
            return
        condition = self._condition(attributes[0], wrong)
        if condition is not None:
            index.when, index.values = condition
            return
        self.comments.append(
            f"{len(wrong)} of {len(self.items)} items have no {attributes[0]}, although they have "
            "every field of its template. If a condition keeps them out of the index, declare it "
            "with when=."
        )

    def _should_be_in(self, attributes: Sequence[str], item: Item) -> bool:
        """Whether the item lacks one of the key attributes although templates make them all."""
        made = [self.templates[attribute].render(item) for attribute in attributes]
        return None not in made and any(attribute not in item for attribute in attributes)

    def _condition(
        self, attribute: str, outside: Sequence[Item]
    ) -> tuple[str, dict[str, str | bool]] | None:
        """A condition `field = :v`, with its value, by which the index may select its items.

        It is true for all items with `attribute`, and false for all items in `outside`. None if
        there is no such condition.
        """
        inside = [item for item in self.items if attribute in item]
        for guess in self.plain:
            if guess.distinct > WHEN_VALUES_MAX or guess.annotation not in ("str", "bool"):
                continue
            stored = [item.get(guess.attribute) for item in inside]
            value = stored[0] if stored else None
            if value is None or any(other != value for other in stored):
                continue
            if all(item.get(guess.attribute) != value for item in outside):
                [content] = value.values()
                return f"{self.names[guess.attribute]} = :v", {"v": content}
        return None


TIGHTER = ("choices", "leading choices", "slug")
"""Ways to narrow the types of texts. They are applied in turn until the keys are unambiguous."""


def tighten(one: InferredEntity, way: str) -> None:
    """Give texts in templates narrower types, so that keys cannot be those of other entities.

    `way` is one of TIGHTER.
    """
    templates = one.templates.values()
    used = {piece.guess.attribute for template in templates for piece in template.pieces}
    leading = {f.parts[0].guess.attribute for f in templates if isinstance(f.parts[0], Piece)}
    for attribute in sorted(used):
        field = one.source.field(one.names[attribute])
        texts = {item[attribute]["S"] for item in one.group.items if "S" in item.get(attribute, {})}
        if field.annotation != "str" or (way == "leading choices" and attribute not in leading):
            continue
        often = len(texts) * TIMES <= one.guesses[attribute].present
        if way == "slug" and all(_SLUG(text) for text in texts):
            field.annotation = "st.Slug"
        elif way != "slug" and len(texts) <= CHOICES_MAX and (often or way != "choices"):
            field.annotation = f"Literal[{', '.join(quoted(text) for text in sorted(texts))}]"
        else:
            continue
        one.source.comments.append(
            f"{field.name} allows only texts like those of the sample: if it allowed every text, "
            "the key could be that of another entity. Check its type."
        )


def _named_as_key(attribute: str) -> bool:
    """Whether an attribute's name is that of a generic key: `pk`, `GSI1-sk`, `HashKey`."""
    lower = attribute.lower()
    return any(word in lower for word in KEY_WORDS)


def _before_fields(template: str) -> str:
    """The constant text of a template."""
    text, depth = "", 0
    for character in template:
        depth += (character == "{") - (character == "}")
        if character not in "{}" and depth == 0:
            text += character
        elif character == "{":
            text += " "
    return text
