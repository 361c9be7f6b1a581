"""The writes of a transaction, folded into one change for each row, as the steps of a script.

A row that was read is changed only if its version is still the one that was read; otherwise there
is a conflict. Versions are random and never used twice, not even after a row was deleted, so a row
with the same version has not changed.

Rows that the transaction has not read, such as entries of indexes, are written without a check.
Each of them belongs to a row that was read and is checked.

The number of an appended row comes from `log_heads`, which has a row for each slot of a log. This
row stays locked until the commit, so numbers are in the order of the commits. The numbers of a
PostgreSQL sequence would not be. The row in `log_heads` also has the highest prefix so far. An
appended row with a lower prefix gets this prefix instead. A prefix begins with a time, and may be
lower because another server's clock is ahead, or because a transaction that began later has
committed first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

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
    slot_of,
    unpack_weight,
)
from hashrange.storage.postgres.guards import ABSENT, DROPPED_LIST, Guards
from hashrange.storage.postgres.keys import Stored, stored
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
    Place,
    Script,
    Step,
    Values,
)
from hashrange.storage.postgres.tables import PLAIN, Tables

CATALOG_PLACE = stored(CATALOG)[:3]
PLAIN_SLOT = 0
"""The slot of the ids of all transactions, unless the database is distributed by slots."""


class Folded:
    """The writes of a transaction, folded: the final state of each row, and the other changes.

    Raises LookupError for a write to a space that the transaction itself has dropped.
    """

    def __init__(self, writes: Sequence[Write]) -> None:
        self.rows: dict[Key, bytes | None] = {}
        self.added: dict[bytes, int] = {}
        self.appended: list[Append] = []
        self.on_spaces: list[CreateSpace | DropSpace | Purge] = []
        self._created: set[int] = {SYSTEM_SPACE}
        self._dropped: set[int] = set()
        self.spaces: set[int] = set()
        """The spaces that are written to."""
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
        self.spaces.add(space)

    @property
    def is_empty(self) -> bool:
        return not (self.rows or self.added or self.appended or self.on_spaces)

    @property
    def shared(self) -> set[int]:
        """The spaces that are written to and must exist already."""
        return self.spaces - self._created

    @property
    def alone(self) -> set[int]:
        """The locks that the transaction holds exclusively, because it creates, drops or purges
        spaces."""
        spaces = {each.space for each in self.on_spaces if not isinstance(each, Purge)}
        return spaces | {DROPPED_LIST} if self.on_spaces else set()

    @property
    def redefines(self) -> bool:
        """Whether the transaction changes definitions of tables, or creates or drops a space. No
        writer under way may miss such a change."""
        return self.changes_catalog or any(type(each) is not Purge for each in self.on_spaces)

    @property
    def changes_catalog(self) -> bool:
        return CATALOG in self.rows


class Layout(NamedTuple):
    """Where a transaction writes. The defaults are for a database that is not distributed."""

    tables_of: Callable[[int], Tables] = lambda slot: PLAIN
    tables: Sequence[Tables] = (PLAIN,)
    fence: tuple[int, int, bytes] = CATALOG_PLACE
    """The place of the row with the version of the catalog."""
    slot: int = PLAIN_SLOT
    """The slot of the transaction's id."""
    slot_of_counters: int | None = None
    """The slot of the counters. If it is None, the slot follows from the process id of the
    connection's server process, so that connections seldom wait for each other."""
    shards: Sequence[int] = ()
    """The numbers of the shards that must not have moved."""


ONE_DATABASE = Layout()

NOTHING: Mapping[Place, Values] = {}


