"""The declarations of a model, read from its classes alone.

The oracle must not share mistakes with the toolkit. So this module reads keys and references a
second time, in a simpler way, and imports only the classes of declarations.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from hashrange.design.declare.derived import derived_fields
from hashrange.design.declare.item import Attr, Copy, Index, Item, Key, declarations
from hashrange.design.declare.markers import Ref
from hashrange.design.declare.types import core_type

_PLACEHOLDER = re.compile(r"\{(\w+)(?:\|(\w+))?(?::([^}]*))?\}")
Model = type[Item]
Held = dict[str, str]
"""Maps each field of an entity's primary key to the field of another entity that holds it."""


@dataclass(frozen=True, eq=False)
class Record:
    """An item that was written: its class, and the values of its fields as plain Python values."""

    model: Model
    values: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The value of a field, either stored or computed from other fields."""
        derived = None if name in self.values else getattr(self.model, name)
        return self.values[name] if derived is None else derived.function(_Plain(self.values))


class _Plain:
    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)


def names_in(part: Any) -> list[str]:
    """The names of the fields in a part of a key."""
    return [name for name, *_ in placeholders(part)]


def placeholders(part: Any) -> list[tuple[str, str, str]]:
    """(field, format, function) of each placeholder in a part of a key."""
    if isinstance(part, Attr):
        return [(part.field, "", "")]
    if isinstance(part, tuple):
        return [(name, "", "") for name in part]
    return [(m[1], m[3] or "", m[2] or "") for m in _PLACEHOLDER.finditer(part or "")]


def fields_of(model: Model) -> set[str]:
    """The names of all fields, including the computed ones."""
    return {*model.model_fields, *derived_fields(model)}


def key_fields(model: Model) -> list[str]:
    return list(dict.fromkeys([*names_in(model.key.hash), *names_in(model.key.range)]))


def indexes(model: Model, name: str) -> list[Index]:
    declared = declarations(model).values()
    return [one for one in declared if isinstance(one, Index) and one.name == name]


def copies(model: Model) -> dict[str, Copy]:
    defaults = {name: info.default for name, info in model.model_fields.items()}
    return {name: copy for name, copy in defaults.items() if isinstance(copy, Copy)}


@cache
def refs(model: Model, name: str) -> tuple[Ref, ...]:
    """The st.ref declarations of a field."""
    info = model.model_fields.get(name)
    metadata = [*info.metadata] if info is not None else []
    core_type(info and info.annotation, metadata)
    return tuple(one for one in metadata if isinstance(one, Ref))


@cache
def labels(model: Model, name: str, *, own: bool) -> frozenset[tuple[str, ...]]:
    """The texts before a field in key templates: in all keys or, with `own`, in the primary key.

    A tuple for each template with the field and such a text: the last constant text before the
    field, without delimiters at its ends, and then the names of the fields in between.
    """
    keys = [d for d in declarations(model).values() if isinstance(d, (Key, Index))]
    parts = [part for key in ([model.key] if own else keys) for part in (key.hash, key.range)]
    labels = set()
    for part in (part for part in parts if isinstance(part, str)):
        text, at = "", 0
        between: list[str] = []
        for place in _PLACEHOLDER.finditer(part):
            label = re.sub(r"^[\W_]+|[\W_]+$", "", part[at : place.start()])
            if label:
                text, between = label, []
            if place[1] == name and place[2] != "shard" and text:
                labels.add((text, *between))
            between.append(place[1])
            at = place.end()
    return frozenset(labels)


class Relations:
    """The references between classes: which fields of one class hold the primary key of another."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = models
        self._ownerships: dict[tuple[Model, Model], list[Held]] = {}

    def owner_of(self, record: Record, name: str, records: Sequence[Record]) -> Record | None:
        """The item from which the record's field `name` is copied; None if there is none."""
        copy = copies(record.model)[name]
        for held in self.between(record.model, copy.owner):
            if copy.by is None or copy.by in held.values():
                for other in records:
                    if other.model is copy.owner and refers(record, other, held):
                        return other
        return None

    def below(self, root: Record, records: Sequence[Record]) -> list[Record]:
        """The items below `root`.

        Their primary keys contain the primary key of `root`, or of another item below `root`.
        """
        below: dict[int, Record] = {}
        waiting = [root]
        while waiting:
            parent = waiting.pop()
            for record in records:
                if record is root or id(record) in below:
                    continue
                if any(refers(record, parent, held)
                       for held in self.ownerships(record.model, parent.model)):  # fmt: skip
                    below[id(record)] = record
                    waiting.append(record)
        return list(below.values())

    def ownerships(self, child: Model, parent: Model) -> list[Held]:
        """The references that put items of the child below items of the parent."""
        if (child, parent) not in self._ownerships:
            own = set(key_fields(child))
            self._ownerships[child, parent] = [
                held
                for held in self.between(child, parent)
                if set(held.values()) < own
                or (set(held.values()) == own and self._all_told(child, parent, held))
            ]
        return self._ownerships[child, parent]

    def _all_told(self, child: Model, parent: Model, held: Held) -> bool:
        return all(self._told(child, name, parent) for name in held.values())

    def between(self, child: Model, parent: Model) -> list[Held]:
        """Every reference of the child to the parent."""
        if child is parent:
            return []
        own = key_fields(parent)
        declared = self._declares(child, parent)
        fields = {part: self._candidates(child, parent, part, declared) for part in own}
        several = [len(options) > 1 for options in fields.values()]
        if not all(fields.values()) or not (declared or self._is_meant(child, parent)):
            return []
        pairings: list[Held] = []
        for chosen in product(*fields.values()):
            roles = {role for _, role in chosen if role is not None}
            if len(roles) <= 1 and self._belong(chosen, list(fields.values()), roles):
                pairings.append(dict(zip(own, (name for name, _ in chosen), strict=True)))
        paired = any(role for options in fields.values() for _, role in options)
        return pairings if paired or sum(several) <= 1 else []

    @staticmethod
    def _belong(
        chosen: Sequence[tuple[str, str | None]],
        fields: Sequence[Sequence[tuple[str, str | None]]],
        roles: set[str],
    ) -> bool:
        """Whether the chosen fields can together hold the key of one parent.

        `chosen` has a field and its role (or None) for each part of the parent's key, and `fields`
        all candidates for this part. `roles` are the roles of the chosen fields. A field without a
        role does not fit if another candidate for its part has one of these roles.
        """
        return not any(
            role is None and roles & {other for _, other in options}
            for (_, role), options in zip(chosen, fields, strict=True)
        )

    def _candidates(
        self, child: Model, parent: Model, part: str, declared: bool
    ) -> list[tuple[str, str | None]]:
        """(field, role) of each field of the child that can hold the parent's key field `part`.

        `declared` says whether the child has a st.ref or st.copy of the parent.
        """
        pairs = [
            (name, ref.role)
            for name in fields_of(child)
            for ref in self._told(child, name, parent)
            if (ref.field or key_fields(parent)[-1]) == part
        ]
        if part not in fields_of(child) or any(name == part for name, _ in pairs):
            return pairs
        mine, theirs = refs(child, part), refs(parent, part)
        alike = bool(labels(child, part, own=False) & labels(parent, part, own=True))
        if not mine and not theirs and alike:
            return [*pairs, (part, None)]
        if not pairs and (self._shares(child, parent, part) if mine else declared or alike):
            return [(part, None)]
        return pairs

    def _shares(self, child: Model, parent: Model, part: str) -> bool:
        """Whether the fields named `part` of child and parent refer to the same field of an entity.

        The parent's field may refer to it without a st.ref, by having the same name and following
        the same text in a key.
        """
        theirs = self._targets(parent, part)
        for model, field in self._targets(child, part):
            plain = not refs(parent, part) and not refs(model, field) and field == part
            alike = labels(parent, part, own=False) & labels(model, field, own=True)
            if (model, field) in theirs or (plain and alike):
                return True
        return False

    def _targets(self, model: Model, name: str) -> set[tuple[Model, str]]:
        return {
            (other, ref.field or key_fields(other)[-1])
            for other in self.models
            for ref in self._told(model, name, other)
        }

    @staticmethod
    def _told(child: Model, name: str, parent: Model) -> list[Ref]:
        names = {parent, parent.__name__}
        return [ref for ref in refs(child, name) if ref.entity in names]

    def _declares(self, child: Model, parent: Model) -> bool:
        told = any(self._told(child, name, parent) for name in fields_of(child))
        return told or any(copy.owner is parent for copy in copies(child).values())

    def _is_meant(self, child: Model, parent: Model) -> bool:
        """Whether the child refers to the parent itself.

        It may instead refer to an entity with the same key fields, to which the parent refers too.
        """
        if any(not refs(child, part) and not refs(parent, part)
               and labels(child, part, own=False) & labels(parent, part, own=True)
               for part in key_fields(parent) if part in fields_of(child)):  # fmt: skip
            return True
        alike = all(
            labels(child, part, own=False) & labels(parent, part, own=True)
            for part in key_fields(parent)
        )
        return alike and not any(
            set(held.values()) == set(key_fields(parent))
            for other in self.models
            if other is not parent and self._declares(parent, other)
            for held in self.between(parent, other)
        )


def refers(record: Record, other: Record, held: Held) -> bool:
    return all(record[name] == other[part] for part, name in held.items())
