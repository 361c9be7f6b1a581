"""Table definitions, as the catalog stores them and operations use them.

Source: shapes TableDescription and SecondaryIndexDescription of the service model. Statuses are
not stored; they follow from stored times (`Table.status`).
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hashrange.model.insights import Insights
from hashrange.model.limits import DAY_SECONDS
from hashrange.model.partitions import WHOLE, Partition, counted_ranges, needed
from hashrange.model.recovery import History, Recovery, Restored
from hashrange.model.streams import Log, Stream

KeyType = Literal["S", "N", "B"]
Projection = Literal["ALL", "KEYS_ONLY", "INCLUDE"]
DistanceFunction = Literal["COSINE", "DOT_PRODUCT", "EUCLIDEAN"]


class Throughput(Struct, frozen=True):
    """ProvisionedThroughput, with the times of its last changes (epoch seconds).

    `decreases` counts the decreases on the UTC day of the last decrease.
    """

    read: int = 0
    write: int = 0
    increased_at: float | None = None
    decreased_at: float | None = None
    decreases: int = 0

    def decreases_on_day_of(self, now: float) -> int:
        if self.decreased_at is None or now // DAY_SECONDS > self.decreased_at // DAY_SECONDS:
            return 0
        return self.decreases

    def switched_off(self, now: float) -> "Throughput":
        """The throughput of an index whose table becomes on demand. It counts as a decrease."""
        decreases = self.decreases_on_day_of(now) + 1
        return Throughput(0, 0, self.increased_at, decreased_at=now, decreases=decreases)


class WarmThroughput(Struct, frozen=True):
    """Units per second that can be served at once. They never decrease."""

    read: int = 0
    write: int = 0

    def raised(self, read: int = 0, write: int = 0) -> "WarmThroughput":
        return WarmThroughput(max(self.read, read), max(self.write, write))


def partitions_needed(throughput: Throughput, warm: WarmThroughput) -> int:
    """The number of partitions that the provisioned and the warm throughput require."""
    provisioned = needed(throughput.read, throughput.write, on_demand=False)
    return max(provisioned, needed(warm.read, warm.write, on_demand=True))


class TableOrIndex(Struct, frozen=True, kw_only=True, dict=True):
    """An ordered set of rows that can be read: a table, or one of its indexes.

    `hash` and `range` name the key attributes in order. `hash` has one name and `range` at most
    one. In a global index with multi-attribute keys, each has up to four. Cached properties are
    computed once, because every request reads them.
    """

    space: int
    hash: tuple[str, ...]
    range: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = WHOLE
    """The partitions, in the order of their keys. A local index has the partitions of its table."""
    insights: Insights | None = None
    """The state of Contributor Insights, if they were ever enabled. A local index has none."""

    @cached_property
    def key(self) -> tuple[str, ...]:
        return self.hash + self.range

    @cached_property
    def partition_starts(self) -> tuple[bytes, ...]:
        return tuple(partition.start for partition in self.partitions)

    def partition_at(self, key: bytes) -> Partition:
        """The partition that holds the row with this key."""
        return self.partitions[bisect_right(self.partition_starts, key) - 1]

    def counted_in(self, key: bytes) -> int:
        """The number of the partition whose counters include the row with this key."""
        starts, numbers = self._counted
        return numbers[bisect_right(starts, key) - 1]

    @cached_property
    def _counted(self) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
        starts, numbers = zip(*counted_ranges(self.partitions), strict=True)
        return starts, numbers


class DeclaredIndex(TableOrIndex, frozen=True, kw_only=True):
    """An index that has a name, and that UpdateTable can add and delete."""

    name: str
    projection: Projection
    include: tuple[str, ...] = ()
    building: bool = False
    """Whether UpdateTable added the index and its backfill has not ended yet."""
    backfilling: bool | None = None
    """Whether the second phase of an index build by UpdateTable has begun. None without a build."""
    built_to: bytes = b""
    """The row key before which the table's rows have entries during the build. A build from the log
    may be further ahead."""
    scanned: bool = False
    """Whether a build from the log has appended the record for the table's last item."""

    @property
    def status(self) -> str:
        return "CREATING" if self.building else "ACTIVE"


class Index(DeclaredIndex, frozen=True, kw_only=True):
    """A secondary index. `space` holds a row for each item that has all keys of the index."""

    local: bool
    throughput: Throughput = Throughput()
    on_demand: dict[str, int] | None = None
    warm: WarmThroughput = WarmThroughput()


