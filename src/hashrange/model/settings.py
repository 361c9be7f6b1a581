"""Settings of a database."""

from typing import NamedTuple

from hashrange.model.limits import ITEM_COLLECTION_BYTES_MAX, PARTITION_BYTES_MAX


class Settings(NamedTuple):
    """`table_delay`: how many seconds the status of a new table is CREATING. `shard_seconds`: after
    how many seconds the shards of a stream roll over. `collection_bytes_max`: the maximum size of
    an item collection in a table with local indexes. `expirations_per_second`, above 0: how many
    expired items are deleted in a second at most. `partition_bytes`: a partition that has
    grown above this size is split.
    """

    table_delay: float = 0.0
    shard_seconds: float = 4 * 60 * 60
    collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX
    expirations_per_second: float = 10_000
    partition_bytes: int = PARTITION_BYTES_MAX


DEFAULT_SETTINGS = Settings()
