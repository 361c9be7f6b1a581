"""The SQL of reads: the parts of which a statement is made."""

from functools import lru_cache

from hashrange.kv import HEADER_BYTES, READ_BYTES_MAX
from hashrange.storage.postgres.tables import PLAIN_SOURCE, Source

# The parts of a statement. Each has the columns part, i, key, rest, number (the version of a row,
# or a counter) and value.
(
    DROPPED,
    TIME,
    GETS,
    COUNTERS,
    FORWARD,
    BACKWARD,
    MANY_GETS,
    BOUNDED_GETS,
    FENCE,
    PLACED,
) = range(10)

_GETS = """SELECT {part}, q.i::int, NULL::bytea, NULL::bytea, r.version, {value}
FROM unnest(${0}::int[], ${1}::smallint[], ${2}::bytea[])
    WITH ORDINALITY AS q (space, slot, key, i)
CROSS JOIN LATERAL (SELECT version, value FROM {rows}
    WHERE space = q.space AND slot = q.slot AND key = q.key LIMIT 1) r"""

_MANY_GETS = f"""SELECT {{part}}, i::int, NULL::bytea, NULL::bytea, version,
    CASE WHEN i <= ${{3}} OR before < {READ_BYTES_MAX} THEN value END
FROM (SELECT q.i, r.version, {{value}} AS value, sum(octet_length({{value}}))
        OVER (ROWS UNBOUNDED PRECEDING) - octet_length({{value}}) AS before
    FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[])
        WITH ORDINALITY AS q (space, slot, key, i)
    CROSS JOIN LATERAL (SELECT version, value FROM {{rows}}
        WHERE space = q.space AND slot = q.slot AND key = q.key LIMIT 1) r) found"""

_BOUNDED_GETS = f"""SELECT {{part}}, i::int, NULL::bytea, NULL::bytea, version,
    CASE WHEN weight_max IS NULL
        THEN CASE WHEN i <= ${{5}} OR before < {READ_BYTES_MAX} THEN value END
        WHEN weight_before <= weight_max THEN value ELSE substr(value, 1, {HEADER_BYTES}) END
FROM (SELECT q.i, q.weight_max, r.version, {{value}} AS value, sum(octet_length(r.value))
        OVER (ROWS UNBOUNDED PRECEDING) - octet_length(r.value) AS before,
        sum(r.weight) OVER (PARTITION BY q.read ORDER BY q.i ROWS UNBOUNDED PRECEDING) - r.weight
            AS weight_before
    FROM unnest(${{0}}::int[], ${{1}}::smallint[], ${{2}}::bytea[], ${{3}}::int[], ${{4}}::bigint[])
        WITH ORDINALITY AS q (space, slot, key, read, weight_max, i)
    CROSS JOIN LATERAL (SELECT version, weight, value FROM {{rows}}
        WHERE space = q.space AND slot = q.slot AND key = q.key LIMIT 1) r) found"""

_COUNTERS = """SELECT {part}, q.i::int, NULL::bytea, NULL::bytea, c.total, NULL::bytea
FROM unnest(${0}::bytea[]) WITH ORDINALITY AS q (name, i)
CROSS JOIN LATERAL (SELECT coalesce(sum(value), 0)::bigint AS total
    FROM counters WHERE name = q.name) c"""

_RANGES = """SELECT {part}, q.i::int, r.key, r.rest, r.version, {value}
FROM unnest(${0}::int[], ${1}::smallint[], ${2}::bytea[], ${3}::smallint[], ${4}::bytea[],
    ${5}::int[], ${6}::bigint[]) WITH ORDINALITY AS q (space, slot, key, slot2, key2, n, weight, i)
CROSS JOIN LATERAL (SELECT * FROM (
    SELECT *, sum(weight) OVER (ORDER BY space {order}, slot {order}, key {order}
        ROWS UNBOUNDED PRECEDING) - weight AS before
    FROM (SELECT * FROM {rows} WHERE space = q.space
        AND (slot, key) >= (q.slot, q.key) AND (slot, key) < (q.slot2, q.key2)
        ORDER BY space {order}, slot {order}, key {order} LIMIT q.n) first) weighed
    WHERE q.weight IS NULL OR before < q.weight) r"""

_SQL: dict[int, tuple[str, int]] = {
    DROPPED: (
        "SELECT {part}, space, NULL::bytea, NULL::bytea, NULL::bigint, NULL::bytea FROM {dropped}",
        0,
    ),
    TIME: (
        "SELECT {part}, 0, NULL::bytea, NULL::bytea, "
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, NULL::bytea",
        0,
    ),
    GETS: (_GETS, 3),
    MANY_GETS: (_MANY_GETS, 4),
    BOUNDED_GETS: (_BOUNDED_GETS, 6),
    COUNTERS: (_COUNTERS, 1),
    FORWARD: (_RANGES, 7),
    BACKWARD: (_RANGES, 7),
    FENCE: (
        "SELECT {part}, weight, NULL::bytea, NULL::bytea, version, value FROM {fences} "
        "WHERE space = -1 AND slot = ${0} AND key = ''",
        1,
    ),
    PLACED: (
        "SELECT {part}, count(*)::int, NULL::bytea, NULL::bytea, NULL::bigint, NULL::bytea "
        "FROM pg_dist_placement WHERE shardid = ANY (${0}::bigint[]) "
        "AND groupid = (SELECT groupid FROM pg_dist_local_group)",
        1,
    ),
}
"""Maps each part to its SQL and the number of its parameters."""


def value_of(column: str, values: bool, bytes_max: int | None) -> str:
    """The SQL that reads a value from `column`. It yields NULL without `values`, and TOO_LARGE in
    place of a value with more than `bytes_max` bytes."""
    if not values:
        return "NULL::bytea"
    if bytes_max is None:
        return column
    return f"CASE WHEN octet_length({column}) > {bytes_max:d} THEN ''::bytea ELSE {column} END"


@lru_cache(maxsize=1024)
def statement(
    parts: tuple[int, ...], values: bool, bytes_max: int | None, source: Source = PLAIN_SOURCE
) -> str:
    texts = []
    count = 1
    for part in parts:
        text, parameters = _SQL[part]
        order = "DESC" if part == BACKWARD else "ASC"
        value = value_of("r.value", values, bytes_max)
        numbers = range(count, count + parameters)
        texts.append(text.format(*numbers, part=part, order=order, value=value, **source._asdict()))
        count += parameters
    return "\nUNION ALL\n".join(texts)
