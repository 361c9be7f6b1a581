"""NoSQL Workbench model files (version 3.0): tables, global indexes, entities as facets, items."""

import json
from collections.abc import Sequence
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Item
from hashrange.design.declare.schema import Column, Source
from hashrange.design.exchange.omissions import omissions
from hashrange.design.source.exported import Exported
from hashrange.design.table import Table
from hashrange.design.tools.sample_items import sample_items
from hashrange.model.values import Item as WireItem

FORMAT = "NoSQL Workbench"
VERSION = "3.0"
DATE = "Jan 01, 2026, 12:00 AM"
"""The date in every file. It is constant, so that two exports of one model are the same."""
ACCESS: dict[str, Any] = {"MySql": {}}
UNTYPED = "S"
Json = dict[str, Any]


def export(tables: Sequence[Table]) -> Exported:
    """A model file with generated items. Its description lists the access patterns."""
    taken: set[str] = set()
    models = [_TableFile(table, taken).table_json() for table in tables]
    document = {
        "ModelName": tables[0].name,
        "ModelMetadata": {
            "Author": "",
            "DateCreated": DATE,
            "DateLastModified": DATE,
            "Description": "\n\n".join(table.plan().markdown() for table in tables),
            "AWSService": "Amazon DynamoDB",
            "Version": VERSION,
        },
        "DataModel": models,
    }
    warnings = [line for table in tables for line in _warnings(table)]
    return Exported(json.dumps(document, indent=2, ensure_ascii=False) + "\n", tuple(warnings))


def _warnings(table: Table) -> list[str]:
    lines = [*omissions(table, FORMAT, entities=True, vectors=True)]
    for source in table.model.indexes:
        if source.kind == "LSI":
            lines.append(f"{table.name}: {FORMAT} has no local indexes: {source.name} is left out")
        elif not _fits(source):
            lines.append(
                f"{table.name}: {FORMAT} has no keys of several attributes: {source.name} is "
                "left out"
            )
    declared = (("streams", table.model.stream), ("point-in-time recovery", table.recovery))
    lines += [f"{table.name}: {FORMAT} has no {name}" for name, there in declared if there]
    if table.model.ttl_attribute is not None:
        lines.append(
            f"{table.name}: {FORMAT} has no time to live: {table.model.ttl_attribute} is an "
            "ordinary attribute"
        )
    return lines


def _fits(source: Source) -> bool:
    return source.kind == "GSI" and len(source.hash) == 1 and len(source.range) <= 1


class _TableFile:
    def __init__(self, table: Table, taken: set[str]) -> None:
        self.table = table
        self.model = table.model
        self.taken = taken
        """The names of the facets of all tables in the file."""
        self.items: dict[type[Item], list[WireItem]] = {}
        for raw in sample_items(table):
            item = table.load(raw)
            if item is not None:
                self.items.setdefault(type(item), []).append(raw)

    def table_json(self) -> Json:
        indexes = [_index(source) for source in self.model.indexes if _fits(source)]
        types = self._types()
        described: Json = {
            "TableName": self.model.name,
            "KeyAttributes": _key(self.model.table),
            "NonKeyAttributes": [
                {"AttributeName": name, "AttributeType": tag} for name, tag in types.items()
            ],
            "TableFacets": [self._facet(entity, types) for entity in self.model.entities],
        }
        if indexes:
            described["GlobalSecondaryIndexes"] = indexes
        return described | {"DataAccess": ACCESS, "BillingMode": "PAY_PER_REQUEST"}

    def _types(self) -> dict[str, str]:
        """Every attribute outside the table's key, with its type."""
        tags = {c.attribute: c.tag for s in self.model.indexes for c in s.columns}
        for entity in self.model.entities:
            for name, kind in entity.fields.items():
                if kind.tag:
                    tags.setdefault(entity.attributes[name], kind.tag)
            for raw in self.items.get(entity.model, []):
                for attribute, value in raw.items():
                    tags.setdefault(attribute, next(iter(value)))
            for attribute in entity.attributes.values():
                tags.setdefault(attribute, UNTYPED)
        keys = {column.attribute for column in self.model.table.columns}
        return {name: tag for name, tag in tags.items() if name not in keys}

    def _facet(self, entity: Entity, types: Json) -> Json:
        alias = {"PartitionKeyAlias": str(entity.key.hash[0].template)}
        for column in entity.key.range:
            alias["SortKeyAlias"] = str(column.template)
        name = str(entity)
        if name in self.taken:
            name = f"{self.model.name}-{name}"
        self.taken.add(name)
        attributes = [*entity.attributes.values(), *sorted(entity.computed_attributes)]
        attributes += [] if entity.type_attribute is None else [entity.type_attribute]
        return {
            "FacetName": name,
            "KeyAttributeAlias": alias,
            "TableData": self.items.get(entity.model, []),
            "NonKeyAttributes": [name for name in dict.fromkeys(attributes) if name in types],
            "DataAccess": ACCESS,
        }


def _key(source: Source) -> Json:
    key = {"PartitionKey": _column(source.hash[0])}
    for column in source.range:
        key["SortKey"] = _column(column)
    return key


def _column(column: Column) -> Json:
    return {"AttributeName": column.attribute, "AttributeType": column.tag}


def _index(source: Source) -> Json:
    projection: Json = {"ProjectionType": source.project}
    if not isinstance(source.project, str):
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(source.project)}
    return {
        "IndexName": source.name,
        "KeyAttributes": _key(source),
        "Projection": projection,
    }
