"""Which fields of an entity hold the primary key of another entity.

An st.ref names the entity and the key field that a field refers to; with st.ref(None), it refers to
nothing. Without st.ref, a field refers to a key field of the same name if both follow the same
text, such as `user#`, in a key of their entity.

A reference needs a field for each part of the parent's primary key. If an st.ref names only one
part, or only an st.copy names the parent, then fields with the same names hold the remaining parts.
Roles distinguish several references to one entity.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Copy
from hashrange.design.declare.keys.templates import Template
from hashrange.design.declare.schema import EntityKey
from hashrange.design.errors import DeclarationError, suggest
from hashrange.model.values import Item as WireItem

Origin = tuple[str, tuple[str, ...]]
"""A placeholder's place: (the nearest constant text before it, the fields in between)."""


@dataclass(frozen=True)
class Reference:
    """Fields of `child` that together hold the primary key of `parent`.

    `held` maps the parent's key fields to the child's fields.
    """

    child: Entity
    parent: Entity
    held: Mapping[str, str]

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(self.held.values())

    def parent_key(self, values: Mapping[str, Any]) -> WireItem:
        """The primary key of the item that a child with these values refers to. Raises BadValue."""
        return self.parent.primary_key({part: values[name] for part, name in self.held.items()})

    def holds(self, child: object, parent: object) -> bool:
        """Whether the item `child` refers to the item `parent`."""
        return all(getattr(child, name) == getattr(parent, p) for p, name in self.held.items())


