"""Whether a task waits for a lock in PostgreSQL: then it is known what it waits for, not only that
it has not ended."""

import asyncio
from typing import Any

from waiting import SECONDS_MAX

PAUSE_SECONDS = 0.002


async def waits(task: "asyncio.Task[Any]", pool: Any) -> bool:
    """Wait until a session of the database waits for a lock, or the task has ended.

    `pool` has connections to the database. The tests of a process use it one after the other.
    """
    async with pool.connection() as connection:
        while not task.done():
            if await somebody_waits(connection):
                return True
            await asyncio.sleep(PAUSE_SECONDS)
    return False


async def wait_until_somebody_waits(connection: Any) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while not await somebody_waits(connection):
            await asyncio.sleep(PAUSE_SECONDS)


async def somebody_waits(connection: Any) -> bool:
    # Within a transaction, the view would stay as it was at the first look.
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock')"
    )
    return found
