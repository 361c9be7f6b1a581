"""JSON Schema (draft 2020-12) of a table's items, for programs in other languages.

An item is in the plain form that document clients of the AWS SDKs use: numbers as numbers, sets as
arrays, binary values as base64 texts.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from hashrange.design.declare.absent import STORED, absent_value
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.schema import EntityKey, KeyColumn
from hashrange.design.exchange.omissions import omissions
from hashrange.design.source.exported import Exported
from hashrange.design.table import Table

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMAT = "JSON Schema"
BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")
Json = dict[str, Any]


def export(tables: Sequence[Table]) -> Exported:
    """A schema for any item of the tables, with a definition `table.Entity` for each entity."""
    definitions: Json = {}
    warnings: list[str] = []
    names = []
    for table in tables:
        warnings += omissions(table, FORMAT, entities=True, vectors=True)
        for entity in table.model.entities:
            names.append(f"{table.name}.{entity}")
            definitions[names[-1]] = _Definition(table, entity, definitions, warnings).schema()
    document = {
        "$schema": DIALECT,
        "title": ", ".join(table.name for table in tables),
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in names],
        "$defs": definitions,
    }
    return Exported(json.dumps(document, indent=2, ensure_ascii=False) + "\n", tuple(warnings))


class _Stored(GenerateJsonSchema):
    """Pydantic's generator, changed to describe decimals as numbers and bytes as base64 texts."""

    def decimal_schema(self, schema: Any) -> JsonSchemaValue:
        return {
            "type": "number",
            **{name: float(schema[fact]) for fact, name in BOUNDS.items() if fact in schema},
        }

    def bytes_schema(self, schema: Any) -> JsonSchemaValue:
        return {"type": "string", "contentEncoding": "base64"}


class _Definition:
    """Makes the schema of one entity, and adds nested models to `definitions`."""

    def __init__(
        self, table: Table, entity: Entity, definitions: Json, warnings: list[str]
    ) -> None:
        self.table, self.entity = table, entity
        self.definitions, self.warnings = definitions, warnings

    def schema(self) -> Json:
        entity, properties = self.entity, dict[str, Json]()
        required = []
        for name, kind in entity.fields.items():
            attribute = entity.attributes[name]
            properties[attribute] = self._field(name)
            if absent_value(kind) is STORED:
                required.append(attribute)
        for column in _computed(entity.key):
            properties[column.attribute] = _text(column)
            required.append(column.attribute)
        for key in entity.indexes:
            for column in _computed(key):
                properties[column.attribute] = _text(column)
                if key.when is None and self._always(key):
                    required.append(column.attribute)
        if entity.type_attribute is not None:
            properties[entity.type_attribute] = {"const": entity.name}
            required.append(entity.type_attribute)
        for attribute, constant in entity.shapes.constants.items():
            properties[attribute] = {"const": int(constant["N"])} if "N" in constant else {}
        return {
            "title": str(entity),
            "type": "object",
            "properties": properties,
            "required": list(dict.fromkeys(required)),
        }

    def _always(self, key: EntityKey) -> bool:
        return not any(self.entity.fields[name].optional for name in key.fields)

    def _field(self, name: str) -> Json:
        kind, info = self.entity.fields[name], self.entity.info(name)
        if kind.expires:
            return {"type": "integer", "description": "seconds since 1970"}
        if kind.vector is not None:
            most = kind.vector.dimensions
            numbers = {"type": "number"}
            return {"type": "array", "items": numbers, "minItems": most, "maxItems": most}
        annotation: Any = info.annotation
        if info.metadata:
            annotation = Annotated[(info.annotation, *info.metadata)]
        prefix = f"{self.table.name}.{self.entity}.{name}."
        try:
            schema = TypeAdapter(annotation).json_schema(
                schema_generator=_Stored, ref_template=f"#/$defs/{prefix}{{model}}"
            )
        except PydanticInvalidForJsonSchema:
            self.warnings.append(
                f"{self.table.name}: {FORMAT} has no type for {self.entity}.{name}"
            )
            return {}
        for model, nested in schema.pop("$defs", {}).items():
            self.definitions[prefix + model] = nested
        return _without_null(schema) if kind.optional else schema


def _without_null(schema: Json) -> Json:
    """The schema without null, because None is stored as an absent attribute."""
    others = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if not others:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}


def _computed(key: EntityKey) -> Iterator[KeyColumn]:
    return (column for column in key.columns if column.natural is None)


def _text(column: KeyColumn) -> Json:
    """The schema of a key attribute. Its regular expression means the same in all languages."""
    pieces = [
        _SPECIAL.sub(r"\\\g<0>", part)
        if isinstance(part, str)
        else "[0-9]+"
        if part.shards
        else "[\\s\\S]+"
        for part in column.template.parts
    ]
    return {
        "type": "string",
        "pattern": f"^{''.join(pieces)}$",
        "description": str(column.template),
    }
