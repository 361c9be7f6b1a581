"""Settings of a database."""

from typing import Any, Literal, NamedTuple, get_args

from hashrange.model.bounds import check_number
from hashrange.model.consistency import Eventual
from hashrange.model.faults import Faults
from hashrange.model.limits import ITEM_COLLECTION_BYTES_MAX, MB, PARTITION_BYTES_MAX

Throughput = Literal["off", "measured", "enforced"]


class Settings(NamedTuple):
    """The settings of a database. `check` raises ValueError for a value out of its range.

    - `table_delay`: for this many seconds the status of a new table is CREATING, and the status of
      a changed time to live or of changed Contributor Insights is ENABLING or DISABLING.
    - `shard_seconds`: a shard of a stream is closed after this many seconds, and a new one follows.
    - `collection_bytes_max`: the maximum size of an item collection in a table with local indexes.
    - `expirations_per_second`: at most this many expired items are deleted in a second; above 0.
    - `throughput`: "measured" counts the units that each table, index and key consumes; "enforced"
      also refuses requests, as DynamoDB does; "off" does neither.
    - `consistency`: with an `Eventual`, eventually consistent reads may return old values; by
      default each read sees the latest commit.
    - `faults`: requests that fail on purpose.
    - `vector_cache_bytes`: the memory that vector searches may use, including temporary values. A
      group of vectors that does not fit is read from the store by each search.

    - `accept_unsupported`: accept settings of tables for features that the database does not have,
      such as Kinesis destinations. They are stored, described, and logged, but have no effect. If
      false, they are refused. None means true for a database in memory, else false.
    - `kinesis`: the target for the records of Kinesis destinations: the name of a file, which gets
      a line of JSON for each record, or the URL of a service with the API of Kinesis. With None
      nothing is sent.
    - `objects`: the buckets of imports, exports and bulk puts: a folder with a subfolder for each
      bucket, or "s3://".
    - `archive`: the place to which the log of a database file is shipped: a folder, or
      s3://bucket/prefix. Every moment of the last `archive_seconds` can be restored. While the
      place cannot be reached, the log is kept up to `archive_log_bytes` and for
      `archive_log_seconds`. After that, the log is dropped, and its moments cannot be restored.
    - `access`: the path of an access file, which says what the principals of access keys may do.
      With None everybody may do everything.
    - `record`: a new file, in which the load is recorded for `hashrange predict`. `record_keys` is
      "exact" to record the values of keys, or "hmac" to record only keyed hashes.

    The other settings are the limits of partitions:

    - `partition_bytes`: a partition that has grown above this size is split.
    - `partition_read_units`, `partition_write_units`: the units that a partition serves per second.
    - `burst_seconds`: unused provisioned units are kept for this many seconds.
    - `initial_burst_seconds`: a new table or index starts with the unused provisioned units of this
      many seconds (an assumption).
    - `index_backlog_units`: if the pending writes of a global index exceed these units, writes to
      its table are refused.
    - `heat_share`, `heat_seconds`: a partition is split, if that helps, when it has used this share
      of its units for `heat_seconds`, or has refused requests in a quarter of these seconds.
    - `growth_seconds`: the time in which an on-demand table adapts to a new peak.
    """

    table_delay: float = 0.0
    shard_seconds: float = 4 * 60 * 60
    collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX
    expirations_per_second: float = 10_000
    throughput: Throughput = "off"
    consistency: Eventual | None = None
    faults: Faults | None = None
    vector_cache_bytes: int = 512 * MB
    accept_unsupported: bool | None = None
    kinesis: str | None = None
    objects: str | None = None
    archive: str | None = None
    archive_seconds: float = 35 * 86_400
    archive_log_bytes: int = 10_000 * MB
    archive_log_seconds: float = 86_400
    access: Any = None
    record: str | None = None
    record_keys: Literal["hmac", "exact"] = "hmac"
    partition_bytes: int = PARTITION_BYTES_MAX
    partition_read_units: float = 3000
    partition_write_units: float = 1000
    burst_seconds: float = 300
    initial_burst_seconds: float = 1
    index_backlog_units: float = 1000
    heat_share: float = 0.8
    heat_seconds: float = 300
    growth_seconds: float = 30 * 60

    def check(self) -> None:
        """Raises ValueError for an invalid setting, with the allowed range."""
        if self.consistency is not None:
            if not isinstance(self.consistency, Eventual):
                raise ValueError(f"consistency must be an Eventual, not {self.consistency!r}")
            self.consistency.check()
        if self.throughput not in get_args(Throughput):
            raise ValueError(
                f"throughput must be one of {get_args(Throughput)}, not {self.throughput!r}"
            )
        if self.record is not None and self.throughput == "off":
            raise ValueError('record needs throughput="measured" or "enforced"')
        if self.record_keys not in ("hmac", "exact"):
            raise ValueError(f'record_keys must be "hmac" or "exact", not {self.record_keys!r}')
        for name in _NOT_NEGATIVE:
            check_number(name, getattr(self, name), above_zero=False)
        for name in _POSITIVE:
            check_number(name, getattr(self, name), above_zero=True)
        check_number("heat_share", self.heat_share, above_zero=True, most=1)
        if self.faults is not None:
            if not isinstance(self.faults, Faults):
                raise ValueError(f"faults must be a Faults, not {self.faults!r}")
            self.faults.check()


_NOT_NEGATIVE = (
    "initial_burst_seconds",
    "table_delay",
    "vector_cache_bytes",
    "index_backlog_units",
    "growth_seconds",
)
_POSITIVE = (
    "archive_seconds",
    "archive_log_bytes",
    "archive_log_seconds",
    "shard_seconds",
    "collection_bytes_max",
    "expirations_per_second",
    "partition_bytes",
    "partition_read_units",
    "partition_write_units",
    "burst_seconds",
    "heat_seconds",
)

DEFAULT_SETTINGS = Settings()
