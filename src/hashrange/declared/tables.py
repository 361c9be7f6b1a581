"""Descriptions of tables, from which the same tables can be created elsewhere."""

import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hashrange.clients.connection import JsonConnection, Refused, refusals
from hashrange.formats.files import appearing
from hashrange.formats.items import DataError

Json = dict[str, Any]

_ACTIVE_SECONDS = 600.0
_PAUSE_SECONDS_MAX = 2.0
_INDEX = ("IndexName", "KeySchema", "Projection")
_VECTOR_INDEX = (
    *("IndexName", "VectorAttribute", "SearchSchema"),
    *("Projection", "Dimensions", "DistanceFunction"),
)
_KEY_KINDS = ("HASH", "RANGE")
_KEY_TYPES = ("S", "N", "B")
_SAME = ("TableName", "AttributeDefinitions", "KeySchema", "StreamSpecification")


class Description(Struct, rename="pascal"):
    """A table as it can be created: `table` has the parameters of CreateTable, including tags.

    `time_to_live` and `settings` are applied afterwards. `settings` maps each operation to its
    request, without the table's name.
    """

    table: Json
    time_to_live: Json | None = None
    settings: dict[str, Json] | None = None


class TableInfo(Struct):
    """An existing table. `types` has the types of the table's and the indexes' key attributes."""

    name: str
    arn: str
    id: str
    items: int
    size_bytes: int
    key: list[str]
    types: dict[str, str]
    stream_arn: str | None
    stream_view: str | None


def describe(client: Any, place: str, name: str) -> TableInfo:
    """The table with this name. Raises Refused, with ResourceNotFoundException if there is none."""
    with refusals(place):
        table = client.describe_table(TableName=name)["Table"]
    stream = table.get("StreamSpecification", {})
    return TableInfo(
        name,
        table.get("TableArn", ""),
        table.get("TableId", ""),
        table.get("ItemCount", 0),
        table.get("TableSizeBytes", 0),
        [each["AttributeName"] for each in table["KeySchema"]],
        {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]},
        table.get("LatestStreamArn") if stream.get("StreamEnabled") else None,
        stream.get("StreamViewType"),
    )


def names(client: Any, place: str) -> list[str]:
    with refusals(place):
        pages = client.get_paginator("list_tables").paginate()
        return [name for page in pages for name in page["TableNames"]]


def description(client: Any, place: str, name: str) -> Description:
    """The description from which the table `name` can be created again."""
    with refusals(place):
        described = client.describe_table(TableName=name)["Table"]
        tags = _tags(client, described.get("TableArn"))
        expiry = client.describe_time_to_live(TableName=name).get("TimeToLiveDescription", {})
    table = creation(described)
    if tags:
        table["Tags"] = tags
    enabled = expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return Description(
        table, {"Enabled": True, "AttributeName": expiry["AttributeName"]} if enabled else None
    )


def _tags(client: Any, arn: str | None) -> list[dict[str, str]]:
    """The tags of a table. Empty if the server does not support tags, such as DynamoDB Local."""
    if not arn:
        return []
    pages = client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn)
    try:
        return [tag for page in pages for tag in page.get("Tags", ()) if not _of_aws(tag)]
    except client.exceptions.ClientError as error:
        if error.response["Error"]["Code"] != "UnknownOperationException":
            raise
        return []


def _of_aws(tag: dict[str, str]) -> bool:
    return tag["Key"].startswith("aws:")  # reserved: CreateTable refuses such tags


def creation(described: dict[str, Any]) -> dict[str, Any]:
    """The parameters of CreateTable for a table that DescribeTable has returned."""
    table = {name: described[name] for name in _SAME if described.get(name)}
    mode = described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    table["BillingMode"] = mode
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if described.get(kind):
            table[kind] = [
                {name: index[name] for name in _INDEX}
                | (_units(index, mode) if kind.startswith("G") else {})
                for index in described[kind]
            ]
    if described.get("VectorIndexes"):
        table["VectorIndexes"] = [
            {name: index[name] for name in _VECTOR_INDEX if name in index}
            for index in described["VectorIndexes"]
        ]
    table |= _units(described, mode)
    if described.get("DeletionProtectionEnabled"):
        table["DeletionProtectionEnabled"] = True
    if described.get("TableClassSummary", {}).get("TableClass"):
        table["TableClass"] = described["TableClassSummary"]["TableClass"]
    return table