class VectorIndex(DeclaredIndex, frozen=True, kw_only=True):
    """A vector index. `space` holds a row for each item that has the vector and the HASH attribute.

    `hash` names the HASH attribute of the search schema, if there is one. `range` is empty. `log`
    is the space of the log of changed rows.
    """

    attribute: str
    dimensions: int
    distance: DistanceFunction
    filters: tuple[str, ...] = ()
    """The names of the INLINE_FILTER attributes of the search schema."""
    log: int


class FormerVectors(Struct, frozen=True, kw_only=True):
    """A vector index that was deleted, with the data that its items still need.

    A vector that was in the index is assumed to keep its size of four bytes per number. `hash` is
    the HASH attribute with its type. `built_to` is the key that an unfinished build had reached.
    """

    attribute: str
    dimensions: int
    hash: tuple[tuple[str, KeyType], ...]
    built_to: bytes | None = None


class KinesisDestination(Struct, frozen=True):
    """A Kinesis data stream that receives the table's changes.

    `changing` is the status until `settled_at`, in epoch seconds. The later status follows from
    `changing`. `feed` reads the table's change log. `feed` is None if the server that enabled the
    destination has no target for records, and only stores the settings. `failure` is the reason of
    the status ENABLE_FAILED.
    """

    stream_arn: str
    precision: str | None
    changing: str
    settled_at: float
    feed: Stream | None = None
    failure: str | None = None

    def status(self, now: float) -> str:
        if self.failure is not None:
            return "ENABLE_FAILED"
        if now < self.settled_at:
            return self.changing
        return "DISABLED" if self.changing == "DISABLING" else "ACTIVE"


class ResourcePolicy(Struct, frozen=True):
    """The policy of a table or a stream: canonical JSON, and the id of its revision."""

    text: str
    id: str


class TimeToLive(Struct, frozen=True, kw_only=True):
    """The attribute with the expiry times. `space` holds a hidden index by expiry time.

    While this index is being built, `built_to` is the key that the build has reached.
    """

    attribute: str
    space: int
    building: bool = True
    built_to: bytes = b""


