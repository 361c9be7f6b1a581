"""A model of a table whose items are unknown: one entity, whose fields are the key attributes."""

from collections.abc import Mapping

from hashrange.design.declare.schema import Column, Source
from hashrange.design.source.model_source import (
    EntitySource,
    FieldSource,
    IndexSource,
    Part,
    TableSource,
    class_name,
    distinct,
    field_name,
    index_field_name,
)
from hashrange.design.source.served_patterns import served_patterns
from hashrange.design.source.table_shape import TableShape

PYTHON = {
    "S": "str", "N": "Decimal", "B": "bytes", "BOOL": "bool", "SS": "set[str]",
    "NS": "set[Decimal]", "BS": "set[bytes]", "L": "list[Any]", "M": "dict[str, Any]",
}  # fmt: skip


def bare_table(shape: TableShape, types: Mapping[str, str] | None = None) -> TableSource:
    """A table with one entity, whose fields are the key attributes and the projected attributes.

    Only the fields for the table's own key are required. `types` has the DynamoDB types of other
    known attributes, which become fields too.
    """
    names: dict[str, str] = {}
    fields = []
    required = {column.attribute for column in shape.table.columns}
    columns = dict.fromkeys(column for source in shape.sources for column in source.columns)
    projected = [a for s in shape.indexes if not isinstance(s.project, str) for a in s.project]
    others = dict.fromkeys(projected, "") | dict(types or {})
    for column in [*columns, *(Column(attribute, tag) for attribute, tag in others.items())]:
        if column.attribute in names:
            continue
        name = distinct(field_name(column.attribute), names.values())
        names[column.attribute] = name
        annotation = PYTHON.get(column.tag, "Any")
        if column.attribute == shape.ttl_attribute:
            annotation = "st.TTL"
        fields.append(
            FieldSource(name, annotation, column.attribute, column.attribute not in required)
        )
    if shape.ttl_attribute is not None and shape.ttl_attribute not in names:
        name = distinct(field_name(shape.ttl_attribute), names.values())
        fields.append(FieldSource(name, "st.TTL", shape.ttl_attribute, True))
    entity = EntitySource(
        class_name(shape.name, "Table"),
        _part(shape.table.hash, names),
        _part(shape.table.range, names) if shape.table.range else None,
        fields,
        comments=["Only the keys of this table are known: add its entities and their fields."],
    )
    declared = {*names.values()}
    for source in shape.indexes:
        name = distinct(index_field_name(source.name or ""), declared)
        declared.add(name)
        entity.indexes.append(_index(name, source, names))
    patterns, views = served_patterns([entity])
    return TableSource(shape.name, [entity], patterns, views, stream=shape.stream)


def _index(declared_as: str, source: Source, names: dict[str, str]) -> IndexSource:
    project = source.project
    return IndexSource(
        declared_as,
        source.name or "",
        None if source.kind == "LSI" else _part(source.hash, names),
        _part(source.range, names) if source.range else None,
        project if isinstance(project, str) else tuple(names[a] for a in project),
    )


def _part(columns: tuple[Column, ...], names: dict[str, str]) -> Part:
    return Part(fields=tuple(names[column.attribute] for column in columns))
