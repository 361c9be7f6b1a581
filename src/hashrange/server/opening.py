"""Opening the database that a process serves."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.database.connecting import connect, connect_async
from hashrange.database.database import Database

if TYPE_CHECKING:
    from hashrange.kv import Durability
    from hashrange.model.settings import Settings


@contextmanager
def opened_database(
    runner: asyncio.Runner, path: Path | str | None, durability: "Durability", settings: "Settings"
) -> "Iterator[Database]":
    """Open a database. Connections to PostgreSQL use the event loop of `runner`."""
    if isinstance(path, str):
        connecting = connect_async(path, durability=durability, settings=settings)
        database = runner.run(connecting)
    else:
        database = connect(path, durability=durability, settings=settings)
        if path is not None:
            database.start_scrubber()
    try:
        yield database
    finally:
        runner.run(database.aclose())
