"""The statements of a commit, all sent in one message.

A round trip costs more than the work of most statements of a commit. asyncpg can send one statement
with many sets of arguments in one message. PostgreSQL executes the statement once for each set, as
one transaction, and each time with a new snapshot. So all steps of a commit run the same statement,
which is made of parts: each step has values for some parts, and empty arrays for the other parts.

A guarded part must change as many rows as the step expects. The client would learn the counts only
after the commit. So if a count differs, the statement divides by zero, which undoes everything. If
a space is absent, the statement takes the logarithm of zero.

A script that has `begun` is a part of a transaction that an earlier statement began. Any other
script is a transaction by itself.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import asyncpg

from hashrange.storage.postgres.reads import columns
from hashrange.storage.postgres.tables import PLAIN, Tables

# The parts, in the order of their execution. In every transaction, existing rows are locked before
# absent ones are inserted.
(
    ADVISORY,
    PINNED,
    HOLDS,
    LOCKS,
    IDS,
    FENCE,
    SPACES,
    UPDATES,
    DELETES,
    INSERTS,
    UPSERTS,
    CLEARS,
    COUNTERS,
    HEADS,
    APPENDS,
) = range(15)

GUARDED = frozenset({PINNED, LOCKS, FENCE, UPDATES, DELETES, INSERTS})
ONCE = frozenset({ADVISORY, PINNED, IDS, FENCE, SPACES, COUNTERS})
"""The parts that are not repeated for each shard."""

CHANGED = asyncpg.DivisionByZeroError
"""The error of a statement that finds that something has changed since it was read."""
NO_SPACE = asyncpg.InvalidArgumentForLogarithmError
"""The error of a statement if a space to be written is absent."""

_AT = "r.space = q.space AND r.slot = q.slot AND r.key = q.key"

_PUT = """INSERT INTO {rows} (space, slot, key, rest, version, weight, value)
SELECT q.space, q.slot, q.key, q.rest, q.version, q.weight, q.value
FROM unnest(${0}::int[], ${1}::smallint[], ${2}::bytea[], ${3}::bytea[], ${4}::bigint[],
    ${5}::int[], ${6}::bytea[]) AS q (space, slot, key, rest, version, weight, value)"""

_PARTS: dict[int, tuple[str, int]] = {
    ADVISORY: (
        """SELECT CASE WHEN q.alone THEN pg_advisory_xact_lock(q.namespace, q.number)::text
    ELSE pg_advisory_xact_lock_shared(q.namespace, q.number)::text END
FROM unnest(${0}::int[], ${1}::int[], ${2}::bool[]) AS q (namespace, number, alone)""",
        3,
    ),
    PINNED: ("SELECT 1 FROM generate_series(1, (SELECT pg_temp.pin(${0}::bigint[])))", 1),
    HOLDS: (
        # In the order of the arguments, whatever their versions.
        f"""SELECT 1 FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[])
    WITH ORDINALITY AS q (space, slot, key, i)
JOIN {{rows}} r ON {_AT} ORDER BY q.i FOR UPDATE OF r""",
        3,
    ),
    LOCKS: (
        # In the order of the arguments, if they still have the expected versions.
        f"""SELECT 1 FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[],
    ${{3}}::bigint[]) WITH ORDINALITY AS q (space, slot, key, expected, i)
JOIN {{rows}} r ON {_AT} AND r.version = q.expected ORDER BY q.i FOR UPDATE OF r""",
        4,
    ),
    IDS: (
        """INSERT INTO {batches} (slot, id)
SELECT q.* FROM unnest(${0}::smallint[], ${1}::bytea[]) AS q RETURNING 1""",
        2,
    ),
    FENCE: (
        f"""SELECT 1 FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[],
    ${{3}}::bigint[]) AS q (space, slot, key, expected)
JOIN {{rows}} r ON {_AT} AND (r.version = q.expected OR q.expected = 0)""",
        4,
    ),
    SPACES: ("SELECT 1 FROM unnest(${0}::int[]) AS q (space) JOIN spaces USING (space)", 1),
    UPDATES: (
        f"""UPDATE {{rows}} r SET version = q.version, weight = q.weight, value = q.value
FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[], ${{3}}::bigint[],
    ${{4}}::bigint[], ${{5}}::int[], ${{6}}::bytea[])
    AS q (space, slot, key, expected, version, weight, value)
WHERE {_AT} AND r.version = q.expected RETURNING 1""",
        7,
    ),
    DELETES: (
        f"""DELETE FROM {{rows}} r
USING unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[], ${{3}}::bigint[])
    AS q (space, slot, key, expected)
WHERE {_AT} AND r.version = q.expected RETURNING 1""",
        4,
    ),
    INSERTS: (_PUT + " ON CONFLICT DO NOTHING RETURNING 1", 7),
    UPSERTS: (
        _PUT
        + """ ON CONFLICT (space, slot, key) DO UPDATE
SET version = excluded.version, weight = excluded.weight, value = excluded.value RETURNING 1""",
        7,
    ),
    CLEARS: (
        f"""DELETE FROM {{rows}} r
