"""Lint rules: an id, a severity, an explanation, and a function that yields findings."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.generated import makes_ids
from hashrange.design.declare.schema import EntityKey
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.volumes import Each
from hashrange.design.plan.plans import Plan, Unplanned
from hashrange.design.table import Table

T = TypeVar("T")
Severity = Literal["error", "warning", "information"]
Found = tuple[str, str]
"""A finding: (where, message). `where` names the entity, index or pattern."""


@dataclass(frozen=True)
class Rule:
    """A rule. `find` is None if the mistake is found when the model is declared or planned."""

    id: str
    severity: Severity
    title: str
    explanation: str
    find: Callable[["Context"], Iterator["Finding"]] | None = None


@dataclass(frozen=True, order=True)
class Finding:
    rule: str
    where: str
    severity: Severity
    message: str

    def __str__(self) -> str:
        return f"{self.rule} {self.severity} {self.where}: {self.message}"


@dataclass
class Context:
    """The table to check. `unchecked` collects (rule, number that is not declared)."""

    table: Table
    unchecked: set[tuple[str, str]] = field(default_factory=set)

    @property
    def model(self) -> TableModel:
        return self.table.model

    @property
    def entities(self) -> tuple[Entity, ...]:
        return self.table.model.entities

    @property
    def plans(self) -> list[Plan]:
        return [plan for plan in self.table.plans.values() if isinstance(plan, Plan)]

    @property
    def unplanned(self) -> list[Unplanned]:
        return self.table.unserved

    @property
    def keys(self) -> list[tuple[Entity, EntityKey]]:
        """Each entity with its primary key, and with each of its index keys."""
        return [(e, key) for e in self.entities for key in (e.key, *e.indexes)]

    def size(self, rule: str, entity: Entity) -> int | None:
        """The declared size of an item in bytes. A missing size is added to `unchecked`."""
        return self._number(rule, f"size of {entity}", self.table.volumes.of(entity).size)

    def count(self, rule: str, entity: Entity) -> float | None:
        return self._number(rule, f"number of {entity}", self.table.volumes.count(entity))

    def each(self, rule: str, entity: Entity, known: Collection[str]) -> Each | None:
        """How many items of the entity share the values of the known fields; None if not declared.

        If the known fields contain the key of a parent, this is the declared number of items for
        each parent item. Of several parents, the one with the most key fields is used.
        """
        volumes = self.table.volumes
        if entity.key_fields <= set(known):
            return Each(str(entity), 1, 1)
        candidates = [
            (len(parent.key_fields), -each.max, each)
            for parent in self.entities
            if parent is not entity
            and any(names <= set(known) for names in self._identities(entity, parent))
            if (each := volumes.per(entity, parent)) is not None
        ]
        if candidates:
            return max(candidates, key=lambda one: one[:2])[2]
        if len(volumes.of(entity).each) == 1:
            [only] = volumes.of(entity).each
            parent = next(e for e in self.entities if str(e) == only.parent)
            names = frozenset[str]().union(*self._identities(entity, parent))
            if names & set(known) or not names <= entity.fields.keys():
                return only  # only a part of the key is known, or its fields have other names
        count = volumes.count(entity) if not known else None
        if count is not None:
            return Each("", count, int(count))
        fields = " and ".join(sorted(known))
        return self._number(rule, f"largest number of {entity} items for one {fields}", None)

    def _identities(self, entity: Entity, parent: Entity) -> list[frozenset[str]]:
        """The sets of fields that hold the parent's key, one for each reference to the parent.

        Without a reference, these are the fields with the names of the parent's key fields.
        """
        references = self.model.references.between(entity, parent)
        return [one.fields for one in references] or [parent.key_fields]

    def unknown(self, rule: str, what: str) -> None:
        self.unchecked.add((rule, what))

    def _number(self, rule: str, what: str, value: T | None) -> T | None:
        if value is None:
            self.unknown(rule, what)
        return value


RULES: dict[str, Rule] = {}
Check = Callable[[Context], Iterator[Found | tuple[str, str, Severity]]]


def rule(id: str, severity: Severity, title: str, explanation: str) -> Callable[[Check], Check]:
    """A decorator that registers a check as a rule.

    The check yields (where, message), or (where, message, severity).
    """

    def register(check: Check) -> Check:
        def find(context: Context) -> Iterator[Finding]:
            for finding in check(context):
                level = finding[2] if len(finding) == 3 else severity
                yield Finding(id, finding[0], level, finding[1])

        RULES[id] = Rule(id, severity, title, explanation, find)
        return check

    return register


def checked_at_declaration(id: str, severity: Severity, title: str, explanation: str) -> None:
    """Register a rule that is checked when a model is declared or a pattern is planned."""
    RULES[id] = Rule(id, severity, title, explanation)


def generated_ids(entity: Entity) -> set[str]:
    """The fields whose default is a new id."""
    fields = entity.model.model_fields.items()
    return {name for name, info in fields if makes_ids(info.default_factory)}


def counted(number: float, noun: str) -> str:
    """The number with the noun in the singular or plural: '1 value', '1,000 values'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def named(entity: Entity, key: EntityKey) -> str:
    """The name of an entity's key in messages: 'Sensor.key', 'Sensor.in_room'."""
    return f"{entity}.{key.declared_as}"