class Table(TableOrIndex, frozen=True, kw_only=True):
    """A table. `types` maps each key attribute of the table and its indexes to S, N or B."""

    name: str
    id: str
    account: str
    region: str
    types: dict[str, KeyType]
    indexes: tuple[Index, ...] = ()
    vector_indexes: tuple[VectorIndex, ...] = ()
    former_vectors: tuple[FormerVectors, ...] = ()
    created_at: float
    active_at: float
    on_demand: bool = False
    on_demand_since: float | None = None
    on_demand_switches: tuple[float, ...] = ()
    """The times of the latest switches to on demand, at most `ON_DEMAND_SWITCHES_PER_DAY`."""
    throughput: Throughput = Throughput()
    on_demand_limits: dict[str, int] | None = None
    warm: WarmThroughput = WarmThroughput()
    deletion_protection: bool = False
    table_class: str | None = None
    table_class_since: float | None = None
    kms_key_arn: str | None = None
    """The KMS key that SSESpecification names. It is shown, but nothing is encrypted with it."""
    kinesis: tuple[KinesisDestination, ...] = ()
    recovery: Recovery | None = None
    history: History | None = None
    restored: Restored | None = None
    """The source of the items while the table is being restored."""
    stream: Stream | None = None
    """The latest stream, which may have been disabled."""
    ttl: TimeToLive | None = None
    collections: int | None = None
    """The space with the size of each item collection; None if there are no local indexes."""
    index_log: int | None = None
    """The space of the log that the global indexes follow; None if each write updates them."""
    ttl_changed_at: float | None = None
    ttl_disabled: str | None = None
    """The attribute of the last time to live that was disabled."""
    tags: dict[str, str] = field(default_factory=dict)
    resource_policy: ResourcePolicy | None = None
    stream_policies: dict[str, ResourcePolicy] = field(default_factory=dict)
    """Maps the ARNs of streams to their policies."""

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"

    @property
    def billing_mode(self) -> str:
        return "PAY_PER_REQUEST" if self.on_demand else "PROVISIONED"

    def status(self, now: float) -> str:
        if now < self.active_at:
            return "CREATING"
        return "UPDATING" if self.allocating else "ACTIVE"

    @property
    def allocating(self) -> list[str]:
        """The names of the indexes that are in the first phase of their build."""
        return [
            index.name
            for index in self.declared_indexes
            if index.building and not index.backfilling
        ]

    @cached_property
    def declared_indexes(self) -> tuple[Index | VectorIndex, ...]:
        """The indexes that have names: the secondary and the vector indexes."""
        return (*self.indexes, *self.vector_indexes)

    @cached_property
    def counts_vectors(self) -> bool:
        """Whether the stored size of an item may differ from the size of its values."""
        return bool(self.vector_indexes or self.former_vectors)

    def index(self, name: str) -> Index | None:
        return self._index_by_name.get(name)

    @cached_property
    def _index_by_name(self) -> dict[str, Index]:
        return {index.name: index for index in self.indexes}

    def named_index(self, name: str) -> Index | VectorIndex | None:
        return self.index(name) or self.vector_index(name)

    def vector_index(self, name: str) -> VectorIndex | None:
        return next((index for index in self.vector_indexes if index.name == name), None)

    def with_changed(self, changed: "Table | Index | VectorIndex") -> "Table":
        """The table with `changed`: a new definition of itself, or of the index of that name."""
        if isinstance(changed, Table):
            return changed
        if isinstance(changed, VectorIndex):
            others = (changed if i.name == changed.name else i for i in self.vector_indexes)
            return replace(self, vector_indexes=tuple(others))
        indexes = (changed if index.name == changed.name else index for index in self.indexes)
        return replace(self, indexes=tuple(indexes))

    @cached_property
    def sorted_indexes(self) -> tuple[Index, ...]:
        """The indexes by name: the order in which a write is checked."""
        return tuple(sorted(self.indexes, key=attrgetter("name")))

    def with_global_indexes(self) -> "Iterator[Table | Index]":
        """The table, then its global indexes by name: everything that has throughput of its own."""
        yield self
        for index in self.sorted_indexes:
            if not index.local:
                yield index

    @cached_property
    def index_keys(self) -> frozenset[str]:
        """The names of all attributes that are part of an index's key."""
        return frozenset(name for index in self.indexes for name in index.key)

    @cached_property
    def log_readers(self) -> tuple[Stream, ...]:
        """The readers of the change log: the stream and the feeds of Kinesis destinations.

        All readers have the same space and the same open slots.
        """
        return tuple(each for each in self._all_readers if each.disabled_at is None)

    @property
    def _all_readers(self) -> list[Stream]:
        """The stream and the feeds, including disabled ones."""
        readers = (self.stream, *(destination.feed for destination in self.kinesis))
        return [each for each in readers if each is not None]

    @cached_property
    def log(self) -> Log | None:
        """The table's change log. None if no stream or feed reads it: then no records are written.

        After a reader is disabled, new records have later times than all records for that reader.
        """
        readers = self.log_readers
        if not readers:
            return None
        ends = [each.disabled_at + 1 for each in self._all_readers if each.disabled_at is not None]
        since = max(*ends, *(reader.log.since for reader in readers), 0)
        return replace(readers[0].log, since=since)

    @cached_property
    def logs_images(self) -> bool:
        """Whether the records of the log have the images of items, because a reader needs them."""
        return any(reader.view != "KEYS_ONLY" for reader in self.log_readers)

    @cached_property
    def has_local_indexes(self) -> bool:
        return self.collections is not None

    @cached_property
    def global_indexes(self) -> tuple[Index, ...]:
        return tuple(index for index in self.indexes if not index.local)

    @cached_property
    def used_types(self) -> dict[str, KeyType]:
        """The attribute definitions that the table or an index needs."""
        names = {*self.key}
        for index in self.declared_indexes:
            names.update(index.key)
            names.update(index.filters if isinstance(index, VectorIndex) else ())
        return {name: type_ for name, type_ in self.types.items() if name in names}

    @cached_property
    def vector_attributes(self) -> frozenset[str]:
        """The names of all attributes that hold vectors or are named in search schemas."""
        return frozenset(
            name
            for index in self.vector_indexes
            for name in (index.attribute, *index.hash, *index.filters)
        )

    @cached_property
    def following(self) -> tuple[Index | VectorIndex, ...]:
        """The indexes that the index log updates, if there is one: all except the local indexes."""
        return (*self.global_indexes, *self.vector_indexes)

    @cached_property
    def built_from_log(self) -> tuple[Index, ...]:
        """The indexes that are being built from records of the index log: see `propagation`."""
        indexes = self.global_indexes if self.index_log is not None else ()
        return tuple(index for index in indexes if index.building)

    @cached_property
    def maintained(self) -> "tuple[AnyIndex, ...]":
        """All indexes that a write of an item updates, with the hidden one for time to live."""
        return (*self.declared_indexes, self.ttl) if self.ttl else self.declared_indexes


AnyIndex = Index | VectorIndex | TimeToLive
"""A definition of an index of any kind."""
