"""A model as JSON, with everything that it declares, for programs that do not read Python."""

import json
from collections.abc import Sequence
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.item import Index, declarations
from hashrange.design.declare.schema import EntityKey, Source
from hashrange.design.declare.types import FieldType
from hashrange.design.source.exported import Exported
from hashrange.design.table import Table
from hashrange.design.tools.create import vector_request

Json = dict[str, Any]


def export(tables: Sequence[Table]) -> Exported:
    document = {"tables": [_table(table) for table in tables]}
    return Exported(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _table(table: Table) -> Json:
    model = table.model
    return {
        "name": model.name,
        "key": _source(model.table)["key"],
        "typeAttribute": model.type_attribute,
        "timeToLiveAttribute": model.ttl_attribute,
        "stream": model.stream,
        "pointInTimeRecovery": table.recovery,
        "backups": table.backups,
        "indexes": [_source(source) for source in model.indexes],
        "vectorIndexes": [vector_request(index) for index in model.vectors],
        "entities": [_entity(entity) for entity in model.entities],
        "patterns": json.loads(table.plan().json())["patterns"],
    }


def _source(source: Source) -> Json:
    described: Json = {
        "key": [
            {"attribute": column.attribute, "type": column.tag, "keyType": kind}
            for columns, kind in ((source.hash, "HASH"), (source.range, "RANGE"))
            for column in columns
        ]
    }
    if source.name is None:
        return described
    project = source.project if isinstance(source.project, str) else list(source.project)
    return {"name": source.name, "kind": source.kind, **described, "projection": project}


def _entity(entity: Entity) -> Json:
    described: Json = {
        "name": str(entity),
        "storedType": entity.name,
        "key": _templates(entity.key),
        "indexes": {key.source.name: _index(entity, key) for key in entity.indexes},
        "fields": {name: _field(entity, name, kind) for name, kind in entity.fields.items()},
    }
    if entity.unique:
        described["unique"] = {
            u.name: {"template": str(u.template), "namespace": u.namespace} for u in entity.unique
        }
    if entity.copies:
        described["copies"] = {
            name: {"owner": copy.owner.__name__, "field": copy.field, "sync": copy.sync}
            for name, copy in entity.copies.items()
        }
    return described


def _templates(key: EntityKey) -> Json:
    return {column.attribute: str(column.template) for column in key.columns}


def _index(entity: Entity, key: EntityKey) -> Json:
    described: Json = {"key": _templates(key)}
    declared = declarations(entity.model)[key.declared_as]
    if isinstance(declared, Index) and declared.when is not None:
        described |= {"when": declared.when, "values": declared.values}
    return described


def _field(entity: Entity, name: str, kind: FieldType) -> Json:
    described: Json = {
        "attribute": entity.attributes[name],
        "type": kind.tag or None,
        "optional": kind.optional,
    }
    if kind.choices:
        described["choices"] = list(kind.choices)
    if kind.expires:
        described["timeToLive"] = True
    return described
