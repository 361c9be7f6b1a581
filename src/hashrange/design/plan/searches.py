"""Choosing the vector index of a pattern that returns the nearest items."""

from collections.abc import Sequence

from hashrange.design.declare.draft import natural_column
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.facts import Facts
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.schema import Column, EntityKey, KeyColumn
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.vector_indexes import VectorIndex
from hashrange.design.errors import DeclarationError
from hashrange.design.plan.projections import missing_fields, needed_fields
from hashrange.design.plan.routes import KeyRefusal, Route


def find_search(
    pattern: Pattern, entities: Sequence[Entity], model: TableModel, arguments: Sequence[Argument]
) -> tuple[VectorIndex, tuple[Route, ...]]:
    """The vector index that serves the pattern, and a route for each of the entities.

    Raises KeyRefusal if no index serves the pattern, and DeclarationError for a decorator that has
    no effect on a search.
    """
    _expect_searchable(pattern)
    index = _index(pattern, entities, model)
    others = [entity for entity in index.entities if entity not in entities]
    if others and index.types is not None and len(entities) > 1:
        raise KeyRefusal(
            f"{index.name} also holds {others[0]}, and a search can select either one entity or "
            "all entities of the index"
        )
    routes = tuple(_route(pattern, index, entity, arguments) for entity in entities)
    return index, routes


def _expect_searchable(pattern: Pattern) -> None:
    facts, plain = pattern.facts, Facts()
    for name in ("consistent", "latest", "scan", "where", "through"):
        if getattr(facts, name) != getattr(plain, name):
            decorator = "scan_ok" if name == "scan" else name
            raise DeclarationError(
                f"@st.{decorator} has no effect on a search", at=pattern.function
            )


def _index(pattern: Pattern, entities: Sequence[Entity], model: TableModel) -> VectorIndex:
    wanted = pattern.facts.using
    indexes = [
        index
        for index in model.vectors
        if wanted in (None, index.name) and all(entity in index.entities for entity in entities)
    ]
    if len(indexes) == 1:
        return indexes[0]
    names = " and ".join(str(entity) for entity in entities)
    if indexes:
        several = " and ".join(index.name for index in indexes)
        raise KeyRefusal(f"{several} hold {names}: choose one of these indexes with @st.using")
    raise KeyRefusal(f"no vector index {wanted or ''}".rstrip() + f" holds {names}")


def _route(
    pattern: Pattern,
    index: VectorIndex,
    entity: Entity,
    arguments: Sequence[Argument],
) -> Route:
    bound = {(own := argument.of(entity)).field: own for argument in arguments}
    fields = {attribute: name for name, attribute in entity.attributes.items()}
    searched = {fields.get(column.attribute) for column in index.searched}
    for name, argument in bound.items():
        if argument.operator != "=":
            raise KeyRefusal(
                f"a search only compares for equality, so {argument.name!r} must be one value, not "
                "a range, a prefix or a choice of values"
            )
        if name not in searched:
            raise KeyRefusal(f"{name} is neither the partition nor a filter of {index.name}")
    for column in index.partition:
        name = fields[column.attribute]
        if name not in bound or bound[name].optional:
            raise KeyRefusal(f"a search of {index.name} needs an argument for {name}", [name])
    columns = tuple(_column(entity, fields, column) for column in index.partition)
    key = EntityKey(index.source, columns, ())
    _expect_shown(pattern, index, entity, key)
    return Route(entity, key, (), None, None, bound)


def _column(entity: Entity, fields: dict[str, str], column: Column) -> KeyColumn:
    name = fields[column.attribute]
    return natural_column(name, entity.fields[name], column.attribute, entity.model)


def _expect_shown(pattern: Pattern, index: VectorIndex, entity: Entity, key: EntityKey) -> None:
    """Raise KeyRefusal if the index does not project a field of the result."""
    held = {column.natural for column in key.columns}
    missing = missing_fields(needed_fields(pattern, entity), entity, index.source)
    missing = [name for name in missing if name not in held]
    if missing:
        raise KeyRefusal(f"{index.name} does not project {', '.join(missing)}", rule="I11")
