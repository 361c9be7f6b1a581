"""The writes of a transaction, folded into one change for each row, as one statement.

The statement is made of parts, like that of the reads. Each part says how many rows it has changed.
For those that are guarded it is known how many it must be, and any other number is a conflict. A
row that was read is changed only if its version is still the one that was read. Versions are random
and never used twice, also not after a row was deleted, so an equal version means the same row.

Rows that the transaction has not read, such as entries of indexes, are written whatever is there:
each belongs to a row that was read, which guards it.

The number of an appended row comes from a row in `log_heads`, one for each slot of a log, which
stays locked until the commit. So numbers have the order of the commits; those of a sequence do not.
The row also holds the latest prefix, which all later rows of the slot get at least: a prefix begins
with a time, and the clock of another server, or a transaction that took less time, may be ahead.
"""

from collections.abc import Sequence
from functools import lru_cache
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
from hashrange.storage.postgres.reads import columns

# The parts of the statement, in the order in which they are carried out.
FENCE, SPACES, INSERTS, UPDATES, DELETES, UPSERTS, CLEARS, COUNTERS, HEADS, APPENDS = range(10)

_PUT = """INSERT INTO rows (space, slot, key, rest, version, weight, value)
SELECT q.space, q.slot, q.key, q.rest, $2, q.weight, q.value FROM unnest(${0}::int[],
    ${1}::smallint[], ${2}::bytea[], ${3}::bytea[], ${4}::int[], ${5}::bytea[])
    AS q (space, slot, key, rest, weight, value)"""

_AT = "r.space = q.space AND r.slot = q.slot AND r.key = q.key"

_PARTS: dict[int, tuple[str, int]] = {
    FENCE: (
        "SELECT 1 FROM rows WHERE space = ${0} AND slot = ${1} AND key = ${2} "
        "AND (version = ${3} OR ${3} = 0)",
        4,
    ),
    SPACES: ("SELECT 1 FROM spaces WHERE space = ANY (${0}::int[])", 1),
    INSERTS: (_PUT + " ON CONFLICT DO NOTHING RETURNING 1", 6),
    UPDATES: (
        f"""UPDATE rows r SET version = $2, weight = q.weight, value = q.value
FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[], ${{3}}::bigint[], ${{4}}::int[],
    ${{5}}::bytea[]) AS q (space, slot, key, expected, weight, value)
WHERE {_AT} AND r.version = q.expected RETURNING 1""",
        6,
    ),
    DELETES: (
        f"""DELETE FROM rows r
USING unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[], ${{3}}::bigint[])
    AS q (space, slot, key, expected)
WHERE {_AT} AND r.version = q.expected RETURNING 1""",
        4,
    ),
    UPSERTS: (
        _PUT
        + """ ON CONFLICT (space, slot, key) DO UPDATE
SET version = excluded.version, weight = excluded.weight, value = excluded.value RETURNING 1""",
        6,
    ),
    CLEARS: (
        f"""DELETE FROM rows r
USING unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[]) AS q (space, slot, key)
WHERE {_AT} RETURNING 1""",
        3,
    ),
    COUNTERS: (
        # A backend always adds to the same place, so that backends do not wait for each other.
        """INSERT INTO counters (name, slot, value)
SELECT q.name, pg_backend_pid() % 64, q.delta
FROM unnest(${0}::bytea[], ${1}::bigint[]) AS q (name, delta)
ON CONFLICT (name, slot) DO UPDATE SET value = counters.value + excluded.value RETURNING 1""",
        2,
    ),
    HEADS: (
        """INSERT INTO log_heads (space, slot, number, prefix)
SELECT q.* FROM unnest(${0}::int[], ${1}::smallint[], ${2}::bigint[], ${3}::bytea[]) AS q
ON CONFLICT (space, slot) DO UPDATE SET number = log_heads.number + excluded.number,
    prefix = greatest(log_heads.prefix, excluded.prefix)
RETURNING space, slot, number, prefix""",
        4,
    ),
    APPENDS: (
        f"""INSERT INTO rows (space, slot, key, version, weight, value)
SELECT q.space, (get_byte(k.key, 0) * 256 + get_byte(k.key, 1)) / 64, k.key, $2, q.weight, q.value
FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bigint[], ${{3}}::int[], ${{4}}::bytea[])
    AS q (space, slot, later, weight, value)
JOIN part{HEADS} h ON h.space = q.space AND h.slot = q.slot
CROSS JOIN LATERAL (SELECT h.prefix || int8send(h.number - q.later) AS key) k RETURNING 1""",
        5,
    ),
}
"""The text of each part, and how many parameters it has. $1 is the id of the transaction, and $2
the version of the rows that it writes."""

