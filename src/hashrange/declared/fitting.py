"""Turn the properties of a declared table into the requests that create it.

Most properties are parameters of CreateTable. Others are settings, for which another request
follows. A property is left out with a remark if its value is not known, or if no request can set
it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from hashrange.declared.documents import Json, Unresolved, unresolved
from hashrange.declared.tables import Description
from hashrange.formats.items import DataError

INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
_NECESSARY = ("KeySchema", "AttributeDefinitions", *INDEXES)
_CREATED_WITH = (
    *("BillingMode", "DeletionProtectionEnabled", "OnDemandThroughput", "ProvisionedThroughput"),
    *("SSESpecification", "StreamSpecification", "TableClass", "Tags", "VectorIndexes"),
    "WarmThroughput",
)
_SETTINGS = {
    "PointInTimeRecoverySpecification": "UpdateContinuousBackups",
    "KinesisStreamSpecification": "EnableKinesisStreamingDestination",
    "ContributorInsightsSpecification": "UpdateContributorInsights",
    "ResourcePolicy": "PutResourcePolicy",
}
_THROUGHPUT = ("OnDemandThroughput", "ProvisionedThroughput", "WarmThroughput")
_INDEX = (
    *("IndexName", "KeySchema", "Projection", "VectorAttribute", "SearchSchema", "Dimensions"),
    *("DistanceFunction", *_THROUGHPUT),
)
_INTEGERS = {
    *("ReadCapacityUnits", "WriteCapacityUnits", "MaxReadRequestUnits", "MaxWriteRequestUnits"),
    *("ReadUnitsPerSecond", "WriteUnitsPerSecond", "Dimensions"),
}
_BOOLEANS = {
    *("Enabled", "StreamEnabled", "DeletionProtectionEnabled", "PointInTimeRecoveryEnabled"),
    "SSEEnabled",
}


class Declared(NamedTuple):
    """The tables of a file by name, and remarks about them for the user."""

    tables: dict[str, Description]
    remarks: list[str]


def fitted(label: str, properties: Json, remarks: list[str]) -> Description:
    """The description of a table from properties with CloudFormation's names.

    `label` is the table's name if the file declares none. Raises DataError if the table's keys are
    not known.
    """
    table: Json = {"TableName": _name(label, properties, remarks)}
    name = table["TableName"]
    for member in _NECESSARY:
        if unknown := unresolved(properties.get(member)):
            if member in INDEXES and not unresolved(_keys_of(properties[member])):
                continue
            reason = _unknown(unknown)
            raise DataError(f"the {member} of the table {label} is not known, because {reason}")
    for member in ("KeySchema", "AttributeDefinitions"):
        if not isinstance(properties.get(member), list) or not properties[member]:
            raise DataError(f"not a description of a table: {label} has no {member}")
    settings: Json = {}
    for member, value in properties.items():
        if member in ("TableName", "TimeToLiveSpecification") or value in (None, [], {}):
            continue
        if unknown := unresolved(value) if member not in INDEXES else None:
            remarks.append(f"{name}: {member} is left out, because {_unknown(unknown)}")
        elif member in _SETTINGS:
            settings[_SETTINGS[member]] = _setting(member, _typed(value))
        elif member in INDEXES or member == "VectorIndexes":
            table[member] = [_index(_typed(index)) for index in value]
        elif member in _NECESSARY or member in _CREATED_WITH:
            table[member] = _typed(value)
        else:
            remarks.append(f"{name}: {member} is left out")
    _complete(table)
    return Description(table, _expiry(properties, name, remarks), settings or None)


def _name(label: str, properties: Json, remarks: list[str]) -> str:
    name = properties.get("TableName")
    if isinstance(name, str) and "${" not in name:
        return name
    why = _unknown(name) if isinstance(name, Unresolved) else "the file does not name it"
    remarks.append(f"{label}: the table gets this name, because {why}")
    return label


def _unknown(part: Unresolved) -> str:
    return f"the file does not have the value of {part.text}"


def _keys_of(indexes: Any) -> Any:
    """The indexes, each reduced to the members that CreateTable requires."""
    if not isinstance(indexes, list):
        return indexes
    essential = ("IndexName", "KeySchema", "Projection")
    return [
        {member: index.get(member) for member in essential} if isinstance(index, dict) else index
        for index in indexes
    ]


def _index(index: Any) -> Json:
    if not isinstance(index, dict):
        raise DataError("not a description of a table: an index is not an object")
    return {
        member: index[member]
        for member in _INDEX
        if index.get(member) is not None and not unresolved(index[member])
    }


def _complete(table: Json) -> None:
    """Add the members that the table's billing mode needs, and remove those that it forbids."""
    stream, encryption = table.get("StreamSpecification"), table.get("SSESpecification")
    if isinstance(stream, dict):
        table["StreamSpecification"] = {"StreamEnabled": "StreamViewType" in stream} | stream
    if isinstance(encryption, dict) and "SSEEnabled" in encryption:
        enabled = encryption.pop("SSEEnabled")
        table["SSESpecification"] = {"Enabled": enabled} | encryption
    if "ProvisionedThroughput" not in table:
        table["BillingMode"] = "PAY_PER_REQUEST"
    on_demand = table.get("BillingMode") == "PAY_PER_REQUEST"
    unfit = "ProvisionedThroughput" if on_demand else "OnDemandThroughput"
    for part in (table, *table.get("GlobalSecondaryIndexes", ())):
        part.pop(unfit, None)
        if not on_demand:
            part.setdefault("ProvisionedThroughput", dict(table["ProvisionedThroughput"]))


def _expiry(properties: Json, name: str, remarks: list[str]) -> Json | None:
    expiry = properties.get("TimeToLiveSpecification")
    if unknown := unresolved(expiry):
        remarks.append(f"{name}: time to live is left out, because {_unknown(unknown)}")
        return None
    if not isinstance(expiry, dict) or not _typed(expiry).get("Enabled", True):
        return None
    return {"Enabled": True, "AttributeName": expiry.get("AttributeName")}


def _setting(member: str, value: Any) -> Json:
    """The request for a setting, without the table's name."""
    if not isinstance(value, dict):
        raise DataError(f"not a description of a table: its {member} is not an object")
    match member:
        case "PointInTimeRecoverySpecification":
            return {member: value}
        case "ContributorInsightsSpecification":
            mode = {"ContributorInsightsMode": value["Mode"]} if "Mode" in value else {}
            on = bool(value.get("Enabled"))
            return {"ContributorInsightsAction": "ENABLE" if on else "DISABLE"} | mode
        case "KinesisStreamSpecification":
            precision = "ApproximateCreationDateTimePrecision"
            configuration = {precision: value[precision]} if precision in value else {}
            return {
                "StreamArn": value.get("StreamArn"),
                "EnableKinesisStreamingConfiguration": configuration,
            }
        case "ResourcePolicy":
            return {"Policy": msgspec.json.encode(value.get("PolicyDocument")).decode()}
    return value


def _typed(value: Any, member: str = "") -> Any:
    """The value with the API's types. A template may write any scalar as a string."""
    if isinstance(value, dict):
        return {name: _typed(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_typed(part) for part in value]
    if isinstance(value, str):
        if member in _INTEGERS and value.isascii() and value.isdecimal():
            return int(value)
        if member in _BOOLEANS and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return str(value)
    return str(value) if isinstance(value, int) and member == "Value" else value


def merged(parts: Iterator[Declared]) -> Declared:
    """The tables of several files."""
    tables: dict[str, Description] = {}
    remarks: list[str] = []
    for part in parts:
        tables |= part.tables
        remarks += part.remarks
    return Declared(tables, remarks)
