"""hashrange serve"""

import argparse
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.interfaces.cli.commands import command, told_in_one_line

if TYPE_CHECKING:
    from hashrange.database import Durability
    from hashrange.interfaces.cli.commands import Commands

PORT_MAX = 65535


def add(commands: "Commands") -> None:
    parser = command(commands, serve)
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=Path,
        help="the database file, created if it does not exist; default: a database in memory",
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=8000,
        help="the TCP port to listen on, default: 8000; 0 takes any free port",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen on, default: 127.0.0.1; others than loopback need keys",
    )
    parser.add_argument(
        "--keys",
        metavar="FILE",
        type=Path,
        help="the accepted keys, one `access_key secret_key [session_token]` in each line; "
        "default: the same lines in HASHRANGE_KEYS",
    )
    parser.add_argument(
        "--tls-cert", metavar="FILE", type=Path, help="serve HTTPS with this certificate (PEM)"
    )
    parser.add_argument(
        "--tls-key", metavar="FILE", type=Path, help="the private key of the certificate (PEM)"
    )
    parser.add_argument(
        "--cors",
        metavar="ORIGIN",
        action="append",
        default=[],
        help="let web pages of this origin, e.g. http://localhost:3000, call the server, and "
        "accept its name as the Host; may be repeated; default: no web page may",
    )
    parser.add_argument(
        "--durability",
        choices=("full", "relaxed", "memory"),
        default="full",
        help="what an acknowledged write survives: a power cut (full, the default), a killed "
        "process but not a power cut (relaxed), or nothing for certain (memory)",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print one line on stderr for each request"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {PORT_MAX}")
    return int(text)


def serve(
    path: Path | None,
    port: int,
    host: str,
    keys: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    cors: list[str],
    durability: "Durability",
    verbose: bool,
) -> None:
    """Serve the DynamoDB API over HTTP until Ctrl-C or SIGTERM."""
    import hashrange
    from hashrange.interfaces.server import serve as serve_at
    from hashrange.interfaces.server.listener import (
        allowed_origins,
        configured_keys,
        open_listener,
        tls_context,
    )

    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )

    with told_in_one_line():
        tls = tls_context(tls_cert, tls_key)
        accepted = configured_keys(keys, os.environ)
        listener = open_listener(host, port, accepted, tls, allowed_origins(cors))
        where = f"{path} (durability {durability})" if path else "a database in memory"
        scheme = "https" if tls else "http"
        address = f"[{host}]" if ":" in host else host
        greeting = f"Serving {where} on {scheme}://{address}:{listener.port} - Ctrl-C ends it"
        with listener.sock, hashrange.connect(path, durability=durability) as database:
            serve_at(database.runtime, listener, lambda: print(greeting, flush=True))
