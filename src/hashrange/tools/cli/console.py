"""hashrange console"""

import os
import signal
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.commands import DB_HELP, command, port_number
from hashrange.tools.cli.design.model_files import tables_of
from hashrange.tools.cli.transfers import add_yes, ask_before_writing

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands
    from hashrange.tools.console.console import Inspect

NO_CONSOLE = "the console is not installed (no {}): pip install 'hashrange[console]'"

PORT_DEFAULT = 8001

CONFIG: dict[str, Any] = {
    "connect_timeout": 3,
    "read_timeout": 30,
    "retries": {"total_max_attempts": 2},
    "max_pool_connections": 20,
}
"""The settings of the console's boto3 client. The time limits are short, so that a page soon says
that a server does not answer."""


def add(commands: "Commands") -> None:
    parser = command(commands, console)
    parser.add_argument("db", metavar="DB", help=DB_HELP)
    parser.add_argument(
        "--write", action="store_true", help="let the pages change items; default: read only"
    )
    parser.add_argument(
        "--model",
        metavar="MODEL",
        type=Path,
        help="a Python file that declares one or more st.Table, to show its entities and patterns",
    )
    parser.add_argument(
        "--admin",
        metavar="URL",
        help="the address of the server's admin port, e.g. http://127.0.0.1:9000, to show "
        "partitions and load; HASHRANGE_ADMIN_TOKEN has its token",
    )
    parser.add_argument(
        "--port",
        type=port_number,
        default=PORT_DEFAULT,
        help=f"the port of 127.0.0.1 to listen on, default: {PORT_DEFAULT}; 0 takes any free port",
    )
    add_yes(parser)


def console(
    db: str, write: bool, model: Path | None, admin: str | None, port: int, yes: bool
) -> None:
    """Show the tables and items of a database in a browser, until Ctrl-C."""
    package = load_console()
    from hashrange.tools.target import TargetError, open_target

    models = tables_of(model) if model else ()
    inspect = _inspecting(admin) if admin else None
    may = "may write" if write else "read only"
    try:
        with told_in_one_line(), open_target(db, **CONFIG) as target:
            if write:
                ask_before_writing(target, "Let the pages of the console write", yes)
            page = package.Console(target, write=write, inspect=inspect, models=models)
            with package.serving(page, port) as url:
                print(f"Console of {target.name} ({may}): {url} - Ctrl-C ends it", flush=True)
                until_ended()
    except TargetError as error:
        fail(error)


def _inspecting(admin: str) -> "Inspect":
    """The function that inspects a table through the admin port of a server, at the address
    `admin`."""
    from hashrange.server.workers.options import TOKEN_VARIABLE
    from hashrange.tools.console.watching import AdminClient

    try:
        return AdminClient(admin, os.environ.get(TOKEN_VARIABLE, "")).inspect
    except ValueError as error:
        fail(f"--admin {admin!a}: {error}")


def until_ended() -> None:
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()


def load_console() -> ModuleType:
    """The console's package. Ends the process with one line if its libraries are missing."""
    try:
        from hashrange.tools import console as package
    except ModuleNotFoundError as missing:
        fail(NO_CONSOLE.format(missing.name))
    return package
