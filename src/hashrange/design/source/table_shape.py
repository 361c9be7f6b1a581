"""The keys, the indexes and the TTL attribute of a described table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashrange.design.declare.schema import Column, Kind, Source
from hashrange.design.source.exported import ExchangeError
from hashrange.design.tools.create import STREAM


@dataclass(frozen=True)
class TableShape:
    """The table and its indexes, without entities."""

    name: str
    table: Source
    indexes: tuple[Source, ...]
    ttl_attribute: str | None = None
    stream: bool = False
    """Whether the table has a stream of old and new images, as a model declares it."""

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.table, *self.indexes)


def shape_of(name: str, described: Mapping[str, Any], ttl: str | None = None) -> TableShape:
    """The shape of the table that `described` describes.

    `described` is from a DescribeTable response or from a template. `ttl` is the name of the
    table's TTL attribute. Raises ExchangeError if a member that describes a key is missing or of
    another type.
    """
    try:
        tags = {d["AttributeName"]: d["AttributeType"] for d in described["AttributeDefinitions"]}
        table = _source(None, "table", described, tags)
        indexes = [
            _source(index["IndexName"], kind, index, tags)
            for member, kind in _INDEXES
            for index in described.get(member) or []
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise ExchangeError(f"{name}: its keys cannot be read: {error!r}") from None
    stream = described.get("StreamSpecification") or {}
    return TableShape(
        name, table, tuple(indexes), ttl, stream.get("StreamViewType") == STREAM["StreamViewType"]
    )


_INDEXES: tuple[tuple[str, Kind], ...] = (
    ("GlobalSecondaryIndexes", "GSI"),
    ("LocalSecondaryIndexes", "LSI"),
)


def _source(
    name: str | None, kind: Kind, described: Mapping[str, Any], tags: Mapping[str, str]
) -> Source:
    columns: dict[str, list[Column]] = {"HASH": [], "RANGE": []}
    for key in described["KeySchema"]:
        attribute = key["AttributeName"]
        columns[key["KeyType"]].append(Column(attribute, tags[attribute]))
    project: Any = "ALL"
    if name is not None:
        projection = described.get("Projection") or {}
        project = projection.get("ProjectionType", "ALL")
        if project == "INCLUDE":
            project = tuple(projection.get("NonKeyAttributes", ()))
    return Source(name, kind, tuple(columns["HASH"]), tuple(columns["RANGE"]), project)
