"""Check an inferred model: each sampled item is read, and its keys are made again."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType

from hashrange.design.declare.entity import Entity
from hashrange.design.errors import BadValue, DeclarationError, DesignError, ItemError
from hashrange.design.inference.entities import InferredEntity
from hashrange.design.plan.plans import Unplanned
from hashrange.design.source.model_source import TableSource, write
from hashrange.design.table import Table
from hashrange.model.values import Item

AMBIGUOUS = "its key is ambiguous"
_MODULE = "hashrange_inferred_model"


@dataclass
class Verified:
    """The result for one entity: `same` counts the items whose keys the model reproduces.

    `different` has the other items, each with the reason.
    """

    same: int = 0
    different: list[tuple[Item, str]] = field(default_factory=list)

    @property
    def ambiguous(self) -> bool:
        return any(reason.startswith(AMBIGUOUS) for _, reason in self.different)


def declare(source: TableSource) -> Table:
    """The table that `source` declares. Patterns that no key serves are removed from `source`.

    Raises DesignError if the model cannot be declared.
    """
    try:
        table = _run(source)
    except DeclarationError:
        source.patterns, source.views = [], []
        try:
            table = _run(source)
        except DeclarationError as error:
            raise DesignError(f"{source.name}: no model fits its items: {error}") from error
    refused = {plan.pattern.name for plan in table.plans.values() if isinstance(plan, Unplanned)}
    if refused:
        source.patterns = [one for one in source.patterns if one.name not in refused]
        used = " ".join(one.returns for one in source.patterns)
        source.views = [view for view in source.views if view.name in used]
        table = _run(source)
    return table


def _run(source: TableSource) -> Table:
    text = write([source], "An inferred model.")
    with _module() as module:
        exec(compile(text, "the inferred model", "exec"), vars(module))
        return next(value for value in vars(module).values() if isinstance(value, Table))


@contextmanager
def _module() -> Iterator[ModuleType]:
    """A module that pydantic can find while it builds the module's classes."""
    module = sys.modules[_MODULE] = ModuleType(_MODULE)
    try:
        yield module
    finally:
        del sys.modules[_MODULE]


def verify(table: Table, inferred: Sequence[InferredEntity]) -> dict[str, Verified]:
    """Compare the keys that the model writes with the stored keys. Returns results by entity name.

    An item also differs if it lacks an index key that the model would write.
    """
    entities = {str(entity): entity for entity in table.model.entities}
    keys = {column.attribute for source in table.model.sources for column in source.columns}
    return {one.source.name: _verify(entities[one.source.name], one, keys) for one in inferred}


def _verify(entity: Entity, inferred: InferredEntity, keys: set[str]) -> Verified:
    verified = Verified()
    for raw in inferred.group.items:
        reason = _difference(entity, raw, keys)
        if reason is None:
            verified.same += 1
        else:
            verified.different.append((raw, reason))
    return verified


def _difference(entity: Entity, raw: Item, keys: set[str]) -> str | None:
    try:
        again = entity.dump(entity.load(raw))
    except ItemError as error:
        return f"it does not fit the class: {error}"
    except BadValue as error:
        return f"{AMBIGUOUS}: {error}"
    for attribute in sorted(keys):
        if again.get(attribute) != raw.get(attribute):
            made, stored = _text(again, attribute), _text(raw, attribute)
            return f"{attribute} is {stored}, but the model writes {made}"
    return None


def _text(item: Item, attribute: str) -> str:
    value = item.get(attribute)
    return "absent" if value is None else repr(next(iter(value.values())))
