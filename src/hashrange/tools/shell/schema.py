"""A table's description -> the text of `.schema` and `.indexes`."""

from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.amounts import counted, moment, size
from hashrange.tools.shell.catalog import indexes_of
from hashrange.tools.shell.values import printable

Described = Mapping[str, Any]
_KEY_TYPES = {"HASH": "partition key", "RANGE": "sort key"}
_PROJECTIONS = {"ALL": "all attributes", "KEYS_ONLY": "keys only"}


def schema(table: Described, ttl: Described | None) -> str:
    """A table as text. `ttl` is its TimeToLiveDescription, or None if it could not be requested."""
    types = _types(table)
    facts = [
        ("key", _key(table["KeySchema"], types)),
        ("status", table["TableStatus"].lower()),
        ("billing", _billing(table)),
        ("items", _content(table, "Table")),
        ("stream", _stream(table)),
        ("expiry", _expiry(ttl)),
        ("created", moment(table.get("CreationDateTime"))),
        ("class", table.get("TableClassSummary", {}).get("TableClass", "")),
        ("protected", "against deletion" if table.get("DeletionProtectionEnabled") else ""),
    ]
    lines = [table["TableName"]]
    lines += [f"  {name:<10}{text}" for name, text in facts if text]
    lines += [f"  {line}" for line in index_lines(table)]
    return "\n".join(map(printable, lines))


def indexes(table: Described) -> str:
    lines = index_lines(table) or ["no indexes"]
    return "\n".join(map(printable, (table["TableName"], *(f"  {line}" for line in lines))))


def index_lines(table: Described) -> list[str]:
    types = _types(table)
    local = {each["IndexName"] for each in table.get("LocalSecondaryIndexes", ())}
    lines = [
        f"{'local' if each['IndexName'] in local else 'global'} index {each['IndexName']}: "
        f"{_index(each, types)}"
        for each in indexes_of(table)
    ]
    vectors = table.get("VectorIndexes", ())
    return lines + [
        f"vector index {each['IndexName']}: {_vectors(each, types)}" for each in vectors
    ]


_SEARCHED = {"HASH": "partition key", "INLINE_FILTER": "filter"}


def _vectors(index: Described, types: Mapping[str, str]) -> str:
    """A vector index as text: the attribute with its dimensions and distance function, the
    attributes that restrict a search, the projection, the number of entries, and the status if it
    is not ACTIVE."""
    function = index["DistanceFunction"].lower().replace("_", " ")
    attribute = index["VectorAttribute"]["AttributeName"]
    searched = (
        f"{each['AttributeName']} ({types.get(each['AttributeName'], '?')}) "
        f"{_SEARCHED.get(each['SearchSchemaElementType'], each['SearchSchemaElementType'])}"
        for each in index.get("SearchSchema", ())
    )
    parts = [
        f"{attribute} of {index['Dimensions']:,} dimensions by {function}",
        ", ".join(searched),
        _projection(index.get("Projection", {})),
        _content(index, "Index"),
        "" if index.get("IndexStatus", "ACTIVE") == "ACTIVE" else index["IndexStatus"].lower(),
    ]
    return "; ".join(filter(None, parts))


def _index(index: Described, types: Mapping[str, str]) -> str:
    status = index.get("IndexStatus", "ACTIVE")
    parts = [
        _key(index["KeySchema"], types),
        _projection(index.get("Projection", {})),
        _content(index, "Index"),
        "" if status == "ACTIVE" else status.lower(),
        _units(index) if index.get("ProvisionedThroughput", {}).get("ReadCapacityUnits") else "",
    ]
    return "; ".join(filter(None, parts))


def _types(table: Described) -> dict[str, str]:
    return {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}


def _key(elements: Sequence[Described], types: Mapping[str, str]) -> str:
    parts = (
        f"{each['AttributeName']} ({types.get(each['AttributeName'], '?')}) "
        f"{_KEY_TYPES.get(each['KeyType'], each['KeyType'])}"
        for each in elements
    )
    return ", ".join(parts)


def _projection(projection: Described) -> str:
    kind = projection.get("ProjectionType", "")
    if kind == "INCLUDE":
        return f"keys and {', '.join(projection['NonKeyAttributes'])}"
    return str(_PROJECTIONS.get(kind, kind))


def _billing(table: Described) -> str:
    mode = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    return "on demand" if mode == "PAY_PER_REQUEST" else f"provisioned, {_units(table)}"


def _units(source: Described) -> str:
    units = source.get("ProvisionedThroughput", {})
    read, write = units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)
    return f"{read:,} read and {write:,} write units a second"


def _content(source: Described, kind: str) -> str:
    return f"{counted(source.get('ItemCount', 0))}, {size(source.get(f'{kind}SizeBytes', 0))}"


def _stream(table: Described) -> str:
    stream = table.get("StreamSpecification", {})
    return str(stream.get("StreamViewType", "")) if stream.get("StreamEnabled") else "none"


def _expiry(ttl: Described | None) -> str:
    if ttl is None:
        return ""
    enabled = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return f"time to live by {ttl['AttributeName']}" if enabled else "none"