class Plan:
    """The step that writes, the rows to lock before it, and the rows to delete after it."""

    def __init__(
        self, folded: Folded, guards: Guards, version: int, layout: Layout = ONE_DATABASE
    ) -> None:
        """All written rows get the version `version`."""
        self._version = version
        self._layout = layout
        self._values: dict[Place, list[tuple[Any, ...]]] = {}
        self._changed: dict[Place, int] = {}
        self._locks: dict[Place, list[tuple[Any, ...]]] = {}
        """For each place, the rows to lock: space, slot, key and version."""
        self._absent: dict[Place, list[tuple[Any, ...]]] = {}
        """For each place, the space, slot and key of rows that are inserted only to keep other
        transactions from inserting them."""
        self._add_rows(folded, guards)
        for name in sorted(folded.added):
            values = name, layout.slot_of_counters, folded.added[name]
            self._add(COUNTERS, layout.slot, values)
        if folded.appended:
            self._add_log(folded.appended)

    def add_spaces(self, spaces: set[int]) -> None:
        """Make the step that writes fail unless these spaces exist."""
        if spaces:
            self._values[SPACES, PLAIN] = [(space,) for space in sorted(spaces)]

    def add_to(self, script: Script, id_: bytes, first: Mapping[Place, Values] = NOTHING) -> None:
        """Add the steps of this plan to a script. The transaction's id is inserted, too. `first`
        has values for other parts, which are added to the first step."""
        layout = self._layout
        self._add(IDS, layout.slot, (layout.slot, id_))
        if self._locks:
            script.add_step(Step({**first, **self._locks}))
            first = NOTHING
        script.add_step(Step({**first, **self._values}, self._changed))
        script.add_step(Step(self._absent))

    def _add(self, part: int, slot: int, values: tuple[Any, ...]) -> None:
        self._values.setdefault(self._place(part, slot), []).append(values)

    def _place(self, part: int, slot: int) -> Place:
        return part, self._layout.tables_of(slot)

    def _add_rows(self, folded: Folded, guards: Guards) -> None:
        """Add the rows in the order of their keys, which is the order of locking."""
        known, rows = guards.versions, folded.rows
        only_read = False
        for at, key in sorted((stored(key), key) for key in rows.keys() | known.keys()):
            version = known.get(key)
            if key in rows:
                self._add_row(at, version, rows[key])
            elif key == CATALOG:
                self._add_fence(version)
                continue
            elif version == ABSENT:
                self._add_absent(at)
            else:
                only_read = True
            if version:
                lock = self._place(LOCKS, at.slot)
                self._locks.setdefault(lock, []).append((*at[:3], version))
        parts = {part for part, _ in self._values}
        mixed = UPDATES in parts and DELETES in parts
        if not (only_read or mixed or CLEARS in parts):
            # The step that writes locks the rows in order. Rows are deleted unread only after the
            # rows that guard them are locked, because a statement does not see commits that are
            # made while it waits for a lock.
            self._locks = {}

    def _add_fence(self, version: int | None) -> None:
        fence = self._layout.fence
        self._add(FENCE, fence[1], (*fence, version))
        self._changed[self._place(FENCE, fence[1])] = 0 if version == ABSENT else 1

    def _add_row(self, at: Stored, version: int | None, value: bytes | None) -> None:
        if value is None:
            if version is None:
                self._add(CLEARS, at.slot, at[:3])
            elif version == ABSENT:
                self._add_absent(at)
            else:
                self._add(DELETES, at.slot, (*at[:3], version))
            return
        weight = unpack_weight(value)[0]
        if version is None:
            self._add(UPSERTS, at.slot, (*at, self._version, weight, value))
        elif version == ABSENT:
            self._add(INSERTS, at.slot, (*at, self._version, weight, value))
        else:
            self._add(UPDATES, at.slot, (*at[:3], version, self._version, weight, value))

    def _add_absent(self, at: Stored) -> None:
        self._add(INSERTS, at.slot, (*at, self._version, 0, b""))
        self._absent.setdefault(self._place(CLEARS, at.slot), []).append(at[:3])

    def _add_log(self, appended: Sequence[Append]) -> None:
        slots: dict[tuple[int, int], list[Append]] = {}
        for append in appended:
            slots.setdefault((append.space, append.slot), []).append(append)
        for (space, slot), records in sorted(slots.items()):
            # The slot of a log need not be that of its rows.
            count = len(records)
            latest = max(record.prefix for record in records)
            self._add(HEADS, slot, (space, slot, count, latest))
            for number, record in enumerate(records, 1):
                weight = unpack_weight(record.value)[0]
                values = space, slot, count - number, self._version, weight, record.value
                self._add(APPENDS, slot_of(record.prefix), values)
