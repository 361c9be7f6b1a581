"""A database and its server in this process."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hashrange.interfaces import logs
from hashrange.interfaces.failing import console_room, printed
from hashrange.interfaces.server import Server
from hashrange.interfaces.server import serve as serve_at
from hashrange.interfaces.server.accepting import Balance
from hashrange.interfaces.server.access_log import log_access
from hashrange.interfaces.server.clients import Observer, together
from hashrange.interfaces.server.listener import Listener, ServerError
from hashrange.interfaces.server.opening import opened_database
from hashrange.interfaces.server.reload import Reload
from hashrange.interfaces.server.server import Beside, new_runner
from hashrange.interfaces.service.options import Options, admin_listener
from hashrange.model.settings import Settings

if TYPE_CHECKING:
    from hashrange.database import Database
    from hashrange.interfaces.service.apart import Apart
    from hashrange.interfaces.service.monitor import Monitor


_log = logging.getLogger("hashrange")


class Service(NamedTuple):
    """The parts of a process that serves. It has a `monitor` if there is an admin port."""

    runner: asyncio.Runner
    database: "Database"
    server: Server
    reload: Reload
    monitor: "Monitor | None"

    def serve(self, ready: Callable[[], None], beside: Sequence[Beside]) -> None:
        """Until SIGINT or SIGTERM; `ready` is called when it accepts clients."""
        serve_at(self.server, ready, [self.reload, *beside], self.runner)


def serve_alone(options: Options) -> None:
    """Serve in this process alone until SIGINT or SIGTERM."""
    logs.configure(options.log_format, options.access_log)
    options.check_volume()
    with ExitStack() as opened:
        listener = options.listener()
        opened.enter_context(listener.sock)
        admin = opened.enter_context(admin_listener(options))
        options.warn_of_no_auth(listener)
        service = opened.enter_context(opened_service(options, listener))
        greeting = [options.greeting(listener)]
        beside: list[Beside] = []
        if admin and service.monitor:
            from hashrange.interfaces.admin import AdminPort

            greeting.append(admin.greeting)
            routes = service.monitor.routes()
            if options.resettable:
                from hashrange.interfaces.admin.going_back import GoingBack

                routes = {**routes, **GoingBack(service.database.states()).routes()}
            beside.append(AdminPort(admin.sock, admin.token, routes, listener.origins))
        if options.console:
            address = opened.enter_context(_console(service.database, options))
            greeting.append(f"Console (read only): {address}")
        service.serve(lambda: print(*greeting, sep="\n", flush=True), beside)


def _console(database: "Database", options: Options) -> AbstractContextManager[str]:
    from hashrange.interfaces.target import target_of

    room = console_room()
    name = "a database in memory" if options.path is None else printed(options.path)
    try:
        target = target_of(database, name, principal=options.console_as)
    except ValueError as error:
        raise ServerError(f"--console-as: {error}") from None
    shown: AbstractContextManager[str] = room.serving(room.Console(target))
    return shown


BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""The environment variables that the libraries below numpy read when numpy is imported."""


async def _create_tables(database: "Database", path: Path) -> None:
    """Create the tables that a file declares and the database lacks, and say so in the log.

    Raises ServerError. It is called before clients are accepted.
    """
    from hashrange.interfaces.data.connection import connection_of
    from hashrange.interfaces.data.items import DataError
    from hashrange.interfaces.declared.creating import create_missing
    from hashrange.interfaces.declared.reading import read

    def create() -> None:
        declared = read(path)
        for remark in declared.remarks:
            _log.warning("--tables: %s", remark)
        with closing(connection_of(database, 1)) as asking:
            for line in create_missing(asking, "--tables", declared.tables):
                _log.info("--tables: %s", line)

    try:  # a database over PostgreSQL answers on this loop, so another thread asks
        await asyncio.to_thread(create)
    except DataError as error:
        raise ServerError(f"--tables: {error}") from None


async def _check_account(database: "Database", account: str) -> None:
    """Raises ServerError if the tables belong to another account: no policy would name them."""
    names = (await database.execute_async("ListTables", {"Limit": 1}))["TableNames"]
    for name in names:
        described = await database.execute_async("DescribeTable", {"TableName": name})
        owner = described["Table"]["TableArn"].split(":")[4]
        if owner != account:
            raise ServerError(
                f"--access: the tables are those of account {owner}, not of {account}: name "
                f"principals of {owner}"
            )


@contextmanager
def _apart(options: Options, database: "Database", settings: Settings) -> "Iterator[Apart | None]":
    """The databases of keys and regions; `database` stays empty beside them."""
    if not options.apart:
        yield None
        return
    import hashrange
    from hashrange.interfaces.service.apart import Apart

    folder = options.path if isinstance(options.path, Path) else None
    given: Any = {"durability": options.durability, "settings": settings}
    with closing(Apart(database, folder, partial(hashrange.connect, **given))) as apart:
        yield apart


@contextmanager
def opened_service(
    options: Options, listener: Listener, balance: Balance | None = None
) -> Iterator[Service]:
    """Open the database, and make what serves it; nothing runs yet. It is closed at the end."""
    settings = options.settings()._replace(access=listener.access)
    for name in BLAS_THREADS:
        # More threads would only take processors away from other workers and requests.
        os.environ.setdefault(name, "1")
    path = None if options.apart else options.path
    with (
        new_runner() as runner,
        opened_database(runner, path, options.durability, settings) as database,
        _apart(options, database, settings) as apart,
    ):
        if listener.access is not None:
            runner.run(_check_account(database, listener.access.account))
        if options.tables is not None:
            runner.run(_create_tables(database, options.tables))
        observers: list[Observer] = []
        if options.access_log:
            observers.append(log_access)
            database.runtime.tell_units()
        monitor = None
        if options.admin_port is not None:
            from hashrange.interfaces.service.monitor import Monitor

            monitor = Monitor.of(
                database,
                lambda: server.figures(),  # noqa: PLW0108  made below
                options.archive_lag_max,
            )
            observers.append(monitor.metrics.observe)
        database.runtime.evaluate_elsewhere()
        if options.trigger:
            from hashrange.interfaces.triggers.worker import start_triggers

            start_triggers(database, options.triggers(), options.own_url(listener))
        server = Server(
            apart or database.runtime,
            listener,
            non_api=options.likeness.non_api,
            observer=together(observers),
            balance=balance,
            tells_attempts=options.record is not None,
        )
        reload = Reload(listener, options.files())
        yield Service(runner, database, server, reload, monitor)
