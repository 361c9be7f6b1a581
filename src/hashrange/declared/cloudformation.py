"""Templates of CloudFormation, SAM and CDK, and the resources of serverless.yml."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hashrange.declared.documents import Json, Unresolved
from hashrange.declared.fitting import Declared, fitted
from hashrange.declared.intrinsics import Intrinsics
from hashrange.declared.variables import Variables
from hashrange.formats.items import DataError

_SAM_TYPES = {"String": "S", "Number": "N", "Binary": "B"}
_REPLICA = (
    *("DeletionProtectionEnabled", "TableClass", "Tags", "PointInTimeRecoverySpecification"),
    *("ContributorInsightsSpecification", "KinesisStreamSpecification", "ResourcePolicy"),
)
_SCALING = "CapacityAutoScalingSettings"


def tables_of(template: Json, stack: str | None = None) -> Declared:
    """The tables among the resources of a template. Raises DataError if there are none.

    `stack` is the name of the stack, if the file has it.
    """
    intrinsics = Intrinsics(template, stack)
    declared = Declared({}, [])
    for label, kind, resource in _tables(template):
        holds = intrinsics.condition(resource["Condition"]) if "Condition" in resource else True
        if holds is False:
            declared.remarks.append(f"{label} is left out, because its condition is false")
            continue
        properties = intrinsics.resolved(resource.get("Properties") or {})
        if not isinstance(properties, dict):
            raise DataError(f"the table {label} has no properties that can be read")
        table = fitted(label, _KINDS[kind](properties), declared.remarks)
        declared.tables[table.table["TableName"]] = table
    return declared


def tables_of_serverless(document: Json, folder: Path) -> Declared:
    """The tables in serverless.yml, whose `resources` are a template or a list of templates."""
    resources = document.get("resources")
    sections = resources if isinstance(resources, list) else [resources]
    template: Json = {}
    variables = Variables(document, folder)
    skipped = []
    for section in map(variables.resolved, sections):
        if not isinstance(section, dict):
            shown = section.text if isinstance(section, Unresolved) else "a part"
            skipped.append(f"resources: {shown} is not read; pass the file with the tables instead")
            continue
        for name, part in section.items():
            if isinstance(part, dict):
                template[name] = template.get(name, {}) | part
    if not isinstance(template.get("Resources"), dict):
        raise DataError("; ".join([*skipped, "it has no resources with tables"]))
    stack = variables.resolved("${self:provider.stackName, '${self:service}-${sls:stage}'}")
    declared = tables_of(template, stack if isinstance(stack, str) else None)
    return declared._replace(remarks=[*skipped, *declared.remarks])


def _tables(template: Json) -> Iterator[tuple[str, str, Json]]:
    count = 0
    for label, resource in template["Resources"].items():
        kind = resource.get("Type") if isinstance(resource, dict) else None
        if kind in _KINDS:
            count += 1
            yield str(label), str(kind), resource
    if not count:
        raise DataError("it has no table: no resource is an AWS::DynamoDB::Table")


def _table(properties: Json) -> Json:
    return properties


def _simple_table(properties: Json) -> Json:
    """SAM's table, whose only key is a string `id` unless `PrimaryKey` names another one."""
    table = {name: value for name, value in properties.items() if name != "PrimaryKey"}
    key = properties.get("PrimaryKey") or {}
    name, kind = key.get("Name", "id"), key.get("Type", "String")
    table["KeySchema"] = [{"AttributeName": name, "KeyType": "HASH"}]
    tag = kind if isinstance(kind, Unresolved) else _SAM_TYPES.get(str(kind), kind)
    table["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": tag}]
    tags = properties.get("Tags")
    if isinstance(tags, dict):
        table["Tags"] = [{"Key": name, "Value": value} for name, value in tags.items()]
    return table


def _global_table(properties: Json) -> Json:
    """A table with replicas: only the first replica becomes a table."""
    table = dict(properties)
    replicas = table.pop("Replicas", None) or [{}]
    replica = replicas[0] if isinstance(replicas, list) and isinstance(replicas[0], dict) else {}
    table |= {name: replica[name] for name in _REPLICA if name in replica}
    for part, own in _scaled_parts(table, replica):
        reads = own.get("ReadProvisionedThroughputSettings")
        writes = part.pop("WriteProvisionedThroughputSettings", None)
        if isinstance(writes, dict) and isinstance(reads, dict):
            part["ProvisionedThroughput"] = {
                "ReadCapacityUnits": _units(reads, "Read"),
                "WriteCapacityUnits": _units(writes, "Write"),
            }
        limits: Any = (part.pop("WriteOnDemandThroughputSettings", None) or {}) | (
            own.get("ReadOnDemandThroughputSettings") or {}
        )
        if limits:
            part["OnDemandThroughput"] = limits
    mode = table.get("BillingMode", "PAY_PER_REQUEST")
    if mode == "PROVISIONED" and "ProvisionedThroughput" not in table:
        table["ProvisionedThroughput"] = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    return table


def _scaled_parts(table: Json, replica: Json) -> Iterator[tuple[Json, Json]]:
    """The table and its global indexes, each with the replica's settings for it."""
    yield table, replica
    own = {
        index.get("IndexName"): index
        for index in replica.get("GlobalSecondaryIndexes") or ()
        if isinstance(index, dict)
    }
    indexes = [
        dict(index)
        for index in table.get("GlobalSecondaryIndexes") or ()
        if isinstance(index, dict)
    ]
    if indexes:
        table["GlobalSecondaryIndexes"] = indexes
    for index in indexes:
        yield index, own.get(index.get("IndexName"), {})


def _units(settings: Json, kind: str) -> Any:
    """The fixed capacity for `kind`, Read or Write, or the initial one if it is auto-scaled."""
    scaling = settings.get(f"{kind}{_SCALING}")
    scaling = scaling if isinstance(scaling, dict) else {}
    fixed = settings.get(f"{kind}CapacityUnits", scaling.get("SeedCapacity"))
    return fixed if fixed is not None else scaling.get("MinCapacity", 1)


_KINDS = {
    "AWS::DynamoDB::Table": _table,
    "AWS::DynamoDB::GlobalTable": _global_table,
    "AWS::Serverless::SimpleTable": _simple_table,
}
