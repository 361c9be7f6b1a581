"""A database and its server in this process."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hashrange.interfaces import logs
from hashrange.interfaces.failing import console_room, printed
from hashrange.interfaces.server import Server
from hashrange.interfaces.server import serve as serve_at
from hashrange.interfaces.server.accepting import Balance
from hashrange.interfaces.server.access_log import log_access
from hashrange.interfaces.server.clients import Observer, together
from hashrange.interfaces.server.listener import Listener
from hashrange.interfaces.server.opening import opened_database
from hashrange.interfaces.server.reload import Files, Reload
from hashrange.interfaces.server.server import Beside, new_runner
from hashrange.interfaces.service.options import Options, admin_listener

if TYPE_CHECKING:
    from hashrange.database import Database
    from hashrange.interfaces.service.monitor import Monitor


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
            beside.append(AdminPort(admin.sock, admin.token, routes, listener.origins))
        if options.console:
            address = opened.enter_context(_console(service.database, options))
            greeting.append(f"Console (read only): {address}")
        service.serve(lambda: print(*greeting, sep="\n", flush=True), beside)


def _console(database: "Database", options: Options) -> AbstractContextManager[str]:
    from hashrange.interfaces.target import target_of

    room = console_room()
    name = "a database in memory" if options.path is None else printed(options.path)
    shown: AbstractContextManager[str] = room.serving(room.Console(target_of(database, name)))
    return shown


BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""The environment variables that the libraries below numpy read when numpy is imported."""


@contextmanager
def opened_service(
    options: Options, listener: Listener, balance: Balance | None = None
) -> Iterator[Service]:
    """Open the database, and make what serves it; nothing runs yet. It is closed at the end."""
    settings = options.settings()
    for name in BLAS_THREADS:
        # More threads would only take processors away from other workers and requests.
        os.environ.setdefault(name, "1")
    with (
        new_runner() as runner,
        opened_database(runner, options.path, options.durability, settings) as database,
    ):
        observers: list[Observer] = []
        if options.access_log:
            observers.append(log_access)
            database.runtime.tell_units()
        monitor = None
        if options.admin_port is not None:
            from hashrange.interfaces.service.monitor import Monitor

            monitor = Monitor.of(database, lambda: server.figures())  # noqa: PLW0108  made below
            observers.append(monitor.metrics.observe)
        database.runtime.evaluate_elsewhere()
        server = Server(database.runtime, listener, observer=together(observers), balance=balance)
        reload = Reload(listener, Files(options.keys, options.tls_cert, options.tls_key))
        yield Service(runner, database, server, reload, monitor)
