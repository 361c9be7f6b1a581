"""TypeScript that reads a table with the library ElectroDB.

Writes are left out on purpose: they would bypass unique texts, copies and versions. ElectroDB's
entities use the key attributes as they are stored, so they can read items that the toolkit wrote.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.schema import Source
from hashrange.design.declare.table_model import TableModel
from hashrange.design.exchange.electrodb_keys import Refusal, quoted
from hashrange.design.exchange.electrodb_patterns import PatternWriter
from hashrange.design.exchange.electrodb_runtime import RUNTIME
from hashrange.design.source.exported import Exported
from hashrange.design.table import Table

HEAD = """// Reads what hashrange.design wrote. Generated: change the model and export it again.
// Write with the toolkit: writes from here would bypass unique texts, copies and versions.
"""
_TYPES = {"S": "string", "N": "number", "BOOL": "boolean", "B": "Uint8Array"}
_MEMBERS = {"SS": "string", "NS": "number", "BS": "Uint8Array"}


def export(tables: Sequence[Table]) -> Exported:
    """TypeScript with a function for each table, which returns the patterns as methods."""
    warnings: list[str] = []
    pieces = [HEAD, RUNTIME.lstrip()]
    for table in tables:
        pieces.append("\n".join(_table(table, warnings)))
    return Exported("".join(pieces), tuple(warnings))


def _table(table: Table, warnings: list[str]) -> Iterator[str]:
    model, name = table.model, _pascal(table.name)
    yield f"\n// ---- the table {table.name} ----\n"
    for entity in model.entities:
        yield from _interface(name, entity)
    items = " ".join(f"{entity}: {name}{entity};" for entity in model.entities)
    yield "/** The items by the name of their entity. */"
    yield f"export interface {name}Items {{ {items} }}\n"
    yield f"export function open{name}(client: DynamoDBClient, table = {quoted(table.name)}) {{"
    for entity in model.entities:
        yield from _entity(model, name, entity)
    makers = "".join(
        f"\n    {quoted(entity.name)}: (raw) => entity{entity}.parse({{ Item: raw as any }}, "
        "{ ignoreOwnership: true }).data,"
        for entity in model.entities
    )
    entities = ", ".join(f"{entity}: entity{entity}" for entity in model.entities)
    yield f"  const makers: Makers = {{{makers}\n  }};"
    type_attribute = "null" if model.type_attribute is None else quoted(model.type_attribute)
    hides = quoted(model.ttl_attribute) if model.hide_expired and model.ttl_attribute else "null"
    yield f"  const HIDES: string | null = {hides};"
    yield "  const reads = <T>(raws: Item[], ...wanted: string[]): T[] =>"
    yield f"    read<T>(living(raws, HIDES), wanted, makers, {type_attribute});"
    yield f"  const entities = {{ {entities} }};"
    yield "  return {\n    entities,"
    for pattern, method in _methods(table):
        try:
            if method == "entities":
                raise Refusal("the exported object already has a member of this name")
            yield PatternWriter(model, name, pattern, method).text()
        except Refusal as reason:
            warnings.append(f"{table.name}: {pattern} is left out: {reason}")
    yield "  };\n}\n"


def _methods(table: Table) -> Iterator[tuple[Pattern, str]]:
    """Each pattern with the name of its method."""
    patterns = [p for patterns in table.patterns.values() for p in patterns]
    names = [pattern.name for pattern in patterns]
    for pattern in patterns:
        twice = names.count(pattern.name) > 1
        yield pattern, f"{pattern.owner.__name__}_{pattern.name}" if twice else pattern.name


def _pascal(name: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in name).split()
    pascal = "".join(word[0].upper() + word[1:] for word in words)
    return f"Table{pascal}" if pascal[:1].isdigit() or not pascal else pascal


def _interface(table: str, entity: Entity) -> Iterator[str]:
    yield f"export interface {table}{entity} {{"
    for field, kind in entity.fields.items():
        shown: str
        if kind.choices:
            shown = " | ".join(quoted(choice) for choice in kind.choices)
        elif kind.tag in _MEMBERS:
            shown = f"{_MEMBERS[kind.tag]}[]"
        else:
            shown = _TYPES.get(kind.tag, "unknown")
        absent = "?" if kind.optional or kind.tag in _MEMBERS else ""
        yield f"  {quoted(entity.attributes[field])}{absent}: {shown};"
    yield "}\n"


def _entity(model: TableModel, table: str, entity: Entity) -> Iterator[str]:
    attributes: dict[str, str] = {}
    for field, kind in entity.fields.items():
        if kind.tag in ("SS", "NS"):
            attributes[entity.attributes[field]] = f'type: "set", items: "{_MEMBERS[kind.tag]}"'
        else:
            known = kind.tag in ("S", "N", "BOOL")
            attributes[entity.attributes[field]] = f'type: "{_TYPES[kind.tag] if known else "any"}"'
    keys = [entity.key, *entity.indexes]
    sources = [key.source for key in keys]
    sources += [model.by_type] if model.by_type is not None else []
    for column in (column for key in keys for column in key.columns):
        shown = "string" if column.tag == "S" else "number"
        attributes.setdefault(column.attribute, f'type: "{shown}", hidden: true')
    if model.type_attribute is not None:
        attributes.setdefault(model.type_attribute, 'type: "string", hidden: true')
    yield f"  const entity{entity} = new Entity(\n    {{"
    service = quoted(table)
    yield f'      model: {{ entity: {quoted(entity.name)}, version: "1", service: {service} }},'
    yield "      attributes: {"
    for name, described in attributes.items():
        yield f"        {quoted(name)}: {{ {described} }},"
    yield "      },\n      indexes: {"
    for source in sources:
        if len(source.hash) == 1 and len(source.range) <= 1:
            yield f"        {_index(source)},"
    yield "      },\n    },\n    { client, table },\n  );"


def _index(source: Source) -> str:
    """The declaration of an index in ElectroDB, which also calls the table's key an index.

    Its composites are the key attributes themselves, so that ElectroDB does not build keys.
    """
    columns = [("pk", source.hash), ("sk", source.range)]
    parts: dict[str, Any] = {} if source.name is None else {"index": quoted(source.name)}
    for part, members in columns:
        for column in members:
            field = quoted(column.attribute)
            parts[part] = f'{{ field: {field}, composite: [{field}], casing: "none" }}'
    return f"{quoted(index_name(source))}: {_object(parts)}"


def index_name(source: Source) -> str:
    return source.name or "primary"


def _object(members: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{name}: {value}' for name, value in members.items())} }}"
