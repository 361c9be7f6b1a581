"""Backups of tables, as the catalog stores them."""

from typing import Literal

from msgspec import Struct

from hashrange.model.tables import Table

Kind = Literal["USER", "SYSTEM", "RESTORE"]
"""The type of a backup. USER and SYSTEM are types of the API.

RESTORE is a hidden backup with the state of a table at the point in time that is being restored. It
is deleted when the new table has its items.
"""


class Copying(Struct, frozen=True):
    """A copy of a table's rows that is being made while clients write to the table.

    First, the rows of the space `source` are copied in their current state; `copied_to` is the key
    that the copy has reached (None: all rows have been copied). Then the later changes in `history`
    are undone in the copy, from the latest back to the cut. The later changes are those of `epoch`
    and of later epochs, and those after the time `after`, in milliseconds. Changes whose keys are
    at or after `undo_before` have been undone (None: no change has).
    """

    source: int
    history: int
    epoch: int
    after: int | None = None
    copied_to: bytes | None = b""
    undo_before: bytes | None = None


class Restoring(Struct, frozen=True):
    """A table that is being restored from a backup. It has the items before the key
    `restored_to`."""

    table_name: str
    table_id: str
    restored_to: bytes = b""


class Backup(Struct, frozen=True, kw_only=True):
    """A backup: the rows of a table at one moment, in `space`, and the table's definition at that
    moment.

    While the backup is `copying`, its space does not have the rows of that moment yet. Times are in
    epoch seconds.
    """

    id: str
    name: str
    kind: Kind
    table: Table
    created_at: float
    expires_at: float | None = None
    items: int
    size_bytes: int
    space: int
    copying: Copying | None = None
    restoring: Restoring | None = None

    @property
    def arn(self) -> str:
        return f"{self.table.arn}/backup/{self.id}"