LOCK = f"""SELECT 1 FROM unnest($1::int[], $2::smallint[], $3::bytea[], $4::bigint[])
    WITH ORDINALITY AS q (space, slot, key, expected, i)
JOIN rows r ON {_AT} AND r.version = q.expected ORDER BY q.i FOR UPDATE OF r"""
"""Locks rows in the order in which they are given, if they still have the expected version."""

CLEAR = (
    f"DELETE FROM rows r USING unnest($1::int[], $2::smallint[], $3::bytea[]) "
    f"AS q (space, slot, key) WHERE {_AT}"
)


@lru_cache(maxsize=256)
def _statement(parts: tuple[int, ...]) -> str:
    texts = ["id AS (INSERT INTO batches (id) VALUES ($1) RETURNING $2::bigint)"]
    count = 3
    for part in parts:
        text, parameters = _PARTS[part]
        texts.append(f"part{part} AS ({text.format(*range(count, count + parameters))})")
        count += parameters
    counts = ["(SELECT count(*) FROM id)"]
    counts += [f"(SELECT count(*) FROM part{part})" for part in parts]
    return f"WITH {', '.join(texts)}\nSELECT {', '.join(counts)}"


class Folded:
    """Writes in any order, as the last state of each row. Raises LookupError for a write to a space
    that the transaction itself has dropped."""

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
    def changes_catalog(self) -> bool:
        return CATALOG in self.rows


class Plan:
    """The statement of a transaction, the rows to lock before it, and what it must have changed."""

    def __init__(self, folded: Folded, guards: Guards) -> None:
        self._values: dict[int, list[tuple[Any, ...]]] = {}
        self._expected: dict[int, int] = {}
        self.locks: list[tuple[Any, ...]] = []
        """Rows to lock: space, slot, key and version."""
        self.absent: list[tuple[Any, ...]] = []
        """Space, slot and key of rows that are only inserted so that nobody else does."""
        self.spaces = folded.shared | guards.spaces()
        self._add_rows(folded, guards)
        if self.spaces:
            self._add(SPACES, (sorted(self.spaces),))
            self._expected[SPACES] = len(self.spaces)
        for name in sorted(folded.added):
            self._add(COUNTERS, (name, folded.added[name]))
        if folded.appended:
            self._add_log(folded.appended)

    def statement(self, id_: bytes, version: int) -> tuple[str, list[Any]]:
        parts = tuple(sorted(self._values))
        arguments: list[Any] = [id_, version]
        for part in parts:
            values = self._values[part]
            arguments += values[0] if part in (FENCE, SPACES) else columns(values)
        return _statement(parts), arguments

    def unmet(self, counts: Sequence[int]) -> int | None:
        """The first guarded part that has not changed as many rows as it must."""
        for part, count in zip(sorted(self._values), counts[1:], strict=True):
            if part in self._expected and count != self._expected[part] and part != SPACES:
                return part
        return SPACES if self._lacks_spaces(counts) else None

    def _lacks_spaces(self, counts: Sequence[int]) -> bool:
        if SPACES not in self._values:
            return False
        return counts[1 + sorted(self._values).index(SPACES)] != self._expected[SPACES]

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
                self._expected[FENCE] = 0 if version == ABSENT else 1
            elif version == ABSENT:
                self._add_absent(at)
            else:
                only_read = True
            if version and not (key == CATALOG and key not in rows):
                self.locks.append((*at[:3], version))
        for part in (INSERTS, UPDATES, DELETES):
            if part in self._values:
                self._expected[part] = len(self._values[part])
        mixed = UPDATES in self._values and DELETES in self._values
        if not (only_read or mixed or CLEARS in self._values):
            # The statement itself locks the rows in order. Rows are deleted unread only after the
            # rows that guard them are locked: a statement does not see what is committed while it
            # waits for a lock.
            self.locks = []

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
            self._add(UPSERTS, (*at, weight, value))
        elif version == ABSENT:
            self._add(INSERTS, (*at, weight, value))
        else:
            self._add(UPDATES, (*at[:3], version, weight, value))

    def _add_absent(self, at: Any) -> None:
        self._add(INSERTS, (*at, 0, b""))
        self.absent.append(at[:3])

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
                self._add(APPENDS, (space, slot, count - number, weight, record.value))
