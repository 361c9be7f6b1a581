"""The model of a table, inferred from a sample of its items, as the source of a Python module."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hashrange.design.declare.types import single_line
from hashrange.design.inference import sampling
from hashrange.design.inference.entities import TIGHTER, InferredEntity, infer_entity, tighten
from hashrange.design.inference.grouping import Group, Groups, group
from hashrange.design.inference.sampling import Progress
from hashrange.design.inference.unique_texts import declare_unique
from hashrange.design.inference.verification import Verified, declare, verify
from hashrange.design.source.bare_model import bare_table
from hashrange.design.source.model_source import PatternSource, TableSource, write
from hashrange.design.source.served_patterns import served_patterns
from hashrange.design.source.table_shape import TableShape
from hashrange.design.tools.rules.rule import counted
from hashrange.model.values import Item

SAMPLE = 5000
RATE = 100.0
"""The default limit of reads, in read units per second."""
EXAMPLES = 3
"""The number of unmatched items that a comment shows."""
KEY_CHARS = 150


@dataclass(frozen=True)
class Inferred:
    """An inferred model: `text` is its Python source.

    `verified` counts the sampled items whose keys the model reproduces, and `unmatched` counts the
    items that fit no entity.
    """

    text: str
    table: TableSource
    sampled: int
    verified: int
    unmatched: int
    markers: int
    """The number of sampled markers of unique texts, which belong to no entity."""

    def __str__(self) -> str:
        names = ", ".join(entity.name for entity in self.table.entities)
        markers = f"; markers of unique texts: {self.markers:,}" if self.markers else ""
        return (
            f"{self.sampled:,} items, entities: {names}; "
            f"the keys of {counted(self.verified, 'item')} are reproduced exactly; "
            f"no entity fits {counted(self.unmatched, 'item')}{markers}"
        )


def infer(
    connection: Any,
    name: str,
    *,
    sample: int = SAMPLE,
    rate: float = RATE,
    progress: Progress | None = None,
) -> Inferred:
    """Read at most `sample` items of a table and find the model that writes them.

    `connection` is a hashrange database or a boto3 client, `rate` is in read units a second.
    Raises DesignError if there is no such table.
    """
    shape = sampling.shape(connection, name)
    items = sampling.sample(connection, name, sample, rate, progress)
    return infer_items(shape, group(shape, items), len(items))


def infer_items(shape: TableShape, groups: Groups, sampled: int) -> Inferred:
    """The model of a table with these groups of items. `sampled` counts all sampled items."""
    inferred, foreign = _entities(shape, groups)
    markers = len(groups.markers)
    if not inferred:
        table = bare_table(shape)
        table.comments += _unmatched(shape, foreign)
        return Inferred(_document(table, sampled), table, sampled, 0, len(foreign), markers)
    unknown = declare_unique(shape, groups.markers, inferred)
    table = _table(shape, groups, inferred)
    results = verify(declare(table), inferred)
    for kind in TIGHTER:
        if any(result.ambiguous for result in results.values()):
            for one in inferred:
                tighten(one, kind)
            table = _table(shape, groups, inferred)
            results = verify(declare(table), inferred)
    for one in inferred:
        one.source.comments += _doubts(shape, results[one.source.name])
    table.comments += [*_markers(unknown), *_unmatched(shape, foreign)]
    verified = sum(result.same for result in results.values())
    return Inferred(_document(table, sampled), table, sampled, verified, len(foreign), markers)


def _document(table: TableSource, sampled: int) -> str:
    return write([table], f"The model of {table.name}, inferred from {sampled:,} of its items.")


def _entities(shape: TableShape, groups: Groups) -> tuple[list[InferredEntity], list[Item]]:
    """The entities, and the items that fit none of them.

    A group of items becomes no entity if its keys cannot be made from attributes.
    """
    entities: list[InferredEntity] = []
    foreign = [*groups.foreign]
    for members in groups.groups:
        one = infer_entity(
            shape, members, groups.type_attribute, {other.source.name for other in entities}
        )
        if _explained(shape, groups, one):
            entities.append(one)
        else:
            foreign += members.items
    if not entities and groups.groups:  # all keys are plain, or no template explains them
        largest = max(groups.groups, key=lambda members: len(members.items))
        everything = Group([item for members in groups.groups for item in members.items])
        chosen = largest if groups.type_attribute is not None else everything
        entities = [infer_entity(shape, chosen, groups.type_attribute, set())]
        inside = {id(item) for item in chosen.items}
        foreign = [item for item in foreign if id(item) not in inside]
    return entities, foreign


def _explained(shape: TableShape, groups: Groups, one: InferredEntity) -> bool:
    """Whether the items are of one kind: they have the same type, or templates make their keys."""
    if groups.type_attribute is not None or one.group.name:
        return True
    return all(
        column.tag != "S" or column.attribute in one.templates for column in shape.table.columns
    )


def _table(shape: TableShape, groups: Groups, inferred: Sequence[InferredEntity]) -> TableSource:
    entities = [one.source for one in inferred]
    patterns, views = served_patterns(entities)
    table = TableSource(shape.name, entities, patterns, views, stream=shape.stream)
    table.type_attribute = groups.type_attribute
    written = {attribute for one in inferred for attribute in one.templates}
    columns = [column.attribute for column in shape.table.columns]
    if written & set(columns):
        table.keys = (columns[0], columns[1] if len(columns) > 1 else "sk")
    for source in shape.indexes:
        names = [column.attribute for column in source.columns]
        if [column.attribute for column in source.hash] == [groups.type_attribute] and (
            not source.range
        ):
            table.by_type = source.name
            table.patterns.append(_by_type())
        elif written & set(names) and len(names) <= 2:
            table.index_keys[source.name or ""] = (
                names[0],
                names[1] if len(names) > 1 else f"{source.name}-sk",
            )
    return table


def _by_type() -> PatternSource:
    return PatternSource(
        "all_of", "Get all items of an entity", [("entity", "type[T]")], "st.Query[T]"
    )


# ---- doubts ----


def _doubts(shape: TableShape, verified: Verified) -> Iterator[str]:
    total = verified.same + len(verified.different)
    if not verified.different:
        yield f"The keys of all {counted(total, 'item')} are reproduced exactly."
        return
    same = counted(verified.same, "item")
    yield f"The keys of {same} are reproduced exactly. Other keys are not, e.g.:"
    for raw, reason in verified.different[:EXAMPLES]:
        yield f"- {_key(shape, raw)}: {reason}"


def _markers(unknown: Sequence[Item]) -> Iterator[str]:
    if unknown:
        yield (
            f"{len(unknown):,} items are markers of unique texts whose template is not known: "
            "declare them with st.unique in the entity that they belong to."
        )


def _unmatched(shape: TableShape, foreign: Sequence[Item]) -> Iterator[str]:
    if foreign:
        yield f"{len(foreign):,} items fit no entity, for example:"
        yield from (f"- {_key(shape, raw)}" for raw in foreign[:EXAMPLES])


def _key(shape: TableShape, raw: Item) -> str:
    key = {c.attribute: raw[c.attribute] for c in shape.table.columns if c.attribute in raw}
    return single_line(key)[:KEY_CHARS]
