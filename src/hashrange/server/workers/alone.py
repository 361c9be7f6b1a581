"""A database and its server in this process."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hashrange.model.settings import Settings
from hashrange.server import logs
from hashrange.server.accepting import Balance
from hashrange.server.access_log import log_access
from hashrange.server.clients import Observer, together
from hashrange.server.listener import Listener, ServerError
from hashrange.server.opening import opened_database
from hashrange.server.reload import Reload
from hashrange.server.server import Beside, Server, new_runner
from hashrange.server.server import serve as serve_at
from hashrange.server.workers.options import Options, admin_listener

if TYPE_CHECKING:
    from hashrange.database.database import Database
    from hashrange.server.workers.apart import Apart
    from hashrange.server.workers.monitor import Monitor


_log = logging.getLogger("hashrange")

Console = Callable[["Database"], AbstractContextManager[str]]


class Service(NamedTuple):
    """The parts of a process that serves requests. `monitor` is None if there is no admin port."""

    runner: asyncio.Runner
    database: "Database"
    server: Server
    reload: Reload
    monitor: "Monitor | None"

    def serve(self, ready: Callable[[], None], beside: Sequence[Beside]) -> None:
        """Serve until SIGINT or SIGTERM; `ready` is called when clients are accepted."""
        serve_at(self.server, ready, [self.reload, *beside], self.runner)


def serve_alone(options: Options, console: Console | None = None) -> None:
    """Serve in this process alone until SIGINT or SIGTERM. `console` serves a web console of the
    database, and returns its address."""
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
            from hashrange.server.admin import AdminPort

            greeting.append(admin.greeting)
            routes = service.monitor.routes()
            if options.resettable:
                from hashrange.server.admin.going_back import GoingBack

                routes = {**routes, **GoingBack(service.database.states()).routes()}
            beside.append(AdminPort(admin.sock, admin.token, routes, listener.origins))
        if console is not None:
            address = opened.enter_context(console(service.database))
            greeting.append(f"Console (read only): {address}")
        service.serve(lambda: print(*greeting, sep="\n", flush=True), beside)


BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""The environment variables that set the number of threads of numpy's libraries. The libraries read
them when numpy is imported."""


async def _create_tables(database: "Database", path: Path) -> None:
    """Create the tables that a file declares and the database lacks, and log each.

    Call it before clients are accepted. Raises ServerError.
    """
    from hashrange.clients.connection import connection_of
    from hashrange.declared.creating import create_missing
    from hashrange.declared.reading import read
    from hashrange.formats.items import DataError

    def create() -> None:
        declared = read(path)
        for remark in declared.remarks:
            _log.warning("--tables: %s", remark)
        with closing(connection_of(database.runtime, 1)) as asking:
            for line in create_missing(asking, "--tables", declared.tables):
                _log.info("--tables: %s", line)

    try:  # PostgreSQL's answers need this event loop, so another thread waits
        await asyncio.to_thread(create)
    except DataError as error:
        raise ServerError(f"--tables: {error}") from None


async def _check_account(database: "Database", account: str) -> None:
    """Check that the tables belong to `account`, the account of the access file's principals.

    Raises ServerError if they do not, because the policies of the file could name none of the
    tables.
    """
    names = (await database.execute_async("ListTables", {"Limit": 1}))["TableNames"]
    for name in names:
        described = await database.execute_async("DescribeTable", {"TableName": name})
        owner = described["Table"]["TableArn"].split(":")[4]
        if owner != account:
            raise ServerError(
                f"--access: the tables belong to account {owner}, not to {account}: name "
                f"principals of {owner}"
            )


@contextmanager
def _apart(options: Options, database: "Database", settings: Settings) -> "Iterator[Apart | None]":
    """A runtime with a database for each access key and region, or None if the options ask for
    none. If there is such a runtime, `database` stays empty."""
    if not options.apart:
        yield None
        return
    from hashrange.database.connecting import connect
    from hashrange.server.workers.apart import Apart

    folder = options.path if isinstance(options.path, Path) else None
    arguments: Any = {"durability": options.durability, "settings": settings}
    with closing(Apart(database, folder, partial(connect, **arguments))) as apart:
        yield apart


@contextmanager
def opened_service(
    options: Options, listener: Listener, balance: Balance | None = None
) -> Iterator[Service]:
    """Open the database and prepare its services; nothing runs yet. On leaving the context, the
    database is closed."""
    settings = options.settings()._replace(access=listener.access)
    for name in BLAS_THREADS:
        # More threads would only take processor time from other workers and requests.
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
            from hashrange.server.workers.monitor import Monitor

            monitor = Monitor.of(
                database,
                lambda: server.figures(),  # noqa: PLW0108  made below
                options.archive_lag_max,
            )
            observers.append(monitor.metrics.observe)
        database.runtime.evaluate_elsewhere()
        if options.trigger:
            from hashrange.server.triggers.worker import start_triggers

            start_triggers(database, options.triggers(), options.own_url(listener))
        server = Server(
            apart or database.runtime,
            listener,
            non_api=options.likeness.non_api,
            observer=together(observers),
            balance=balance,
            tells_attempts=options.record is not None,
        )
        reload = Reload(listener, options.files(), database, options.console_as)
        yield Service(runner, database, server, reload, monitor)
