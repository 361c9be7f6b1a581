"""Creates a model's table, or lists the differences between the model and an existing table."""

from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.design.declare.schema import Source
from hashrange.design.declare.table_model import TableModel
from hashrange.design.declare.vector_indexes import VectorIndex
from hashrange.design.errors import DesignError
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import ApiCall, ApiFailure, Pause, Steps, run

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
POLL_SECONDS = 0.2
POLLS_MAX = 1500
"""The largest number of reads of a new table's status. The pauses between them add up to five
minutes, although a table with indexes is usually created within seconds."""


class TableDiffers(DesignError):
    """The existing table does not fit the model. `differences` has a line for each difference."""

    def __init__(self, name: str, differences: list[str]) -> None:
        super().__init__(f"the table {name!r} does not fit the model: {'; '.join(differences)}")
        self.differences = differences


def request(model: TableModel) -> dict[str, Any]:
    """The CreateTable request for the model's table, in on-demand mode."""
    columns = [c for source in model.sources for c in source.columns]
    columns += [c for index in model.vectors for c in index.searched]
    definitions = {c.attribute: c.tag for c in columns}
    request: dict[str, Any] = {
        "TableName": model.name,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": tag} for name, tag in definitions.items()
        ],
        "KeySchema": _schema(model.table),
        "BillingMode": "PAY_PER_REQUEST",
    }
    for member, kind in (("GlobalSecondaryIndexes", "GSI"), ("LocalSecondaryIndexes", "LSI")):
        indexes = [index_request(source) for source in model.indexes if source.kind == kind]
        if indexes:
            request[member] = indexes
    if model.vectors:
        request["VectorIndexes"] = [vector_request(index) for index in model.vectors]
    if model.stream:
        request["StreamSpecification"] = STREAM
    return request


def _schema(source: Source) -> list[dict[str, str]]:
    hashes = [{"AttributeName": c.attribute, "KeyType": "HASH"} for c in source.hash]
    return hashes + [{"AttributeName": c.attribute, "KeyType": "RANGE"} for c in source.range]


def index_request(source: Source) -> dict[str, Any]:
    shown = _projected(source.project)
    return {"IndexName": source.name, "KeySchema": _schema(source), "Projection": shown}


def vector_request(index: VectorIndex) -> dict[str, Any]:
    """The definition of a vector index as CreateTable takes it."""
    request: dict[str, Any] = {
        "IndexName": index.name,
        "VectorAttribute": {"AttributeName": index.attribute},
        "Dimensions": index.dimensions,
        "DistanceFunction": index.distance.upper(),
        "Projection": _projected(index.project),
    }
    kinds = [(c, "HASH") for c in index.partition] + [(c, "INLINE_FILTER") for c in index.filters]
    if kinds:
        request["SearchSchema"] = [
            {"AttributeName": column.attribute, "SearchSchemaElementType": kind}
            for column, kind in kinds
        ]
    return request


def _projected(project: str | Sequence[str]) -> dict[str, Any]:
    if isinstance(project, str):
        return {"ProjectionType": project}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(project)}


def create(model: TableModel, handed: Any) -> bool:
    """Create the table on `handed`, a database or a boto3 client.

    Returns False if the table exists and fits the model. Raises TableDiffers if it exists and does
    not fit.
    """
    return run(_create(model), connect(handed))


def _create(model: TableModel) -> Steps[bool]:
    there = yield from _describe(model.name)
    if there is not None:
        differences = compare(model, there)
        if differences:
            raise TableDiffers(model.name, differences)
        yield from _expire(model)
        return False
    yield ApiCall("CreateTable", request(model))
    for _ in range(POLLS_MAX):
        there = yield from _describe(model.name)
        if there is not None and _active(there):
            yield from _expire(model)
            return True
        yield Pause(POLL_SECONDS)
    raise DesignError(f"the table {model.name!r} did not become ACTIVE in time")


def _describe(name: str) -> Steps[dict[str, Any] | None]:
    try:
        response = yield ApiCall("DescribeTable", {"TableName": name})
    except ApiFailure as failure:
        if failure.code == "ResourceNotFoundException":
            return None
        raise
    table: dict[str, Any] = response["Table"]
    return table


def _active(table: Mapping[str, Any]) -> bool:
    indexes = table.get("GlobalSecondaryIndexes", []) + table.get("VectorIndexes", [])
    return all(part.get("IndexStatus", "ACTIVE") == "ACTIVE" for part in indexes) and (
        table["TableStatus"] == "ACTIVE"
    )


