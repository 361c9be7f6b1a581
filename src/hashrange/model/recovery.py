"""The parts of a table's definition that concern recovery. Times are in epoch seconds."""

from msgspec import Struct

from hashrange.model.limits import DAY_SECONDS
from hashrange.model.streams import SLOTS_MAX


class Recovery(Struct, frozen=True):
    """Point-in-time recovery: the time at which it was enabled, and its period in days."""

    since: float
    days: int

    def earliest(self, now: float) -> float:
        """The earliest time to which the table can be restored."""
        return max(self.since, now - self.days * DAY_SECONDS)


class History(Struct, frozen=True):
    """The space with the changes of a table's items, and the latest epoch: see `engine.history`."""

    space: int
    epoch: int

    @property
    def slot(self) -> int:
        """The PostgreSQL slot of all records of the history. Histories of different tables have
        different slots, so they can be on several machines."""
        return self.space % SLOTS_MAX


class Restored(Struct, frozen=True):
    """The source of a table that is being restored: another table at a moment, or a backup."""

    table_arn: str
    backup_arn: str | None
    at: float
