"""What the owner of a database may choose of its behaviour."""

from typing import NamedTuple

from hashrange.model.limits import ITEM_COLLECTION_BYTES_MAX


class Settings(NamedTuple):
    """`table_delay`: how many seconds a new table says CREATING. `shard_seconds`: after how long
    the shards of a stream that is enabled now roll over. `collection_bytes_max`: how large an
    item collection may grow in a table with local indexes. `expirations_per_second`, above 0: how
    many items whose time to live is over are deleted in a second at most.
    """

    table_delay: float = 0.0
    shard_seconds: float = 4 * 60 * 60
    collection_bytes_max: int = ITEM_COLLECTION_BYTES_MAX
    expirations_per_second: float = 10_000


DEFAULT_SETTINGS = Settings()
