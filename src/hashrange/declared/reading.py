"""Recognise and read files that declare tables."""

from pathlib import Path
from typing import Any

from hashrange.declared import cloudformation, documents, terraform
from hashrange.declared.documents import Json
from hashrange.declared.fitting import Declared, fitted, merged
from hashrange.declared.tables import Description, creation
from hashrange.formats.items import DataError

ASSEMBLY = "*.template.json"
"""A glob pattern for the templates in the folder that `cdk synth` writes."""


def read(path: Path) -> Declared:
    """The tables that a file, or a folder written by `cdk synth`, declares. Raises DataError.

    The file can be a template of CloudFormation, SAM or CDK, a serverless.yml, a plan or state of
    Terraform as JSON, a model of NoSQL Workbench, the response of DescribeTable, or the input of
    CreateTable.
    """
    if path.is_dir():
        templates = sorted(path.glob(ASSEMBLY))
        if not templates:
            raise DataError(f"{path}: a folder without {ASSEMBLY}, which cdk synth writes")
        with_tables = [each for each in templates if _has_table(each)]
        if not with_tables:
            raise DataError(f"{path}: no table in {', '.join(each.name for each in templates)}")
        return merged(map(read, with_tables))
    document = documents.read(path)
    try:
        return _read(document, path.parent)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except RecursionError:
        raise DataError(f"{path}: it is nested too deeply") from None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # The file may come from anywhere, but the readers of its parts do not check their form.
        raise DataError(f"{path}: a part has the wrong form: {error!r}") from None


def described(path: Path, name: str) -> Description:
    """The only table of a file; if there are several tables, the table `name`. Raises DataError."""
    tables = read(path).tables
    if len(tables) == 1:
        return next(iter(tables.values()))
    if name not in tables:
        raise DataError(f"{path}: no table {name}; it has {', '.join(sorted(tables))}")
    return tables[name]


def _has_table(path: Path) -> bool:
    resources = documents.read(path).get("Resources")
    parts = resources.values() if isinstance(resources, dict) else ()
    kinds = [str(each.get("Type")) for each in parts if isinstance(each, dict)]
    return any(kind.startswith("AWS::DynamoDB::") for kind in kinds)


def _read(document: Json, folder: Path) -> Declared:
    if isinstance(document.get("Resources"), dict):
        return cloudformation.tables_of(document)
    if "resources" in document and ("service" in document or "provider" in document):
        return cloudformation.tables_of_serverless(document, folder)
    if root := terraform.root_of(document):
        return terraform.tables_of(root)
    if isinstance(document.get("DataModel"), list):
        return _workbench(document["DataModel"])
    return _description(document)


def _description(document: Json) -> Declared:
    table = document.get("Table", document)
    if not isinstance(table, dict) or not table.get("KeySchema"):
        raise DataError("not a description of a table: it has no KeySchema")
    if "TableStatus" in table or "BillingModeSummary" in table:
        table = creation(table)
    name = str(table.get("TableName", "table"))
    expiry: Any = document.get("TimeToLive")
    return Declared({name: Description(table, expiry)}, [])


def _workbench(tables: list[Any]) -> Declared:
    from hashrange.design.exchange.workbench_models import described_table

    declared = Declared({}, [])
    for table in tables:
        properties = _of_keys(described_table(table))
        mode = {"BillingMode": table.get("BillingMode", "PAY_PER_REQUEST")}
        units = (table.get("ProvisionedCapacitySettings") or {}).get("ProvisionedThroughput")
        throughput = {"ProvisionedThroughput": units} if units else {}
        name = str(table.get("TableName"))
        declared.tables[name] = fitted(name, mode | throughput | properties, declared.remarks)
    return declared


def _of_keys(properties: Json) -> Json:
    """The properties, with definitions of key attributes only, as CreateTable requires."""
    schemas = [properties["KeySchema"]]
    schemas += [index["KeySchema"] for index in properties["GlobalSecondaryIndexes"]]
    names = {key["AttributeName"] for schema in schemas for key in schema}
    definitions = properties["AttributeDefinitions"]
    used = [each for each in definitions if each["AttributeName"] in names]
    return properties | {"AttributeDefinitions": used}