def _expire(model: TableModel) -> Steps[None]:
    attribute = model.ttl_attribute
    if attribute is None:
        return
    response = yield ApiCall("DescribeTimeToLive", {"TableName": model.name})
    described = response["TimeToLiveDescription"]
    if described["TimeToLiveStatus"] in ("ENABLED", "ENABLING"):
        if described.get("AttributeName") != attribute:
            raise TableDiffers(
                model.name,
                [f"items expire by {described.get('AttributeName')}, not by {attribute}"],
            )
        return
    specification = {"Enabled": True, "AttributeName": attribute}
    yield ApiCall(
        "UpdateTimeToLive",
        {"TableName": model.name, "TimeToLiveSpecification": specification},
    )


def compare(model: TableModel, there: Mapping[str, Any]) -> list[str]:
    """A line for each difference between the model and `there`, a table description."""
    tags = {d["AttributeName"]: d["AttributeType"] for d in there["AttributeDefinitions"]}
    indexes: dict[str | None, Any] = {None: {"KeySchema": there["KeySchema"]}}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        indexes |= {index["IndexName"]: index for index in there.get(member, [])}
    lines = []
    for source in model.sources:
        index = indexes.pop(source.name, None)
        if index is None:
            lines.append(f"there is no index {source.name}")
            continue
        lines += _compare_one(source, index, tags)
    if model.stream and there.get("StreamSpecification") != STREAM:
        lines.append("it has no stream of old and new images")
    lines += [f"the index {name} is not in the model" for name in indexes]
    return lines + _compare_vectors(model, there, tags)


def _compare_one(source: Source, there: Mapping[str, Any], tags: Mapping[str, str]) -> list[str]:
    what = source.name or "the table"
    lines = []
    needed = [(c["AttributeName"], c["KeyType"]) for c in _schema(source)]
    existing = [(c["AttributeName"], c["KeyType"]) for c in there["KeySchema"]]
    if needed != existing:
        lines.append(f"{what} is keyed by {_key_text(existing)}, not by {_key_text(needed)}")
    for column in source.columns:
        tag = tags.get(column.attribute)
        if tag is not None and tag != column.tag:
            lines.append(f"{what}: {column.attribute} is {tag}, not {column.tag}")
    if source.name is not None:
        wanted, has = index_request(source)["Projection"], there["Projection"]
        same = wanted["ProjectionType"] == has["ProjectionType"] and set(
            wanted.get("NonKeyAttributes", ())
        ) == set(has.get("NonKeyAttributes", ()))
        if not same and has["ProjectionType"] != "ALL":
            lines.append(f"{what} projects {_projection(has)}, not {_projection(wanted)}")
    return lines


def _compare_vectors(
    model: TableModel, there: Mapping[str, Any], tags: Mapping[str, str]
) -> list[str]:
    lines = []
    indexes = {index["IndexName"]: index for index in there.get("VectorIndexes", [])}
    for index in model.vectors:
        described = indexes.pop(index.name, None)
        if described is None:
            lines.append(f"there is no vector index {index.name}")
            continue
        has = _comparable(described)
        for member, wanted in _comparable(vector_request(index)).items():
            if has[member] != wanted:
                lines.append(f"{index.name}: its {member} is {has[member]}, not {wanted}")
        for column in index.searched:
            tag = tags.get(column.attribute, column.tag)
            if tag != column.tag:
                lines.append(f"{index.name}: {column.attribute} is {tag}, not {column.tag}")
    return lines + [f"the vector index {name} is not in the model" for name in indexes]


def _comparable(index: Mapping[str, Any]) -> dict[str, Any]:
    """The definition of a vector index, with its attributes in a fixed order."""
    schema = index.get("SearchSchema", ())
    searched = [f"{e['AttributeName']} ({e['SearchSchemaElementType']})" for e in schema]
    return {
        "VectorAttribute": index["VectorAttribute"]["AttributeName"],
        "Dimensions": index["Dimensions"],
        "DistanceFunction": index["DistanceFunction"],
        "SearchSchema": sorted(searched),
        "Projection": _projection(index["Projection"]),
    }


def _key_text(schema: list[tuple[str, str]]) -> str:
    return " and ".join(f"{name} ({kind})" for name, kind in schema)


def _projection(projection: Mapping[str, Any]) -> str:
    attributes = projection.get("NonKeyAttributes")
    return ", ".join(sorted(attributes)) if attributes else str(projection["ProjectionType"])
