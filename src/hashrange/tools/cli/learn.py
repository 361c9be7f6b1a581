"""hashrange learn"""

from typing import TYPE_CHECKING

from hashrange.failing import told_in_one_line
from hashrange.tools.cli.commands import command, port_number
from hashrange.tools.cli.console import PORT_DEFAULT, load_console, until_ended

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, learn)
    parser.add_argument(
        "--port",
        type=port_number,
        default=PORT_DEFAULT,
        help=f"the port of 127.0.0.1 to listen on, default: {PORT_DEFAULT}; 0 takes any free port",
    )


def learn(port: int) -> None:
    """Show a tour of DynamoDB in a browser, with tables in memory, until Ctrl-C."""
    package = load_console()
    from hashrange.database.connecting import connect
    from hashrange.tools.console.tour import fill
    from hashrange.tools.target import target_of

    with told_in_one_line(), connect() as database:
        fill(database)
        target = target_of(database, "tour, in memory")
        with package.serving(package.Console(target, write=True, tour=True), port) as url:
            address = url.replace("/?", "/learn?", 1)
            print(f"Tour of DynamoDB: {address} - Ctrl-C ends it", flush=True)
            until_ended()
