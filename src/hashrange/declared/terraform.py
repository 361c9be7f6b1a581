"""Terraform: a plan or a state as JSON, as `terraform show -json FILE` prints it.

Source: "JSON Output Format" of Terraform's documentation, and the AWS provider's `dynamodb_table`.
"""

from collections.abc import Iterator
from typing import Any

from hashrange.declared.documents import Json
from hashrange.declared.fitting import Declared, fitted
from hashrange.formats.items import DataError

KIND = "aws_dynamodb_table"
_MODULES_MAX = 100


def root_of(document: Json) -> Json | None:
    """The root module of a plan or a state; None for any other document."""
    values = document.get("planned_values") or document.get("values")
    root = values.get("root_module") if isinstance(values, dict) else None
    return root if isinstance(root, dict) else None


def tables_of(root: Json) -> Declared:
    declared = Declared({}, [])
    for resource in _resources(root):
        values = resource.get("values")
        if resource.get("type") == KIND and isinstance(values, dict):
            name = str(resource.get("name"))
            table = fitted(name, _properties(values), declared.remarks)
            declared.tables[table.table["TableName"]] = table
        elif str(resource.get("type")).startswith("aws_dynamodb_"):
            declared.remarks.append(f"{resource.get('address')} is left out")
    if not declared.tables:
        raise DataError(f"it has no table: no resource is an {KIND}")
    return declared


def _resources(module: Json) -> Iterator[Json]:
    modules = [module]
    while modules:
        module = modules.pop(0)
        for resource in module.get("resources") or ():
            if isinstance(resource, dict) and resource.get("mode") != "data":
                yield resource
        modules += [child for child in module.get("child_modules") or () if isinstance(child, dict)]


def _properties(values: Json) -> Json:
    """The table with CloudFormation's names for its properties."""
    properties: Json = {
        "TableName": values.get("name"),
        "AttributeDefinitions": [
            {"AttributeName": each["name"], "AttributeType": each["type"]}
            for each in values["attribute"]
        ],
        "KeySchema": _schema(values["hash_key"], values.get("range_key")),
        "GlobalSecondaryIndexes": [
            _index(index, _index_schema(index))
            for index in values.get("global_secondary_index") or ()
        ],
        "LocalSecondaryIndexes": [
            _index(index, _schema(values["hash_key"], index["range_key"]))
            for index in values.get("local_secondary_index") or ()
        ],
        "BillingMode": values.get("billing_mode") or "PROVISIONED",
        "DeletionProtectionEnabled": values.get("deletion_protection_enabled") or None,
        "TableClass": values.get("table_class"),
        "Tags": [
            {"Key": key, "Value": value}
            for key, value in (values.get("tags_all") or values.get("tags") or {}).items()
        ],
        **_throughput(values, values.get("billing_mode")),
    }
    if values.get("stream_enabled"):
        view = values.get("stream_view_type")
        properties["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    for block in values.get("ttl") or ():
        expiry = {"Enabled": block.get("enabled"), "AttributeName": block.get("attribute_name")}
        properties["TimeToLiveSpecification"] = expiry
    for block in values.get("point_in_time_recovery") or ():
        if block.get("enabled"):
            recovery: Json = {"PointInTimeRecoveryEnabled": True}
            if block.get("recovery_period_in_days"):
                recovery["RecoveryPeriodInDays"] = block["recovery_period_in_days"]
            properties["PointInTimeRecoverySpecification"] = recovery
    for block in values.get("server_side_encryption") or ():
        if block.get("enabled"):
            key = {"KMSMasterKeyId": block["kms_key_arn"]} if block.get("kms_key_arn") else {}
            properties["SSESpecification"] = {"Enabled": True, "SSEType": "KMS"} | key
    for block in ("replica", "import_table"):
        if values.get(block):
            properties[block] = values[block]
    return properties


def _schema(hash_key: str, range_key: str | None) -> list[Json]:
    keys = [{"AttributeName": hash_key, "KeyType": "HASH"}]
    return keys + ([{"AttributeName": range_key, "KeyType": "RANGE"}] if range_key else [])


def _index_schema(index: Json) -> list[Json]:
    if index.get("key_schema"):
        return [
            {"AttributeName": key["attribute_name"], "KeyType": key["key_type"]}
            for key in index["key_schema"]
        ]
    return _schema(index["hash_key"], index.get("range_key"))


def _index(index: Json, schema: list[Json]) -> Json:
    projection: Json = {"ProjectionType": index["projection_type"]}
    if index.get("non_key_attributes"):
        projection["NonKeyAttributes"] = list(index["non_key_attributes"])
    own = {"IndexName": index["name"], "KeySchema": schema, "Projection": projection}
    return own | _throughput(index, "PROVISIONED" if index.get("read_capacity") else None)


def _throughput(values: Json, mode: Any) -> Json:
    if mode != "PAY_PER_REQUEST" and (values.get("read_capacity") or mode):
        units = {
            "ReadCapacityUnits": values.get("read_capacity") or 1,
            "WriteCapacityUnits": values.get("write_capacity") or 1,
        }
        return {"ProvisionedThroughput": units}
    names = ("max_read_request_units", "max_write_request_units")
    for block in values.get("on_demand_throughput") or ():
        limits = {
            f"{name.title().replace('_', '')}": block[name] for name in names if block.get(name)
        }
        return {"OnDemandThroughput": limits}
    return {}