def _units(described: dict[str, Any], mode: str) -> dict[str, Any]:
    if mode == "PAY_PER_REQUEST":
        limits = described.get("OnDemandThroughput")
        return {"OnDemandThroughput": limits} if limits else {}
    throughput = described.get("ProvisionedThroughput", {})
    units = {
        name: throughput.get(name, 1) or 1 for name in ("ReadCapacityUnits", "WriteCapacityUnits")
    }
    return {"ProvisionedThroughput": units}


def beside(path: Path) -> Path:
    """The path of the description of the table whose items are at `path`."""
    return path.with_name(f"{path.name}.table.json")


def write(path: Path, description: Description) -> None:
    content = msgspec.json.format(msgspec.json.encode(description), indent=2)
    with appearing(path) as file:
        file.write(content + b"\n")


def of_key(text: str) -> Description:
    """An on-demand table with the key `NAME[:TYPE][,NAME[:TYPE]]`. Raises DataError."""
    columns = [_column(part) for part in text.split(",")]
    if len(columns) > len(_KEY_KINDS):
        raise DataError(f"{text!r}: a key must be NAME, or NAME,NAME with a sort key")
    schema = [
        {"AttributeName": name, "KeyType": kind}
        for (name, _), kind in zip(columns, _KEY_KINDS, strict=False)
    ]
    types = [{"AttributeName": name, "AttributeType": tag} for name, tag in columns]
    return Description(
        {"KeySchema": schema, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"}
    )


def _column(text: str) -> tuple[str, str]:
    name, colon, tag = text.strip().rpartition(":")
    if not colon:
        name, tag = tag, "S"
    if not name or tag not in _KEY_TYPES:
        raise DataError(f"{text!r} is not NAME or NAME:TYPE, where TYPE is S, N or B")
    return name, tag


def execute(connection: JsonConnection, operation: str, request: Json) -> Json:
    """The response of an operation. Raises Refused."""
    answer: Json = msgspec.json.decode(
        connection.call(operation, msgspec.json.encode(request)) or b"{}"
    )
    return answer


def find(connection: JsonConnection, name: str) -> Json | None:
    """The table as DescribeTable returns it, or None. Raises Refused for other errors."""
    try:
        table: Json = execute(connection, "DescribeTable", {"TableName": name})["Table"]
    except Refused as refusal:
        if refusal.code != "ResourceNotFoundException":
            raise
        return None
    return table


def create(connection: JsonConnection, place: str, description: Description, name: str) -> None:
    """Create a table and wait until it and its indexes are active. Raises Refused."""
    execute(connection, "CreateTable", description.table | {"TableName": name})
    _wait(connection, place, name)
    if description.time_to_live:
        request = {"TableName": name, "TimeToLiveSpecification": description.time_to_live}
        execute(connection, "UpdateTimeToLive", request)


def _wait(connection: JsonConnection, place: str, name: str) -> None:
    end = time.monotonic() + _ACTIVE_SECONDS
    pause = 0.01
    while time.monotonic() < end:
        table = execute(connection, "DescribeTable", {"TableName": name})["Table"]
        parts = [table["TableStatus"]]
        for kind in ("GlobalSecondaryIndexes", "VectorIndexes"):
            parts += [index.get("IndexStatus") for index in table.get(kind, ())]
        if all(status == "ACTIVE" for status in parts):
            return
        time.sleep(pause)
        pause = min(pause * 2, _PAUSE_SECONDS_MAX)
    raise Refused("", f"{place}: {name} is not active after {_ACTIVE_SECONDS:.0f} seconds")
