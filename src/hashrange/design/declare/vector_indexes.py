"""The vector indexes of a table, from the declarations of its entities."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import declarations
from hashrange.design.declare.schema import Column, Source
from hashrange.design.declare.vectors import Distance, Vectors
from hashrange.design.errors import DeclarationError, suggest
from hashrange.model.limits import SEARCH_FILTER_ATTRIBUTES_MAX, VECTOR_INDEXES_MAX

_SEARCHED_TYPES = ("S", "N", "B")


@dataclass(frozen=True)
class VectorIndex:
    """A vector index, with attributes in place of fields. It can hold the items of `entities`.

    If there are several entities, `types` is the table's type attribute, which becomes a filter.
    """

    name: str
    attribute: str
    dimensions: int
    distance: Distance
    partition: tuple[Column, ...]
    filters: tuple[Column, ...]
    project: Any
    entities: tuple[Entity, ...] = ()
    types: str | None = None

    @property
    def source(self) -> Source:
        """The index as a source of reads. Its projection includes the vector and the filters."""
        project = self.project
        if project != "ALL":
            more = project if project != "KEYS_ONLY" else ()
            project = (self.attribute, *(column.attribute for column in self.filters), *more)
        return Source(self.name, "vector index", self.partition, (), project)

    @property
    def searched(self) -> tuple[Column, ...]:
        return self.partition + self.filters


def vector_indexes(
    table_name: str,
    entities: Sequence[Entity],
    other_indexes: Collection[str | None],
    type_attribute: str | None,
) -> tuple[VectorIndex, ...]:
    """The vector indexes that the entities declare.

    Raises DeclarationError if declarations contradict each other or DynamoDB's rules.
    """
    indexes: dict[str, VectorIndex] = {}
    for entity in entities:
        for declared_as, declared in declarations(entity.model).items():
            if isinstance(declared, Vectors):
                index = _index(entity, declared, declared_as, other_indexes)
                if indexes.setdefault(index.name, index) != index:
                    raise DeclarationError(
                        f"{declared_as}: {index.name!r} is declared differently in another entity",
                        at=entity.model,
                    )
    if len(indexes) > VECTOR_INDEXES_MAX:
        raise DeclarationError(
            f"it has {len(indexes)} vector indexes: a table has at most {VECTOR_INDEXES_MAX}",
            at=table_name,
        )
    whole = [_with_entities(index, entities, type_attribute) for index in indexes.values()]
    for index in whole:
        if len(index.filters) > SEARCH_FILTER_ATTRIBUTES_MAX:
            raise DeclarationError(
                f"{index.name} has {len(index.filters)} filters, but at most "
                f"{SEARCH_FILTER_ATTRIBUTES_MAX} are allowed (an index of several entities also "
                "filters by the type attribute)",
                at=table_name,
            )
    return tuple(whole)


def _index(
    entity: Entity, declared: Vectors, declared_as: str, other_indexes: Collection[str | None]
) -> VectorIndex:
    def error(text: str) -> DeclarationError:
        return DeclarationError(f"{declared_as}: {text}", at=entity.model)

    def column(name: str) -> Column:
        if name not in entity.fields:
            raise error(f"{name} is not a field{suggest(name, entity.fields)}")
        tag = entity.fields[name].tag
        if tag not in _SEARCHED_TYPES:
            kind = tag or "several types"
            raise error(f"{name} is stored as {kind}; a search can only compare S, N and B")
        return Column(entity.attributes[name], tag)

    if declared.name in other_indexes:
        raise error(f"{declared.name!r} is the name of a secondary index")
    if declared.distance not in get_args(Distance):
        raise error(
            f"there is no distance={declared.distance!r}"
            f"{suggest(declared.distance, get_args(Distance))}"
        )
    if declared.field not in entity.fields:
        raise error(f"{declared.field} is not a field{suggest(declared.field, entity.fields)}")
    vector = entity.fields[declared.field].vector
    if vector is None:
        raise error(f"{declared.field} is not a vector: declare it as st.Vector(dimensions)")
    partition = (column(declared.partition),) if declared.partition is not None else ()
    filters = tuple(column(name) for name in declared.filters)
    if len({*partition, *filters}) < len(partition + filters):
        raise error("a field is named twice in partition= and filters=")
    return VectorIndex(
        declared.name, entity.attributes[declared.field], vector.dimensions, declared.distance,
        partition, filters, _projection(declared, entity, error),
    )  # fmt: skip


def _projection(declared: Vectors, entity: Entity, error: Any) -> Any:
    if isinstance(declared.project, str):
        if declared.project not in ("ALL", "KEYS_ONLY"):
            raise error(f"project={declared.project!r}: write ALL, KEYS_ONLY or a list of fields")
        return declared.project
    for name in declared.project:
        if name not in entity.fields:
            raise error(f"project: {name} is not a field{suggest(name, entity.fields)}")
    return tuple(entity.attributes[name] for name in declared.project)


def _with_entities(
    index: VectorIndex, entities: Sequence[Entity], type_attribute: str | None
) -> VectorIndex:
    """The index, with the entities whose items have its vector and partition.

    If there are several entities, the type attribute is added to the filters.
    """
    inside = []
    for entity in entities:
        fields = {attribute: name for name, attribute in entity.attributes.items()}
        _expect_fitting(index, entity, fields)
        if index.attribute in fields and all(c.attribute in fields for c in index.partition):
            inside.append(entity)
    filters, types = index.filters, None
    if len(inside) > 1 and type_attribute is not None:
        types = type_attribute
        filters = tuple(dict.fromkeys([*filters, Column(types, "S")]))
    return replace(index, entities=tuple(inside), filters=filters, types=types)


def _expect_fitting(index: VectorIndex, entity: Entity, fields: Mapping[str, str]) -> None:
    """Raise DeclarationError if DynamoDB would refuse the entity's items."""
    if index.attribute in fields:
        vector = entity.fields[fields[index.attribute]].vector
        if vector is None or vector.dimensions != index.dimensions:
            raise DeclarationError(
                f"{fields[index.attribute]}: the index {index.name} expects a vector of "
                f"{index.dimensions} dimensions in {index.attribute}",
                at=entity.model,
                rule="V01",
            )
    for column in index.searched:
        name = fields.get(column.attribute)
        if name is not None and entity.fields[name].tag != column.tag:
            raise DeclarationError(
                f"{name} is stored as {entity.fields[name].tag or 'several types'}, but the index "
                f"{index.name} compares {column.attribute} as {column.tag}",
                at=entity.model,
            )
