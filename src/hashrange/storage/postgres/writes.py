"""The writes of a transaction, folded into one change for each row, as the steps of a script.

A row that was read is changed only if its version is still the one that was read; otherwise there
is a conflict. Versions are random and never used twice, not even after a row was deleted, so an
equal version means the same row.

Rows that the transaction has not read, such as entries of indexes, are written without a look at
what is there: each belongs to a row that was read, which guards it.

The number of an appended row comes from a row in `log_heads`, one for each slot of a log, which
stays locked until the commit. So numbers are in the order of the commits, which those of a sequence
would not be. The row also holds the latest prefix, which a later row of the slot gets if its own is
lower: a prefix begins with a time, and the clock of another server may be ahead, or a transaction
that took less time.
"""

from collections.abc import Sequence
from typing import Any

from hashrange.kv import (
    CATALOG,
    SYSTEM_SPACE,
    Add,
    Append,
    CreateSpace,
    Delete,
    DropSpace,
    Key,
    Max,
    Purge,
    Put,
    Write,
    unpack_weight,
)
from hashrange.storage.postgres.guards import ABSENT, DROPPED_LIST, Guards
from hashrange.storage.postgres.keys import stored
from hashrange.storage.postgres.script import (
    APPENDS,
    CLEARS,
    COUNTERS,
    DELETES,
    FENCE,
    HEADS,
    IDS,
    INSERTS,
    LOCKS,
    SPACES,
    UPDATES,
    UPSERTS,
    Script,
    Step,
)


class Folded:
    """The state of each row after all writes, and the other changes.

    Raises LookupError for a write to a space that the transaction itself has dropped.
    """

    def __init__(self, writes: Sequence[Write]) -> None:
        self.rows: dict[Key, bytes | None] = {}
        self.added: dict[bytes, int] = {}
        self.appended: list[Append] = []
        self.on_spaces: list[CreateSpace | DropSpace | Purge] = []
        self._created: set[int] = {SYSTEM_SPACE}
        self._dropped: set[int] = set()
        self._spaces: set[int] = set()
        for write in writes:
            self._fold(write)

    def _fold(self, write: Write) -> None:
        match write:
            case Put():
                self._use(write.space)
                self.rows[write.space, write.key] = write.value
            case Delete():
                self._use(write.space)
                self.rows[write.space, write.key] = None
            case Add():
                self.added[write.name] = self.added.get(write.name, 0) + write.delta
            case Append():
                self._use(write.space)
                self.appended.append(write)
            case CreateSpace():
                self._created.add(write.space)
                self.on_spaces.append(write)
            case DropSpace():
                self._use(write.space)
                self._dropped.add(write.space)
                self.on_spaces.append(write)
            case Purge():
                self.on_spaces.append(write)
            case Max():
                pass  # the clock is the database's own

    def _use(self, space: int) -> None:
        if space in self._dropped:
            raise LookupError(space)
        self._spaces.add(space)

    @property
    def is_empty(self) -> bool:
        return not (self.rows or self.added or self.appended or self.on_spaces)

    @property
    def shared(self) -> set[int]:
        """Spaces that are written to and must exist."""
        return self._spaces - self._created

    @property
    def alone(self) -> set[int]:
        """Locks that are held alone for the changes of spaces."""
        spaces = {each.space for each in self.on_spaces if not isinstance(each, Purge)}
        return spaces | {DROPPED_LIST} if self.on_spaces else set()

    @property
    def redefines(self) -> bool:
        """Whether it changes what tables and spaces there are, so that no writer may be under way
        that does not know it."""
        return self.changes_catalog or any(type(each) is not Purge for each in self.on_spaces)

    @property
    def changes_catalog(self) -> bool:
        return CATALOG in self.rows


class Plan:
    """The step that writes, the rows to lock before it, and the rows to delete again after it."""

    def __init__(self, folded: Folded, guards: Guards, version: int) -> None:
        """`version` is that of all rows that are written."""
        self._version = version
        self._values: dict[int, list[tuple[Any, ...]]] = {}
        self._changed: dict[int, int] = {}
        self._locks: list[tuple[Any, ...]] = []
        """Rows to lock: space, slot, key and version."""
        self._absent: list[tuple[Any, ...]] = []
        """Space, slot and key of rows that are only inserted so that nobody else does."""
        self._add_rows(folded, guards)
        for space in sorted(folded.shared | guards.spaces()):
            self._add(SPACES, (space,))
        for name in sorted(folded.added):
            self._add(COUNTERS, (name, folded.added[name]))
        if folded.appended:
            self._add_log(folded.appended)

    def add_to(self, script: Script, id_: bytes) -> None:
        script.add(LOCKS, self._locks)
        script.add_step(Step({IDS: [(id_,)], **self._values}, self._changed))
        script.add(CLEARS, self._absent)

    def _add(self, part: int, values: tuple[Any, ...]) -> None:
        self._values.setdefault(part, []).append(values)

    def _add_rows(self, folded: Folded, guards: Guards) -> None:
        """In the order of the keys, which is the order of the locks."""
        known, rows = guards.versions, folded.rows
        only_read = False
        for at, key in sorted((stored(key), key) for key in rows.keys() | known.keys()):
            version = known.get(key)
            if key in rows:
                self._add_row(at, version, rows[key])
            elif key == CATALOG:
                self._add(FENCE, (*at[:3], version))
                self._changed[FENCE] = 0 if version == ABSENT else 1
            elif version == ABSENT:
                self._add_absent(at)
            else:
                only_read = True
            if version and not (key == CATALOG and key not in rows):
                self._locks.append((*at[:3], version))
        mixed = UPDATES in self._values and DELETES in self._values
        if not (only_read or mixed or CLEARS in self._values):
            # The step that writes locks the rows in order. Rows are deleted unread only after the
            # rows that guard them are locked: a statement does not see what is committed while it
            # waits for a lock.
            self._locks = []

    def _add_row(self, at: Any, version: int | None, value: bytes | None) -> None:
        if value is None:
            if version is None:
                self._add(CLEARS, at[:3])
            elif version == ABSENT:
                self._add_absent(at)
            else:
                self._add(DELETES, (*at[:3], version))
            return
        weight = unpack_weight(value)[0]
        if version is None:
            self._add(UPSERTS, (*at, self._version, weight, value))
        elif version == ABSENT:
            self._add(INSERTS, (*at, self._version, weight, value))
        else:
            self._add(UPDATES, (*at[:3], version, self._version, weight, value))

    def _add_absent(self, at: Any) -> None:
        self._add(INSERTS, (*at, self._version, 0, b""))
        self._absent.append(at[:3])

    def _add_log(self, appended: Sequence[Append]) -> None:
        slots: dict[tuple[int, int], list[Append]] = {}
        for append in appended:
            slots.setdefault((append.space, append.slot), []).append(append)
        for (space, slot), records in sorted(slots.items()):
            count = len(records)
            latest = max(record.prefix for record in records)
            self._add(HEADS, (space, slot, count, latest))
            for number, record in enumerate(records, 1):
                weight = unpack_weight(record.value)[0]
                later = count - number
                self._add(APPENDS, (space, slot, later, self._version, weight, record.value))