class References:
    """The references between the entities of a table."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self.entities = entities
        self._origins = {e.name: _origins((e.key, *e.indexes)) for e in entities}
        self._own = {e.name: _origins((e.key,)) for e in entities}

    @cached_property
    def _known(self) -> dict[tuple[str, str], tuple[Reference, ...]]:
        return {}

    @cached_property
    def _owners(self) -> dict[str, tuple[tuple[Reference, list[str]], ...]]:
        return {}

    def between(self, child: Entity, parent: Entity) -> tuple[Reference, ...]:
        """All references of `child` to `parent`: an item can, for example, refer to two users.

        References of an entity to itself are left out.
        """
        names = (child.name, parent.name)
        if names not in self._known:
            references = () if child is parent else tuple(self._between(child, parent))
            self._known[names] = references
        return self._known[names]

    def named(self, entity: Entity, field: str) -> list[tuple[Entity, str]]:
        """(entity, field of its primary key) for each st.ref of the field."""
        return [
            (other, ref.field or other.key.fields[-1])
            for ref in entity.fields[field].refs
            for other in self.entities
            if str(other) == getattr(ref.entity, "__name__", ref.entity)
        ]

    def parts(self, child: Entity, parent: Entity) -> dict[str, list[str]]:
        """For each field of the parent's primary key, the child's fields that can hold it."""
        parts = {
            part: [name for name in child.fields if self._refers(child, name, parent, part)]
            for part in parent.key.fields
        }
        declared = self._declares(child, parent)
        for part, fields in parts.items():
            if not fields and part in child.fields and self._shares(child, parent, part, declared):
                fields.append(part)
        return parts

    def doubt(self, child: Entity, parent: Entity) -> str | None:
        """Why it is unclear how the child's primary key contains the parent's; None if clear."""
        if child is parent:
            return None
        for parts in self._roles(child, parent):
            several = [fields for fields in parts.values() if len(fields) > 1]
            if len(several) > 1 and all(child.key_fields.issuperset(fields) for fields in several):
                names = " and ".join("/".join(fields) for fields in several)
                return f"{names} can be combined into the key of a {parent} in several ways"
        if any(one.fields < child.key_fields for one in self.between(child, parent)):
            twin = self._twin(child, parent)
            return None if twin is None else f"it can belong to a {parent} or to a {twin}"
        names = ", ".join(parent.key.fields)
        if parent.key_fields < child.key_fields and self._unclear(child, parent):
            return f"{names} can be the key of a {parent} or something else"
        return None

    def fault(
        self, relation: Entity, followed: Entity, wanted: str | None, *, several: bool
    ) -> str:
        """Why it is unclear which reference a pattern with `@st.through` of `relation` follows.

        `wanted` is the field that @st.through names. `several` means that several references fit.
        """
        parts = self.parts(relation, followed)
        for name, fields in parts.items():
            if not fields:
                return (
                    f"{relation} has no field that holds the {name} of a {followed}: "
                    f"declare it with st.ref({followed}, {name!r})"
                )
        fields = [field for fields in parts.values() for field in fields if len(fields) > 1]
        if wanted is not None and not several:
            return f"{wanted!r} does not refer to a {followed}{suggest(wanted, fields)}"
        example = f"@st.through({relation}, {fields[0] if fields else '...'!r})"
        return f"{relation} refers to a {followed} by {' and by '.join(fields)}: write {example}"

    def of_copy(self, child: Entity, name: str) -> Reference:
        """The reference to the owner of a copied field. Raises DeclarationError."""
        copy = child.copies[name]
        owner = next(one for one in self.entities if one.model is copy.owner)
        references = self.between(child, owner)
        if copy.by is not None:
            references = tuple(one for one in references if copy.by in one.fields)
        if len(references) == 1 and (copy.by is not None or not self._is_rivalled(references[0])):
            return references[0]
        raise DeclarationError(f"{name}: {self._copy_fault(child, owner, copy)}", at=child.model)

    def owners(self, child: Entity) -> tuple[tuple[Reference, list[str]], ...]:
        """The references to the owners of `child`'s copies, each with the copied fields' names."""
        if child.name not in self._owners:
            owners: dict[tuple[str, frozenset[str]], tuple[Reference, list[str]]] = {}
            for name in child.copies:
                one = self.of_copy(child, name)
                owners.setdefault((one.parent.name, one.fields), (one, []))[1].append(name)
            self._owners[child.name] = tuple(owners.values())
        return self._owners[child.name]

    # ---- how fields refer ----

    def _between(self, child: Entity, parent: Entity) -> Iterator[Reference]:
        if not self._is_meant(child, parent):
            return
        for parts in self._roles(child, parent):
            several = [part for part, fields in parts.items() if len(fields) > 1]
            if not all(parts.values()) or len(several) > 1:
                continue
            one = {part: fields[0] for part, fields in parts.items()}
            if not several:
                yield Reference(child, parent, one)
            for part in several:
                for field in parts[part]:
                    yield Reference(child, parent, {**one, part: field})

    def _roles(self, child: Entity, parent: Entity) -> Iterator[dict[str, list[str]]]:
        """The result of `parts` for each role.

        If a role has no field for a part, the fields without a role are used.
        """
        parts = self.parts(child, parent)
        roles = {name: self._role(child, name, parent) for names in parts.values()
                 for name in names}  # fmt: skip
        for role in dict.fromkeys(roles.values()):
            yield {
                part: [n for n in names if roles[n] == role]
                or [n for n in names if roles[n] is None]
                for part, names in parts.items()
            }

    def _role(self, child: Entity, field: str, parent: Entity) -> str | None:
        refs = zip(child.fields[field].refs, self.named(child, field), strict=False)
        return next((ref.role for ref, (other, _) in refs if other is parent), None)

    def _is_rivalled(self, one: Reference) -> bool:
        """Whether it is unclear which fields of the child hold the parent's key.

        The child then has fields with the names of the parent's key fields, and without st.ref, but
        the reference uses other fields.
        """
        same = all(
            part in one.child.fields and not one.child.fields[part].refs for part in one.held
        )
        return same and any(part != name for part, name in one.held.items())

    def _copy_fault(self, child: Entity, owner: Entity, copy: Copy) -> str:
        parts = self.parts(child, owner)
        missing = [part for part, names in parts.items() if not names]
        if missing:
            return (
                f"its owner is found by {', '.join(owner.key.fields)}, so it needs the field "
                f"{missing[0]!r}, or a field with st.ref({owner}, {missing[0]!r})"
            )
        names = [name for names in parts.values() for name in names]
        if copy.by is not None:
            return f"by={copy.by!r} does not refer to a {owner}{suggest(copy.by, names)}"
        return (
            f"{child} can refer to its {owner} in several ways: write "
            f"st.copy({owner}, {copy.field!r}, by={names[-1]!r}, ...)"
        )

    def _is_meant(self, child: Entity, parent: Entity) -> bool:
        """Whether the child refers to the parent, and not only to an entity that shares its key."""
        if self._declares(child, parent):
            return True
        if any(self._refers(child, part, parent, part) for part in parent.key.fields
               if part in child.fields):  # fmt: skip
            return True
        alike = all(self._follows(child, parent, part) for part in parent.key.fields)
        return alike and not self._is_extension(parent)

    def _declares(self, child: Entity, parent: Entity) -> bool:
        if any(copy.owner is parent.model for copy in child.copies.values()):
            return True
        return any(one is parent for name in child.fields for one, _ in self.named(child, name))

    def _is_extension(self, entity: Entity) -> bool:
        """Whether the entity's whole key is declared to be the key of another entity."""
        return any(
            self._declares(entity, other)
            and any(one.fields == entity.key_fields for one in self.between(entity, other))
            for other in self.entities
            if other is not entity
        )

    def _refers(self, child: Entity, field: str, parent: Entity, part: str) -> bool:
        if child.fields[field].refs:
            return (parent, part) in self.named(child, field)
        own = field == part and not parent.fields[part].refs
        return own and self._follows(child, parent, part)

    def _shares(self, child: Entity, parent: Entity, part: str, declared: bool) -> bool:
        """Whether the child's field `part` holds the parent's, without an st.ref to the parent.

        `declared` means that another field of the child has an st.ref or st.copy that names the
        parent.
        """
        if not child.fields[part].refs:
            return declared or self._follows(child, parent, part)
        return any(self._refers(parent, part, *named) for named in self.named(child, part))

    def _follows(self, child: Entity, parent: Entity, part: str) -> bool:
        """Whether the field `part` stands after the same text and the same fields in any key of the
        child and in the primary key of the parent."""
        mine = self._origins[child.name].get(part, set())
        return bool(mine & self._own[parent.name].get(part, set()))

    def _unclear(self, child: Entity, parent: Entity) -> bool:
        """Whether only the names of the child's fields suggest that they hold the parent's key.

        The fields have no st.ref. In the keys of at least one of the entities, no constant text
        before a field says what the field is.
        """
        return all(
            not child.fields[name].refs
            and not (self._origins[child.name].get(name) and self._own[parent.name].get(name))
            for name in parent.key.fields
        )

    def _twin(self, child: Entity, parent: Entity) -> Entity | None:
        """Another entity with the parent's key fields, to which the child may belong instead."""
        for other in self.entities if not self._declares(child, parent) else ():
            same = other.key_fields == parent.key_fields and other not in (child, parent)
            if same and self.between(child, other) and not self._declares(child, other):
                return other
        return None


def _origins(keys: Sequence[EntityKey]) -> dict[str, set[Origin]]:
    """Where each field stands in the templates of `keys`, if constant text comes before it."""
    origins: dict[str, set[Origin]] = {}
    for key in keys:
        for column in key.columns:
            for field, origin in _places(column.template):
                origins.setdefault(field, set()).add(origin)
    return origins


def _places(template: Template) -> Iterator[tuple[str, Origin]]:
    for number, part in enumerate(template.parts):
        if isinstance(part, str) or part.shards:
            continue
        before = template.parts[number - 1 :: -1] if number else ()
        between = [*takewhile(lambda one: not isinstance(one, str) or not _label(one), before)]
        if len(between) < len(before):
            label = before[len(between)]
            assert isinstance(label, str)
            fields = tuple(str(one) for one in reversed(between) if not isinstance(one, str))
            yield part.field, (_label(label), fields)


def _label(constant: str) -> str:
    """The text without the delimiters around it: `#user#` and `user@` are one label."""
    letters = [n for n, char in enumerate(constant) if char.isalnum()]
    return constant[letters[0] : letters[-1] + 1] if letters else ""
