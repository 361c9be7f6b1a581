"""Reading NoSQL Workbench model files: facets are entities, and their templates come from items.

A facet's aliases are free text, so they become templates only if they produce the keys of the
facet's items. Some items of a file may belong to no facet.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hashrange.design.exchange.workbench import FORMAT
from hashrange.design.inference.grouping import Group, Groups, group, type_attribute
from hashrange.design.inference.infer import infer_items
from hashrange.design.source.bare_model import bare_table
from hashrange.design.source.exported import ExchangeError, Exported
from hashrange.design.source.model_source import TableSource, write
from hashrange.design.source.table_shape import TableShape, shape_of
from hashrange.model.values import Item

UNDERSTOOD = {
    "BillingMode", "DataAccess", "GlobalSecondaryIndexes", "KeyAttributes", "NonKeyAttributes",
    "ProvisionedCapacitySettings", "SampleDataFormats", "TableData", "TableFacets", "TableName",
}  # fmt: skip
"""The members of a table that need no warning: they are read, or are not part of the model."""
Json = dict[str, Any]


def read(document: str) -> Exported:
    """The Python source of the model. Raises ExchangeError if the document is something else."""
    try:
        model = json.loads(document)
    except ValueError as error:
        raise ExchangeError(f"it is not JSON ({error})") from None
    tables = model.get("DataModel") if isinstance(model, dict) else None
    if not isinstance(tables, list) or not tables:
        raise ExchangeError(f"it is not a {FORMAT} model: it has no DataModel with tables")
    try:
        sources = [_table(table) for table in tables]
    except (KeyError, TypeError, AttributeError, StopIteration, ValueError) as error:
        raise ExchangeError(f"it is not a {FORMAT} model: {error!r} in a table") from None
    _distinct_classes(sources)
    name = model.get("ModelName", "a model")
    warnings = [line for table in tables for line in _left_out(table)]
    return Exported(write(sources, f"The model {name}, from {FORMAT}."), tuple(warnings))


def _left_out(table: Json) -> Iterator[str]:
    for member in table:
        if member not in UNDERSTOOD:
            yield f"{table['TableName']}: {member} is not understood, so it is left out"


def _distinct_classes(tables: list[TableSource]) -> None:
    """Raise ExchangeError if entities of two tables have the same name.

    Both would become classes of the same module.
    """
    seen: set[str] = set()
    for table in tables:
        for entity in table.entities:
            if entity.name in seen:
                raise ExchangeError(f"two tables have an entity {entity.name}: rename a facet")
            seen.add(entity.name)


def _table(table: Json) -> TableSource:
    shape = shape_of(str(table["TableName"]), described_table(table))
    groups = _groups(shape, table)
    count = sum(len(members.items) for members in groups.groups)
    if not count:
        types = {a["AttributeName"]: a["AttributeType"] for a in table.get("NonKeyAttributes", [])}
        return bare_table(shape, types)
    return infer_items(shape, groups, count).table


# ---- keys and indexes ----


def described_table(table: Json) -> Json:
    """The keys and global indexes of a table in a model file, as parameters of CreateTable."""
    tags = {a["AttributeName"]: a["AttributeType"] for a in table.get("NonKeyAttributes") or []}
    indexes = table.get("GlobalSecondaryIndexes") or []
    for keys in (table["KeyAttributes"], *(index["KeyAttributes"] for index in indexes)):
        tags |= {column["AttributeName"]: column["AttributeType"] for column in keys.values()}
    return {
        "TableName": table["TableName"],
        "KeySchema": _schema(table["KeyAttributes"]),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": tag} for name, tag in tags.items()
        ],
        "GlobalSecondaryIndexes": [_index(index) for index in indexes],
    }


def _schema(keys: Mapping[str, Any]) -> list[Json]:
    kinds = (("PartitionKey", "HASH"), ("SortKey", "RANGE"))
    return [
        {"AttributeName": keys[member]["AttributeName"], "KeyType": kind}
        for member, kind in kinds
        if keys.get(member)
    ]


def _index(index: Json) -> Json:
    """The index, with key attributes removed from its projection, where some files list them."""
    schema = _schema(index["KeyAttributes"])
    projection: Json = dict(index.get("Projection") or {"ProjectionType": "ALL"})
    if "NonKeyAttributes" in projection:
        names = [key["AttributeName"] for key in schema]
        projection["NonKeyAttributes"] = [
            name for name in projection["NonKeyAttributes"] if name not in names
        ]
    return {"IndexName": index["IndexName"], "KeySchema": schema, "Projection": projection}


# ---- items ----


def _groups(shape: TableShape, table: Json) -> Groups:
    """Sort the items into groups: by type, or else by facet, or else by the form of their keys.

    An item that several facets contain is taken once.
    """
    seen: set[str] = set()
    facets = []
    for facet in table.get("TableFacets") or []:
        items = [*_items(shape, facet.get("TableData") or [], seen)]
        if items:
            facets.append(
                Group(items, name=str(facet["FacetName"]), templates=_aliases(shape, facet))
            )
    rest = [*_items(shape, table.get("TableData") or [], seen)]
    everything = [item for facet in facets for item in facet.items] + rest
    attribute = type_attribute(shape, everything)
    if attribute is None and facets:
        return Groups(None, facets, foreign=rest)
    groups = group(shape, everything)
    for members in groups.groups:
        first = id(members.items[0])
        for facet in facets:
            if any(id(item) == first for item in facet.items):
                members.templates = facet.templates
    return groups


def _items(shape: TableShape, data: list[Json], seen: set[str]) -> Iterator[Item]:
    for raw in data:
        item: Item = {
            name: value
            for name, value in raw.items()
            if isinstance(value, dict) and len(value) == 1
        }
        key = [item.get(column.attribute) for column in shape.table.columns]
        text = json.dumps(key, sort_keys=True)
        if None not in key and text not in seen:
            seen.add(text)
            yield item


def _aliases(shape: TableShape, facet: Json) -> dict[str, str]:
    alias = facet.get("KeyAttributeAlias") or {}
    members = ("PartitionKeyAlias", "SortKeyAlias")
    return {
        column.attribute: str(alias[member])
        for column, member in zip(shape.table.columns, members, strict=False)
        if alias.get(member)
    }
