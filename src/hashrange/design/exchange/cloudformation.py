"""CloudFormation templates in JSON: a resource for each table, and updates that change its indexes.

An update of a stack can create or delete only one global index of a table, while a new table can
have all of them. So a change of several indexes takes a sequence of templates. `next_update` makes
the next template from the deployed one.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.design.exchange.omissions import omissions
from hashrange.design.source.exported import ExchangeError, Exported
from hashrange.design.table import Table
from hashrange.design.tools.create import request
from hashrange.design.tools.rules.rule import counted

TABLE_TYPE = "AWS::DynamoDB::Table"
FORMAT = "CloudFormation"
KEPT = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
"""The policies that keep a table if its stack is removed or a new key makes a new table."""
RECOVERY = "PointInTimeRecoverySpecification"
UNDERSTOOD = {
    "AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexes", "KeySchema",
    "LocalSecondaryIndexes", RECOVERY, "StreamSpecification", "TableName",
    "TimeToLiveSpecification",
}  # fmt: skip
"""The properties of a table that a model can express."""
Json = dict[str, Any]


def export(tables: Sequence[Table]) -> Exported:
    """A template that creates the tables with all of their indexes."""
    resources: Json = {}
    for table in tables:
        resources[_logical_id(table.name, resources)] = _resource(table)
    names = ", ".join(table.name for table in tables)
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"DynamoDB tables: {names}",
        "Resources": resources,
    }
    warnings = [line for table in tables for line in omissions(table, FORMAT)]
    return Exported(text(template), tuple(warnings))


def text(template: Json) -> str:
    return json.dumps(template, indent=2, ensure_ascii=False) + "\n"


def _logical_id(name: str, taken: Mapping[str, Any]) -> str:
    words = [word[0].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    wanted = f"{''.join(words)}Table"
    numbers = ("", *map(str, range(2, 100)))
    return next(wanted + number for number in numbers if wanted + number not in taken)


def _resource(table: Table) -> Json:
    properties = request(table.model)
    properties["AttributeDefinitions"].sort(key=lambda d: d["AttributeName"])
    if "StreamSpecification" in properties:
        view = properties["StreamSpecification"]["StreamViewType"]
        properties["StreamSpecification"] = {"StreamViewType": view}
    if table.recovery:
        properties[RECOVERY] = {"PointInTimeRecoveryEnabled": True}
    if table.model.ttl_attribute is not None:
        properties["TimeToLiveSpecification"] = {
            "AttributeName": table.model.ttl_attribute,
            "Enabled": True,
        }
    return {"Type": TABLE_TYPE, **KEPT, "Properties": properties}


# ---- one index for each update ----


def next_update(tables: Sequence[Table], deployed: str) -> Exported:
    """The next template to deploy after `deployed`. It adds or drops one index of each table.

    The last warning says what the update does and how many updates follow. Everything in the
    deployed template that the model does not describe stays. Raises ExchangeError if the deployed
    template has none of the tables, or if an update would have to replace a table.
    """
    template = parse(deployed)
    left = 0
    lines: list[str] = []
    resources = template["Resources"]
    if all(_find(resources, table.name) is None for table in tables):
        names = ", ".join(table.name for table in tables)
        raise ExchangeError(f"the deployed template is of other tables: it has none of {names}")
    for table in tables:
        wanted = _resource(table)
        name = _find(resources, table.name)
        if name is None:
            name = _logical_id(table.name, resources)
            resources[name] = wanted
            lines.append(f"creates the table {table.name}")
            left = max(left, 1)
            continue
        changes, merged = _update(table.name, resources[name]["Properties"], wanted["Properties"])
        resources[name] = {**resources[name], "Properties": merged}
        lines += changes[:1]
        left = max(left, len(changes))
    if left:
        more = (
            f"; {counted(left - 1, 'more update')} must follow: deploy this one, then export again"
            if left > 1
            else ""
        )
        lines = [f"this update {' and '.join(lines)}{more}"]
    else:
        lines = ["every index is deployed"]
    return Exported(text(template), tuple(lines))


def _find(resources: Json, table: str) -> str | None:
    for name, resource in resources.items():
        properties = resource.get("Properties", {}) if isinstance(resource, dict) else {}
        if resource.get("Type") == TABLE_TYPE and properties.get("TableName") == table:
            return str(name)
    return None


def _update(table: str, there: Json, wanted: Json) -> tuple[list[str], Json]:
    """(changes from the deployed table `there` to `wanted`, table after the first change)."""
    _expect_same_table(table, there, wanted)
    has = {index["IndexName"]: index for index in there.get("GlobalSecondaryIndexes", [])}
    needs = {index["IndexName"]: index for index in wanted.get("GlobalSecondaryIndexes", [])}
    added = [name for name in needs if name not in has]
    changed = [n for n in needs if n in has and _shape(needs[n]) != _shape(has[n])]
    dropped = [name for name in has if name not in needs]
    changes = [f"adds {name}" for name in added]
    for name in changed:
        changes += [f"drops {name}, whose key or projection changes", f"adds {name} again"]
    changes += [f"drops {name}" for name in dropped]
    after = dict(has)
    if added:
        after[added[0]] = needs[added[0]]
    elif changed or dropped:
        del after[(changed + dropped)[0]]
    merged = {**there, **{n: v for n, v in wanted.items() if n != "GlobalSecondaryIndexes"}}
    merged["GlobalSecondaryIndexes"] = list(after.values())
    if not after:
        del merged["GlobalSecondaryIndexes"]
    merged["AttributeDefinitions"] = _definitions(merged, wanted, there)
    return changes, merged


def _expect_same_table(table: str, there: Json, wanted: Json) -> None:
    if _types(there, there["KeySchema"]) != _types(wanted, wanted["KeySchema"]):
        raise ExchangeError(
            f"{table}: the key of the deployed table differs, and CloudFormation would replace the "
            "table with an empty one: create a table of another name and copy the items"
        )
    local = "LocalSecondaryIndexes"
    has = sorted(_shape(index) for index in there.get(local, []))
    if has != sorted(_shape(index) for index in wanted.get(local, [])):
        raise ExchangeError(
            f"{table}: the local indexes of the deployed table differ, and they cannot be changed "
            "after a table is created"
        )


def _types(properties: Json, schema: Sequence[Json]) -> list[tuple[str, str, str]]:
    tags = {d["AttributeName"]: d["AttributeType"] for d in properties["AttributeDefinitions"]}
    return [(k["AttributeName"], k["KeyType"], tags.get(k["AttributeName"], "")) for k in schema]


def _shape(index: Json) -> str:
    """The parts of an index that cannot be changed."""
    projection = index["Projection"]
    return json.dumps(
        [
            index["IndexName"],
            [(key["AttributeName"], key["KeyType"]) for key in index["KeySchema"]],
            projection["ProjectionType"],
            sorted(projection.get("NonKeyAttributes", [])),
        ]
    )


def _definitions(properties: Json, *known: Json) -> list[Json]:
    """The definitions in `known` of all attributes in keys.

    CloudFormation refuses a definition of any other attribute.
    """
    types = {
        d["AttributeName"]: d for source in reversed(known) for d in source["AttributeDefinitions"]
    }
    members = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    indexes = [index for member in members for index in properties.get(member, [])]
    schemas = [properties["KeySchema"], *(index["KeySchema"] for index in indexes)]
    schemas += [index.get("SearchSchema", []) for index in properties.get("VectorIndexes", [])]
    names = {key["AttributeName"] for schema in schemas for key in schema}
    return [types[name] for name in sorted(names)]


# ---- reading ----


def parse(document: str) -> Json:
    """A template with resources. Raises ExchangeError."""
    try:
        template = json.loads(document)
    except ValueError as error:
        raise ExchangeError(f"it is not JSON ({error})") from None
    resources = template.get("Resources") if isinstance(template, dict) else None
    if not isinstance(resources, dict):
        raise ExchangeError("it is not a CloudFormation template: it has no Resources")
    return dict(template)


def table_resources(template: Json) -> dict[str, Json]:
    """The properties of each table, by the table's name.

    The name is the TableName, or the default of the parameter that it refers to, or else the name
    of the resource. Raises ExchangeError if there is no table, or if a table has no KeySchema or
    AttributeDefinitions.
    """
    tables = {}
    for logical_id, resource in template["Resources"].items():
        kind = resource.get("Type") if isinstance(resource, dict) else None
        if kind not in (TABLE_TYPE, "AWS::DynamoDB::GlobalTable"):
            continue
        properties = resource.get("Properties", {})
        for member in ("KeySchema", "AttributeDefinitions"):
            if not isinstance(properties.get(member), list):
                raise ExchangeError(f"the table {logical_id} has no list of {member}")
        tables[_name(template, logical_id, properties)] = properties
    if not tables:
        raise ExchangeError("it has no table: no resource is an AWS::DynamoDB::Table")
    return tables


def _name(template: Json, logical_id: str, properties: Json) -> str:
    name = properties.get("TableName", logical_id)
    if isinstance(name, dict) and len(name) == 1:
        parameter = template.get("Parameters", {}).get(name.get("Ref"), {})
        name = parameter.get("Default", logical_id)
    return name if isinstance(name, str) else logical_id