USING unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[]) AS q (space, slot, key)
WHERE {_AT} RETURNING 1""",
        3,
    ),
    COUNTERS: (
        """INSERT INTO {counters} AS c (name, slot, value)
SELECT q.name, coalesce(q.slot, pg_backend_pid() % 64), q.delta
FROM unnest(${0}::bytea[], ${1}::smallint[], ${2}::bigint[]) AS q (name, slot, delta)
ON CONFLICT (name, slot) DO UPDATE SET value = c.value + excluded.value RETURNING 1""",
        3,
    ),
    HEADS: (
        """INSERT INTO {log_heads} AS h (space, slot, number, prefix)
SELECT q.* FROM unnest(${0}::int[], ${1}::smallint[], ${2}::bigint[], ${3}::bytea[]) AS q
ON CONFLICT (space, slot) DO UPDATE SET number = h.number + excluded.number,
    prefix = greatest(h.prefix, excluded.prefix)
RETURNING h.space, h.slot, h.number, h.prefix""",
        4,
    ),
    APPENDS: (
        """INSERT INTO {rows} (space, slot, key, version, weight, value)
SELECT q.space, (get_byte(k.key, 0) * 256 + get_byte(k.key, 1)) / 64, k.key, q.version, q.weight,
    q.value
FROM unnest(${0}::int[], ${1}::smallint[], ${2}::bigint[], ${3}::bigint[], ${4}::int[],
    ${5}::bytea[]) AS q (space, slot, later, version, weight, value)
JOIN ({heads}) h ON h.space = q.space AND h.slot = q.slot
CROSS JOIN LATERAL (SELECT h.prefix || int8send(h.number - q.later) AS key) k RETURNING 1""",
        6,
    ),
}
"""Maps each part to its SQL and the number of its parameters. Each parameter is an array: a column
of the part's values."""

Values = Sequence[tuple[Any, ...]]

Place = tuple[int, Tables]
"""A part, and the tables to which it applies."""


class Step:
    """The values of some parts. A guarded part must change one row for each of its values, unless
    `changed` has another number for this part."""

    def __init__(self, values: Mapping[Place, Values], changed: Mapping[Place, int] | None = None):
        self.values = {place: rows for place, rows in values.items() if rows}
        self._changed = changed or {}

    def arguments(self, places: Sequence[Place]) -> list[Any]:
        arguments: list[Any] = []
        for place in places:
            part, rows = place[0], self.values.get(place, ())
            arguments += columns(rows) if rows else [[]] * _PARTS[part][1]
            if part in GUARDED or part == SPACES:
                arguments.append(self._changed.get(place, len(rows)))
        return arguments


class Script:
    """Steps that are added one by one, and sent together by `run`.

    All steps use the same prepared statement. It has every kind of read and write once for each of
    the `tables`; those that a step does not need get empty arrays.
    """

    def __init__(self, begun: bool, tables: Sequence[Tables] = (PLAIN,)) -> None:
        self.begun = begun
        self._tables = tables
        self._steps: list[Step] = []

    def add(self, part: int, values: Values) -> None:
        """Add a step with `values` for one part. Without values, nothing is added."""
        self.add_step(Step({(part, PLAIN): values}))

    def add_step(self, step: Step) -> None:
        if step.values:
            self._steps.append(step)

    async def run(self, connection: Any) -> None:
        """Send the steps. Raises CHANGED, NO_SPACE, and the errors of asyncpg. After an error,
        nothing of the transaction remains."""
        steps, self._steps = self._steps, []
        if steps:
            there = {place for step in steps for place in step.values}
            places = tuple(
                sorted({(part, each) for part, at in there for each in self._tables_of(part, at)})
            )
            assert there.issubset(places), "each value must be for a table of the statement"
            await connection.executemany(
                _statement(places), [step.arguments(places) for step in steps]
            )

    def _tables_of(self, part: int, at: Tables) -> Sequence[Tables]:
        return (at,) if part in ONCE else self._tables


@lru_cache(maxsize=1024)
def _statement(places: tuple[Place, ...]) -> str:
    texts: list[str] = []
    met: list[str] = []
    there: list[str] = []
    count = 1
    heads = " UNION ALL ".join(f"SELECT * FROM {_name(*at)}" for at in places if at[0] == HEADS)
    for part, tables in places:
        text, parameters = _PARTS[part]
        numbers, name = range(count, count + parameters), _name(part, tables)
        texts.append(f"{name} AS ({text.format(*numbers, heads=heads, **tables._asdict())})")
        count += parameters
        changed = f"(SELECT count(*) FROM {name})"
        if part in GUARDED or part == SPACES:
            (there if part == SPACES else met).append(f"{changed} = ${count}")
            count += 1
        else:
            met.append(f"{changed} >= 0")
    results = [f"1 / ({' AND '.join(met)})::int" if met else "1"]
    results += [f"ln(({each})::int)" for each in there]
    return f"WITH {', '.join(texts)}\nSELECT {', '.join(results)}"


def _name(part: int, tables: Tables) -> str:
    return f"part{part}_{tables.rows}"
