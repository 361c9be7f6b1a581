"""Patterns for a model that has none yet: what its keys and indexes serve as they are."""

import re
from collections.abc import Iterator, Sequence

from hashrange.design.exchange.model_source import (
    EntitySource,
    FieldSource,
    IndexSource,
    Part,
    PatternSource,
    ViewSource,
    class_name,
    distinct,
    field_name,
    pattern_name,
)


def served_patterns(
    entities: Sequence[EntitySource],
) -> tuple[list[PatternSource], list[ViewSource]]:
    """Patterns for each primary key and index, and views of indexes that do not hold all."""
    found: list[PatternSource] = []
    views: list[ViewSource] = []
    for entity in entities:
        for pattern in [*_by_key(entity), *_by_indexes(entity, entities, views)]:
            pattern.name = distinct(pattern.name, [other.name for other in found])
            found.append(pattern)
    return found, views


def _by_key(entity: EntitySource) -> Iterator[PatternSource]:
    one = pattern_name(entity.name)
    parts = [entity.hash, *([entity.range] if entity.range else [])]
    names = [name for part in parts for name in fields_of(part)]
    yield PatternSource(
        one, f"Get one {entity.name}", _arguments(entity, names), f"{entity.name} | None"
    )
    hashes = fields_of(entity.hash)
    if entity.range is not None and set(hashes) < set(names):
        yield PatternSource(
            f"{field_name(entity.name)}_items",
            f"Get the {entity.name} items of a partition",
            _arguments(entity, hashes),
            f"st.Query[{entity.name}]",
        )


def _by_indexes(
    entity: EntitySource, entities: Sequence[EntitySource], views: list[ViewSource]
) -> Iterator[PatternSource]:
    for index in entity.indexes:
        hashes = fields_of(entity.hash if index.hash is None else index.hash)
        arguments = _arguments(entity, hashes)
        if index.hash is None and index.range is not None and index.range.fields:
            first = _arguments(entity, index.range.fields[:1])
            arguments += [(name, f"st.AtLeast[{annotation}]") for name, annotation in first]
        returns = entity.name
        if index.project != "ALL":
            taken = [*(other.name for other in entities), *(view.name for view in views)]
            returns = distinct(class_name(f"{entity.name} {index.declared_as}", "View"), taken)
            views.append(ViewSource(returns, entity, _held(entity, index)))
        yield PatternSource(
            f"{field_name(entity.name)}_{index.declared_as}",
            f"Get {entity.name} items through {index.name}",
            arguments,
            f"st.Query[{returns}]",
        )


def _held(entity: EntitySource, index: IndexSource) -> list[FieldSource]:
    """The fields of the table's key, of the index's key, and those that the index projects."""
    parts = [entity.hash, entity.range, index.hash, index.range]
    names = [name for part in parts if part is not None for name in fields_of(part)]
    names += index.project if isinstance(index.project, tuple) else ()
    return [entity.field(name) for name in dict.fromkeys(names)]


def fields_of(part: Part) -> list[str]:
    """The fields of a key's part, each once, without shard numbers."""
    names = re.findall(r"\{(\w+)(?::[^}]*)?\}", part.template)
    return list(dict.fromkeys([*names, *part.fields]))


def _arguments(entity: EntitySource, names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, entity.field(name).annotation) for name in dict.fromkeys(names)]
