"""hashrange serve"""

import logging
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Durability(StrEnum):
    FULL = "full"
    RELAXED = "relaxed"
    MEMORY = "memory"


def serve(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="The database's file; without one, it is in memory."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="A loopback address.")] = "127.0.0.1",
    durability: Annotated[
        Durability,
        typer.Option(
            help="When a write is acknowledged: on disk (full), handed to the system (relaxed: "
            "survives a killed process, not a power cut), or at once (memory)."
        ),
    ] = Durability.FULL,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every request.")] = False,
) -> None:
    """Answer DynamoDB's HTTP interface until Ctrl-C or SIGTERM."""
    import hashrange
    from hashrange.interfaces import server
    from hashrange.interfaces.cli.errors import told_in_one_line

    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )

    def say(bound: int) -> None:
        where = f"{path} (durability {durability.value})" if path else "a database in memory"
        address = f"[{host}]" if ":" in host else host
        typer.echo(f"Serving {where} on http://{address}:{bound} - Ctrl-C ends it")

    with told_in_one_line():
        server.loopback_address(host)
        with hashrange.connect(path, durability=durability.value) as database:
            server.serve(database.runtime, host, port, say)
