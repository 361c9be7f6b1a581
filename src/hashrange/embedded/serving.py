"""`hashrange.serve()`: a real endpoint on a free port, for as long as a program needs it.

with hashrange.serve() as server:
    boto3.client("dynamodb", endpoint_url=server.url, ...)

The server runs on an event loop in a thread of its own.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any, cast

from hashrange.clients.calls import Runtime, Turn
from hashrange.database.database import Database
from hashrange.embedded.moved_clock import DatabaseClock
from hashrange.model.caller import DEFAULT_REGION, Caller
from hashrange.model.settings import DEFAULT_SETTINGS
from hashrange.runtime.ending import Done
from hashrange.runtime.mistaken_calls import check_database
from hashrange.server.listener import open_listener
from hashrange.server.server import Server, new_event_loop

_HOST = "127.0.0.1"
_DUMMY = "hashrange"


class Served:
    """A running server. Call `serve` to start one."""

    def __init__(self, port: int, replaceable: "_Replaceable", on_the_loop: "_Run") -> None:
        self.port = port
        self.url = f"http://{_HOST}:{port}"
        self._replaceable = replaceable
        self._on_the_loop = on_the_loop

    @property
    def database(self) -> Database:
        """The database that answers requests."""
        return self._replaceable.database

    @property
    def clock(self) -> DatabaseClock:
        """Moves the time of the database. Raises ValueError if `serve` was called with a
        database."""
        return self._replaceable.own_clock("clock")

    @property
    def environment(self) -> dict[str, str]:
        """Variables that point the AWS SDKs and the AWS CLI to the server, with dummy keys."""
        return {
            "AWS_ENDPOINT_URL_DYNAMODB": self.url,
            "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": self.url,
            "AWS_ACCESS_KEY_ID": _DUMMY,
            "AWS_SECRET_ACCESS_KEY": _DUMMY,
            "AWS_REGION": DEFAULT_REGION,
            "AWS_DEFAULT_REGION": DEFAULT_REGION,
        }

    def reset(self) -> None:
        """Replace the database by a new, empty one. Raises ValueError if `serve` was called with a
        database."""
        before = self._replaceable.own_clock("reset()").database
        self._on_the_loop(self._replaceable.replace())
        before.close()


@contextmanager
def serve(database: Database | None = None, *, port: int = 0) -> Iterator[Served]:
    """Serve a database over HTTP on 127.0.0.1, by default a new one in memory on a free port.

    `with` gives a `Served`, which has the `url`. Any well-formed credentials are accepted. Raises
    ServerError, with a message of one line, if the port is in use. Raises TypeError if `database`
    is not a Database.
    """
    check_database("serve", database)
    listener = open_listener(_HOST, port)
    replaceable = _Replaceable(database)
    with listener.sock, closing(new_event_loop()) as loop, closing(replaceable):
        server = Server(cast(Runtime, replaceable), listener)
        thread = Thread(target=loop.run_forever, name="hashrange-server", daemon=True)
        thread.start()

        def on_the_loop(step: Coroutine[Any, Any, None]) -> None:
            asyncio.run_coroutine_threadsafe(step, loop).result()

        try:
            on_the_loop(server.start())
            try:
                yield Served(listener.port, replaceable, on_the_loop)
            finally:
                on_the_loop(server.stop())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


_Run = Callable[[Coroutine[Any, Any, None]], None]


class _Replaceable:
    """Stands in for the runtime of a server's database, so that the database can be replaced.

    The server's event loop replaces the database between two turns.
    """

    def __init__(self, database: Database | None) -> None:
        self._clock = None if database else DatabaseClock(DEFAULT_SETTINGS)
        self.database = self._clock.database if self._clock else cast(Database, database)

    @property
    def operations(self) -> Collection[str]:
        return self.database.runtime.operations

    def call(self, name: str, body: bytes, caller: Caller, /) -> bytes:
        return self.database.runtime.call(name, body, caller)

    def submit(
        self, name: str, body: bytes, done: Done, caller: Caller, turn: Any = None, /
    ) -> None:
        self.database.runtime.submit(name, body, done, caller, turn)

    def turn(self) -> Turn:
        return self.database.runtime.turn()

    def own_clock(self, what: str) -> DatabaseClock:
        if self._clock is None:
            raise ValueError(
                f"`{what}` needs a database that serve() made, not one that was passed to it"
            )
        return self._clock

    async def replace(self) -> None:
        self._clock = DatabaseClock(DEFAULT_SETTINGS)
        self.database = self._clock.database

    def close(self) -> None:
        if self._clock:
            self.database.close()
