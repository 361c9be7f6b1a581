"""A table's description, as pages use it: keys, indexes, settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Item = dict[str, dict[str, Any]]
"""An item in the form of boto3's client: each value is {type: content}, with bytes for binary."""


@dataclass(frozen=True)
class Source:
    """A table, or one of its indexes, from which items can be read. For a table, `name` is
    empty."""

    name: str
    hash: str
    range: str | None
    local: bool = False
    projection: str = "ALL"
    includes: tuple[str, ...] = ()
    items: int = 0
    bytes: int = 0
    status: str = "ACTIVE"

    @property
    def title(self) -> str:
        return self.name or "Table"

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.hash, self.range) if self.range else (self.hash,)

    def request(self, table: str) -> dict[str, Any]:
        """The members of a Query or Scan that name this source."""
        return {"TableName": table} | ({"IndexName": self.name} if self.name else {})


@dataclass(frozen=True)
class VectorIndex:
    """A vector index. `hash` is its HASH attribute, if it has one."""

    name: str
    attribute: str
    dimensions: int
    distance: str
    hash: str | None
    status: str
    items: int
    bytes: int

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> "VectorIndex":
        schema = described.get("SearchSchema", ())
        hashes = (e["AttributeName"] for e in schema if e["SearchSchemaElementType"] == "HASH")
        return cls(
            described["IndexName"],
            described["VectorAttribute"]["AttributeName"],
            described["Dimensions"],
            described["DistanceFunction"].lower().replace("_", " "),
            next(hashes, None),
            described.get("IndexStatus", "ACTIVE"),
            described.get("ItemCount", 0),
            described.get("IndexSizeBytes", 0),
        )


@dataclass(frozen=True)
class TableShape:
    description: Mapping[str, Any]
    name: str
    table: Source
    indexes: tuple[Source, ...]

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> "TableShape":
        indexes = [
            _source(index, index["IndexName"], local)
            for member, local in (
                ("GlobalSecondaryIndexes", False),
                ("LocalSecondaryIndexes", True),
            )
            for index in description.get(member, ())
        ]
        table = _source(description, "", False)
        return cls(
            description,
            description["TableName"],
            table,
            tuple(sorted(indexes, key=lambda index: index.name)),
        )

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.table, *self.indexes)

    def source(self, name: str) -> Source | None:
        return next((source for source in self.sources if source.name == name), None)

    @cached_property
    def vectors(self) -> tuple[VectorIndex, ...]:
        vector_indexes = map(VectorIndex.of, self.description.get("VectorIndexes", ()))
        return tuple(sorted(vector_indexes, key=lambda index: index.name))

    def vectors_of(self, item: Item) -> list[VectorIndex]:
        """The vector indexes in which items similar to this one can be searched."""
        return [
            index
            for index in self.vectors
            if index.status == "ACTIVE"
            and len(item.get(index.attribute, {}).get("L", ())) == index.dimensions
            and (index.hash is None or index.hash in item)
        ]

    @cached_property
    def types(self) -> dict[str, str]:
        """The types of all key attributes: S, N or B."""
        return {
            defined["AttributeName"]: defined["AttributeType"]
            for defined in self.description.get("AttributeDefinitions", ())
        }

    @cached_property
    def leading(self) -> tuple[str, ...]:
        """The key attributes: first those of the table, then those of its indexes."""
        return tuple(dict.fromkeys(name for source in self.sources for name in source.keys))

    @cached_property
    def key_attributes(self) -> frozenset[str]:
        """The attributes that are keys of the table or of an index."""
        return frozenset(self.leading)

    def key_of(self, item: Item) -> Item:
        return {name: item[name] for name in self.table.keys}

    @property
    def billing(self) -> str:
        summary = self.description.get("BillingModeSummary", {})
        if summary.get("BillingMode") == "PAY_PER_REQUEST":
            return "on demand"
        units = self.description.get("ProvisionedThroughput", {})
        return f"{units.get('ReadCapacityUnits', 0)} r / {units.get('WriteCapacityUnits', 0)} w"

    @property
    def stream(self) -> str:
        """The view type of the table's stream, e.g. "new and old images"; empty if no stream is
        enabled."""
        specification = self.description.get("StreamSpecification", {})
        view: str = specification.get("StreamViewType", "")
        return view.replace("_", " ").lower() if specification.get("StreamEnabled") else ""


def _source(described: Mapping[str, Any], name: str, local: bool) -> Source:
    keys = {key["KeyType"]: key["AttributeName"] for key in described["KeySchema"]}
    projection = described.get("Projection", {})
    return Source(
        name,
        keys["HASH"],
        keys.get("RANGE"),
        local,
        projection.get("ProjectionType", "ALL"),
        tuple(projection.get("NonKeyAttributes", ())),
        described.get("ItemCount", 0),
        described.get("TableSizeBytes", described.get("IndexSizeBytes", 0)),
        described.get("TableStatus", described.get("IndexStatus", "ACTIVE")),
    )
