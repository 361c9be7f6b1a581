"""Stores of one test, on an event loop that ends with it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from unittest.mock import patch

from waiting import SECONDS_MAX

from hashrange.kv import Answer, Read, Write
from hashrange.storage.postgres import PostgresStore, settle
from hashrange.storage.postgres.script import Script

Scenario = Callable[..., Awaitable[None]]

SPACE = 7


def run(dsn: str, scenario: Scenario, *, stores: int = 1, **options: Any) -> None:
    """Run a scenario with `stores` stores on one database."""

    async def body() -> None:
        opened = [PostgresStore(dsn, **options) for _ in range(stores)]
        try:
            async with asyncio.timeout(SECONDS_MAX):
                await scenario(*opened)
        finally:
            patch.stopall()
            for store in opened:
                await store.close()

    asyncio.run(body())


async def write(store: PostgresStore, *writes: Write, reads: Sequence[Read] = ()) -> None:
    """One transaction."""
    transaction = await store.begin()
    if reads:
        await transaction.read(reads)
    await transaction.commit(writes)


async def read(store: PostgresStore, what: Read) -> Answer:
    [answer] = await store.read([what])
    return answer


class Stall:
    """Holds a transaction up between its last statement and COMMIT, until `go` is set."""

    def __init__(self) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    def arm(self) -> None:
        """The next transaction is held up."""
        commit = settle.commit

        async def stalled(connection: Any, script: Script, *arguments: Any) -> bool:
            held.stop()
            if not script.begun:
                await connection.execute("BEGIN")
                script.begun = True
            await script.run(connection)
            self.reached.set()
            await self.go.wait()
            return await commit(connection, script, *arguments)

        held = patch.object(settle, "commit", stalled)
        held.start()
