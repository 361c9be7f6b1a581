"""hashrange serve"""

import logging
import os
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
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but a loopback address needs keys.")
    ] = "127.0.0.1",
    keys: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Who may come in: lines of access_key secret_key [session_token]. "
            "Without it, the same lines in HASHRANGE_KEYS.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve HTTPS: the certificate, PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate's private key, PEM.")
    ] = None,
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
    from hashrange.interfaces.cli.errors import told_in_one_line
    from hashrange.interfaces.entrance import configured_keys, open_entrance, tls_context
    from hashrange.interfaces.server import serve as serve_at

    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )

    with told_in_one_line():
        tls = tls_context(tls_cert, tls_key)
        entrance = open_entrance(host, port, configured_keys(keys, os.environ), tls)
        where = f"{path} (durability {durability.value})" if path else "a database in memory"
        scheme = "https" if tls else "http"
        address = f"[{host}]" if ":" in host else host
        greeting = f"Serving {where} on {scheme}://{address}:{entrance.port} - Ctrl-C ends it"
        with entrance.listener, hashrange.connect(path, durability=durability.value) as database:
            serve_at(database.runtime, entrance, lambda: typer.echo(greeting))
