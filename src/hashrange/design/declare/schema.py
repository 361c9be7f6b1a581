"""The key attributes of the table and of its indexes, and how one entity writes them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from hashrange.design.declare.conditions import BoundCondition
from hashrange.design.declare.keys.possible_texts import Chars, meet
from hashrange.design.declare.keys.templates import Template
from hashrange.design.declare.types import FieldType
from hashrange.model.values import AttributeValue

Kind = Literal["table", "GSI", "LSI", "vector index"]


class Column(NamedTuple):
    """A key attribute of the table or of an index: its name and type (S, N or B)."""

    attribute: str
    tag: str


@dataclass(frozen=True)
class Source:
    """The table (`name` is None) or an index. `project` is a tuple of attributes for INCLUDE."""

    name: str | None
    kind: Kind
    hash: tuple[Column, ...]
    range: tuple[Column, ...]
    project: Literal["ALL", "KEYS_ONLY"] | tuple[str, ...] = "ALL"

    def __str__(self) -> str:
        """The usual name in tables of access patterns: 'Base table', 'GSI 1'."""
        if self.name is None:
            return "Base table"
        return f"{self.kind} {self.name.removeprefix(self.kind)}"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.hash + self.range


@dataclass(frozen=True)
class KeyColumn:
    """How one entity writes one key attribute.

    If a field is itself the attribute, `natural` is its name, and `kind` is its type.
    """

    attribute: str
    tag: str
    template: Template
    natural: str | None = None
    kind: FieldType | None = None

    def value(self, values: Mapping[str, Any]) -> AttributeValue | None:
        """The attribute's value for these field values; None if it is absent. Raises BadValue."""
        if self.kind is not None:
            content = values[self.template.fields[0]]
            return None if content is None else self.kind.encode(content)
        text = self.template.render(values)
        return None if text is None else {"S": text}

    def meets(self, other: "KeyColumn", mine: Chars, others: Chars) -> bool:
        """Whether this column and `other` can have the same value.

        `mine` are the possible characters of free texts in this column, `others` those in `other`.
        """
        if self.tag != other.tag:
            return False
        return self.tag != "S" or meet(self.template.runs(mine), other.template.runs(others))


@dataclass(frozen=True)
class EntityKey:
    """One entity's key in the table or an index.

    The key is absent while one of its fields is None or the condition `when` is false.
    `declared_as` is the name of the class attribute that declares the key.
    """

    source: Source
    hash: tuple[KeyColumn, ...]
    range: tuple[KeyColumn, ...]
    when: BoundCondition | None = None
    declared_as: str = "key"

    @cached_property
    def columns(self) -> tuple[KeyColumn, ...]:
        return self.hash + self.range

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the key and its condition depend on."""
        fields = [field for column in self.columns for field in column.template.fields]
        return tuple(dict.fromkeys([*fields, *(self.when.fields if self.when else ())]))

    def meets(self, other: "EntityKey", mine: Chars, others: Chars) -> bool:
        pairs = zip(self.columns, other.columns, strict=True)
        return all(a.meets(b, mine, others) for a, b in pairs)


@dataclass(frozen=True)
class UniqueTemplate:
    """An `st.unique` declaration. `name` is the name of its class attribute."""

    name: str
    template: Template
    namespace: str


@dataclass(frozen=True)
class Rival:
    """Another entity's key in the same table or index that can produce the same text.

    A `strict` rival has less constant text than the entity's own key. It then conflicts only if it
    can produce the text from values without delimiters.
    """

    name: str
    key: EntityKey
    strict: bool

    def reads(self, texts: list[str], delimiters: re.Pattern[str]) -> bool:
        for column, text in zip(self.key.columns, texts, strict=True):
            pieces = column.template.split(text) if column.tag == "S" else None
            if pieces is None:
                return False
            if self.strict and any(delimiters.search(piece) for piece in pieces.values()):
                return False
        return True
