"""Searches the stored rows for damage, page by page, while writes continue."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from zlib import crc32

from hashrange.storage.postgres.keys import SLOT_AFTER_ALL, original, stored

ROWS_MAX = 500

Fetch = Callable[..., Awaitable[Any]]

_ROWS = "SELECT space, slot, key, rest, weight, value FROM rows WHERE (space, slot, key) > "
_PAGE = _ROWS + "($1, $2, $3) ORDER BY space, slot, key LIMIT $4"
_PAGE_OF_SHARD = _ROWS + "($1, $2, $3) AND slot = ANY ($5) ORDER BY space, slot, key LIMIT $4"


async def verify(fetch: Fetch, slots: list[int] | None = None) -> AsyncIterator[str]:
    """Yield a line for each row that has a wrong checksum, weight or place.

    With `slots`, only the rows in these slots are checked. `fetch` runs a statement. The fences of
    a cluster, in the space -1, are not checked.
    """
    at: tuple[int, int, bytes] = (-1, SLOT_AFTER_ALL, b"")
    while True:
        if slots is None:
            rows = await fetch(_PAGE, *at, ROWS_MAX)
        else:
            rows = await fetch(_PAGE_OF_SHARD, *at, ROWS_MAX, slots)
        for row in rows:
            problem = _problem(row)
            if problem:
                yield f"space {row['space']}, key {row['key'].hex()}: {problem}"
        if len(rows) < ROWS_MAX:
            return
        at = rows[-1]["space"], rows[-1]["slot"], rows[-1]["key"]


def _problem(row: Any) -> str | None:
    value = row["value"]
    if crc32(value[4:]) != int.from_bytes(value[:4], "big"):
        return "the checksum is wrong"
    if row["weight"] != int.from_bytes(value[4:8], "big"):
        return "the weight in its column differs from the weight in the value"
    key = original(row["key"], row["rest"])
    if stored((row["space"], key)) != (row["space"], row["slot"], row["key"], row["rest"]):
        return "it is stored under a wrong slot or key"
    return None
