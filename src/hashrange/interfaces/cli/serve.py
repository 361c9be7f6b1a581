"""hashrange serve"""

import argparse
import logging
import os
import secrets
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from hashrange.interfaces.cli.commands import (
    command,
    database_name,
    fail,
    printed,
    told_in_one_line,
)
from hashrange.interfaces.cli.environment import also_from_environment

if TYPE_CHECKING:
    from hashrange.database import Durability
    from hashrange.interfaces.cli.commands import Commands
    from hashrange.interfaces.logs import LogFormat
    from hashrange.model.faults import Faults
    from hashrange.model.settings import Throughput

PORT_MAX = 65535
TOKEN_VARIABLE = "HASHRANGE_ADMIN_TOKEN"
TOKEN_LETTERS_MIN = 16
VOLUME_VARIABLE = "HASHRANGE_VOLUME"

NO_AUTH = (
    "--no-auth: EVERY CLIENT that reaches %s can read, change and delete everything; "
    "use it only on a network that nobody else can reach"
)

NO_VOLUME = "no volume is mounted at %s: %s will be lost with this container"


def add(commands: "Commands") -> None:
    parser = command(commands, serve)
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=database_name,
        help="the database file, created if it does not exist, or postgresql://user@host/name; "
        "default: a database in memory",
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
        "--no-auth",
        action="store_true",
        help="on an address other than loopback, accept any credentials; for closed networks only",
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
        "--throughput",
        choices=("off", "measured", "enforced"),
        default="measured",
        help="measured (the default) counts what tables, indexes and keys consume; enforced "
        "also refuses requests above the limits of tables and partitions, as DynamoDB does",
    )
    parser.add_argument(
        "--fault",
        metavar="FAULT=RATE",
        action="append",
        default=[],
        help="let this share of requests fail on purpose, e.g. throttle=0.1; may be repeated; the "
        "faults: throttle, unprocessed, conflict, in-progress, error, error-after, disconnect, "
        "latency",
    )
    parser.add_argument(
        "--eventual",
        choices=("drawn", "worst"),
        help="let reads that are not strongly consistent be old: by a lag that is drawn, or by as "
        "much as allowed; default: they see every commit",
    )
    parser.add_argument(
        "--admin-port",
        metavar="PORT",
        type=_port,
        help="serve health checks and metrics at this port; default: not at all",
    )
    parser.add_argument(
        "--admin-host",
        metavar="HOST",
        default="127.0.0.1",
        help="the address of the admin port, default: 127.0.0.1",
    )
    parser.add_argument(
        "--access-log", action="store_true", help="print one line on stderr for each request"
    )
    parser.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="the form of the lines on stderr, default: text",
    )
    also_from_environment(parser)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {PORT_MAX}")
    return int(text)


def serve(
    path: Path | str | None,
    port: int,
    host: str,
    keys: Path | None,
    no_auth: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    cors: list[str],
    durability: "Durability",
    throughput: "Throughput",
    fault: list[str],
    eventual: str | None,
    admin_port: int | None,
    admin_host: str,
    access_log: bool,
    log_format: "LogFormat",
) -> None:
    """Serve the DynamoDB API over HTTP until Ctrl-C or SIGTERM."""
    import hashrange
    from hashrange.interfaces import logs
    from hashrange.interfaces.server import Server
    from hashrange.interfaces.server import serve as serve_at
    from hashrange.interfaces.server.access_log import log_access
    from hashrange.interfaces.server.clients import Observer, together
    from hashrange.interfaces.server.listener import (
        allowed_origins,
        configured_keys,
        is_loopback,
        listening_socket,
        open_listener,
        tls_context,
    )
    from hashrange.interfaces.server.opening import opened_database
    from hashrange.interfaces.server.reload import Files, Reload
    from hashrange.interfaces.server.server import Beside, new_runner

    logs.configure(log_format, access_log)
    _check_volume(path)
    with told_in_one_line(), ExitStack() as opened:
        tls = tls_context(tls_cert, tls_key)
        accepted = configured_keys(keys, os.environ)
        if accepted and no_auth:
            fail("--no-auth accepts every client; give either it or keys")
        origins = allowed_origins(cors)
        listener = open_listener(host, port, accepted, tls, origins, trusting=no_auth)
        opened.enter_context(listener.sock)
        url = _url("https" if tls else "http", host, listener.port)
        where = _where(path, durability)
        greeting = [f"Serving {where} on {url} - Ctrl-C ends it"]
        admin = None
        if admin_port is not None:
            admin = opened.enter_context(listening_socket(admin_host, admin_port))
            token, shown = _admin_token()
            at = _url("http", admin_host, admin.getsockname()[1])
            greeting.append(f"Admin port: {at} - {shown}")
        if no_auth and not is_loopback(host):
            logging.getLogger("hashrange").warning(NO_AUTH, url)
        settings = hashrange.Settings(
            throughput=throughput,
            consistency=hashrange.Eventual(worst=eventual == "worst") if eventual else None,
            faults=_faults(fault),
        )
        runner = opened.enter_context(new_runner())
        database = opened.enter_context(opened_database(runner, path, durability, settings))
        beside: list[Beside] = [Reload(listener, Files(keys, tls_cert, tls_key))]
        observers: list[Observer] = []
        if access_log:
            observers.append(log_access)
            database.runtime.tell_units()
        if admin is not None:
            from hashrange.interfaces.admin import AdminPort, Health, Inspection, Metrics

            health = Health(database.runtime, database.figures)
            metrics = Metrics(
                lambda: database.figures() | server.figures() | health.figures(),
                health.note,
                database.runtime.usage,
            )
            observers.append(metrics.observe)
            routes = {**health.routes(), **metrics.routes(), **Inspection(database).routes()}
            beside.append(AdminPort(admin, token, routes, origins))
        database.runtime.evaluate_elsewhere()
        server = Server(database.runtime, listener, observer=together(observers))
        serve_at(server, lambda: print(*greeting, sep="\n", flush=True), beside, runner)


def _where(path: Path | str | None, durability: str) -> str:
    """What is served, for the greeting."""
    if path is None:
        return "a database in memory"
    return f"{path} (durability {durability})" if isinstance(path, Path) else printed(path)


def _faults(given: list[str]) -> "Faults | None":
    from hashrange.model.faults import Faults

    rates: dict[str, float] = {}
    try:
        for text in given:
            name, _, rate = text.partition("=")
            rates[name] = float(rate)
        faults = Faults(rates=rates)
        faults.check()
    except ValueError as error:
        fail(f"--fault: {error}; give for example throttle=0.1")
    return faults if rates else None


def _check_volume(path: Path | str | None) -> None:
    """In a container: the folder of the database should be a volume that this user may write."""
    volume = os.environ.get(VOLUME_VARIABLE)
    if not isinstance(path, Path) or not volume or not path.absolute().is_relative_to(volume):
        return
    if not os.access(volume, os.W_OK | os.X_OK):
        fail(f"{volume}: user {os.getuid()} may not write there; give the volume to that user")
    if not os.path.ismount(volume):
        logging.getLogger("hashrange").warning(NO_VOLUME, volume, path)


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _admin_token() -> tuple[str, str]:
    """The token, and what to print about it. One that is configured is not printed."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        made = secrets.token_urlsafe(24)
        return made, f"Authorization: Bearer {made}"
    if len(token) < TOKEN_LETTERS_MIN or not (token.isascii() and token.isprintable()):
        fail(f"{TOKEN_VARIABLE}: a token is at least {TOKEN_LETTERS_MIN} printable ASCII letters")
    return token, f"its token is in {TOKEN_VARIABLE}"
