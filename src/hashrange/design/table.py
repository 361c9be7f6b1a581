"""`st.Table`: a model's entities, indexes and access patterns together, checked and planned."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from hashrange.design import model as table_model
from hashrange.design.item import Copy, Item
from hashrange.design.patterns import Pattern, read_patterns
from hashrange.design.plan_table import PlanTable, row
from hashrange.design.planner import Plan, Unplanned, plan
from hashrange.design.volumes import Ignored, Volumes, Writes

R = TypeVar("R")


class Table:
    """A table: its Protocols of patterns, and entities that no pattern returns.

    `keys` and `index_keys` name the attributes that templates write; without an entry an index
    `GSI1` has `GSI1-pk` and `GSI1-sk`. `type_attribute` holds each item's entity (None: told by
    its key); `by_type` is an index over it. `volumes`, `writes` and `ignore` are for the linter.

    Raises DeclarationError for whatever could not work.
    """

    def __init__(
        self,
        name: str,
        /,
        *declared: Any,
        keys: tuple[str, str] = ("pk", "sk"),
        index_keys: Mapping[str, tuple[str, str]] | None = None,
        type_attribute: str | None = "entityType",
        by_type: str | None = None,
        volumes: Volumes | None = None,
        writes: Sequence[Writes] = (),
        ignore: Sequence[Ignored] = (),
    ) -> None:
        self.name = name
        self.protocols = [d for d in declared if not _is_item(d)]
        self.patterns = {p: read_patterns(p) for p in self.protocols}
        entities = [d for d in declared if _is_item(d)]
        self.model = table_model.build(
            name,
            _entities([p for patterns in self.patterns.values() for p in patterns], entities),
            keys=keys,
            index_keys=index_keys or {},
            type_attribute=type_attribute,
            by_type=by_type,
        )
        self.volumes = volumes or Volumes()
        self.writes = tuple(writes)
        self.ignore = tuple(ignore)
        self.volumes.check(self.model)
        for fact in self.writes:
            fact.check(self.model)
        self.plans: dict[str, Plan | Unplanned] = self._plans

    @cached_property
    def _plans(self) -> dict[str, Plan | Unplanned]:
        return {str(p): plan(p, self.model) for ps in self.patterns.values() for p in ps}

    def plan(self) -> PlanTable:
        """The access-pattern table."""
        types = [entity.name for entity in self.model.entities]
        return PlanTable(self.name, tuple(row(plan, types) for plan in self.plans.values()))


def _is_item(declared: Any) -> bool:
    return isinstance(declared, type) and issubclass(declared, Item)


def _entities(patterns: Sequence[Pattern], listed: Sequence[type[Item]]) -> list[type[Item]]:
    """All entities of a table, in the order in which they are met."""
    found: dict[type[Item], None] = {}
    for pattern in patterns:
        for model in pattern.entities:
            found[model] = None
        if pattern.facts.through is not None:
            found[pattern.facts.through] = None
    found |= dict.fromkeys(listed)
    for model in list(found):
        for info in model.model_fields.values():
            if isinstance(info.default, Copy):
                found[info.default.owner] = None
    return list(found)
