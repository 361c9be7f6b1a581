"""Change logs and streams of tables, as the catalog stores them. Times are in milliseconds."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

RETENTION_SECONDS = 24 * 60 * 60
ITERATOR_SECONDS = 15 * 60

ViewType = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]


class Log(Struct, frozen=True):
    """A table's change log: the records of its changes, as long as something reads them.

    `space` holds the records, and `slots` is the number of ranges of the hash that they are
    divided into. `since` is the time when the latest reader began: records that are added have
    this time at least.
    """

    space: int
    slots: int
    since: int


class Stream(Struct, frozen=True, kw_only=True):
    """A stream of one table incarnation. It reads the change log in `space`.

    `slots` is the number of slots of that log, and so of shards that are open at a time. Each
    shard is closed after `shard_milliseconds`, and another one follows it.
    """

    table_name: str
    table_arn: str
    view: ViewType
    space: int
    hash: str
    range: str | None
    enabled_at: int
    disabled_at: int | None = None
    shard_milliseconds: int
    slots: int = 4

    @property
    def label(self) -> str:
        moment = datetime.fromtimestamp(self.enabled_at / 1000, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.enabled_at % 1000:03d}"

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/stream/{self.label}"

    @property
    def log(self) -> Log:
        return Log(self.space, self.slots, self.enabled_at)
