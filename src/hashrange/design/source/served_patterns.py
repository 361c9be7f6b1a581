"""Patterns for a model without patterns: the reads that its keys and indexes serve directly."""

from collections.abc import Iterator, Sequence
from string import Formatter

from hashrange.design.source.model_source import (
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
    """Patterns for each primary key and index, and views of indexes that do not hold all fields."""
    patterns: list[PatternSource] = []
    views: list[ViewSource] = []
    for entity in entities:
        for pattern in [*_by_key(entity), *_by_indexes(entity, entities, views)]:
            pattern.name = distinct(pattern.name, [other.name for other in patterns])
            patterns.append(pattern)
    return patterns, views


def _by_key(entity: EntitySource) -> Iterator[PatternSource]:
    one = pattern_name(entity.name)
    parts = [entity.hash, *([entity.range] if entity.range else [])]
    names = [name for part in parts for name in fields_of(part)]
    yield PatternSource(
        one, f"Get one {entity.name}", _arguments(entity, names), f"{entity.name} | None"
    )
    hashes = fields_of(entity.hash)
    arguments = _hash_arguments(entity, entity.hash)
    if entity.range is not None and (set(hashes) < set(names) or _period(entity.hash)):
        yield PatternSource(
            f"{field_name(entity.name)}_items",
            f"Get the {entity.name} items of a partition",
            arguments,
            f"st.Query[{entity.name}]",
        )


def _by_indexes(
    entity: EntitySource, entities: Sequence[EntitySource], views: list[ViewSource]
) -> Iterator[PatternSource]:
    for index in entity.indexes:
        arguments = _hash_arguments(entity, entity.hash if index.hash is None else index.hash)
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
            f"{entity.name}.{index.declared_as}" if index.when else "",
        )


def _held(entity: EntitySource, index: IndexSource) -> list[FieldSource]:
    """The fields in an index: those of its key and of the table's key, and the projected fields."""
    parts = [entity.hash, entity.range, index.hash, index.range]
    names = [name for part in parts if part is not None for name in fields_of(part)]
    names += index.project if isinstance(index.project, tuple) else ()
    return [entity.field(name) for name in dict.fromkeys(names)]


def fields_of(part: Part) -> list[str]:
    """The fields of a key's part, each once, without shard numbers such as {id|shard:10}."""
    return list(dict.fromkeys([*(name for name, _ in _placeholders(part)), *part.fields]))


def _placeholders(part: Part) -> Iterator[tuple[str, str]]:
    """(field, format) of each placeholder in a key's part, without shard numbers."""
    for _, name, spec, _ in Formatter().parse(part.template):
        if name is not None and "|" not in name:
            yield name, spec or ""


_PERIODS = {"%Y-%m": "st.Month", "%Y-%m-%d": "st.Day", "%Y-%m-%dT%H": "st.Hour"}
"""Maps the formats of a whole month, day or hour to the type of a pattern's argument."""


def _period(part: Part) -> dict[str, str]:
    """The argument types of the fields of which `part` shows only a month, a day or an hour."""
    return {name: _PERIODS[spec] for name, spec in _placeholders(part) if spec in _PERIODS}


def _hash_arguments(entity: EntitySource, part: Part) -> list[tuple[str, str]]:
    """The arguments of a query: the fields of the partition key."""
    periods = _period(part)
    fitting = {n: a for n, a in periods.items() if entity.field(n).annotation == "datetime"
               or a == "st.Month"}  # fmt: skip
    return [(n, fitting.get(n, a)) for n, a in _arguments(entity, fields_of(part))]


def _arguments(entity: EntitySource, names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, entity.field(name).annotation) for name in dict.fromkeys(names)]
