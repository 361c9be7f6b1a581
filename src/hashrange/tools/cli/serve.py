"""hashrange serve"""

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashrange.database.addresses import printed
from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.commands import command, database_name, port_number
from hashrange.tools.cli.console import load_console
from hashrange.tools.cli.environment import also_from_environment

if TYPE_CHECKING:
    from hashrange.database.database import Database
    from hashrange.server.workers.options import Options
    from hashrange.tools.cli.commands import Commands

WORKERS_MAX = 64

CONSOLE_PORT = 8002
"""The port of the console, if it is free. The port is fixed, because a browser keeps saved queries
separately for each address."""


def add(commands: "Commands") -> None:
    parser = command(commands, serve)
    _add_place(parser)
    _add_access(parser)
    _add_behaviour(parser)
    _add_observation(parser)
    also_from_environment(parser)


def _add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the place of the data and the address of the server."""
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
        type=port_number,
        help="the TCP port to listen on, default: 8000, or 4566 with --like localstack; 0 takes "
        "any free port",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen on, default: 127.0.0.1; without keys, it must be a "
        "loopback address",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=_workers,
        default=1,
        help="number of processes that serve the database, default: 1; more processes serve "
        "more reads",
    )

    parser.add_argument(
        "--apart",
        action="store_true",
        help="a separate database for each access key and region: in memory, or files in the "
        "folder PATH",
    )
    parser.add_argument(
        "--tables",
        metavar="FILE",
        type=Path,
        help="create the tables that a file declares and the database does not have; the file "
        "is a template of CloudFormation, SAM or CDK, serverless.yml, Terraform's plan as "
        "JSON, a model of NoSQL Workbench, or the answer of DescribeTable",
    )


def _add_access(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keys",
        metavar="FILE",
        type=Path,
        help="the accepted keys, one `access_key secret_key [session_token]` in each line; "
        "default: the same lines in HASHRANGE_KEYS",
    )
    parser.add_argument(
        "--access",
        metavar="FILE",
        type=Path,
        help="who may do what: a TOML file with the principals of the keys and their IAM "
        "policies; needs --keys; default: every key may do everything",
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
        "also accept requests whose Host header names the host of this origin; may be repeated; "
        "default: no web page may call",
    )


def _add_behaviour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--durability",
        choices=("full", "relaxed", "memory"),
        default="full",
        help="full (the default): an acknowledged write survives a power cut; relaxed: it survives "
        "a killed process, but perhaps not a power cut; memory: like relaxed, but a power cut may "
        "also damage the file",
    )
    parser.add_argument(
        "--throughput",
        choices=("off", "measured", "enforced"),
        default="measured",
        help="measured (the default) counts the capacity that tables, indexes and keys "
        "consume; enforced also refuses requests above the limits of tables and "
        "partitions, as DynamoDB does; off does neither",
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        type=Path,
        help="record the requests and their consumed capacity in a new file, for hashrange "
        "predict; values of items are not recorded",
    )
    parser.add_argument(
        "--record-keys",
        choices=("hmac", "exact"),
        default="hmac",
        help="hmac (the default) replaces each key by a hash with a secret that is not kept; "
        "exact records the keys, so that a replay gives exactly the same refusals",
    )
    parser.add_argument(
        "--like",
        choices=("localstack", "dynamodb-local"),
        help="stand in for LocalStack or DynamoDB Local: with the same default port and health "
        "check, and with --accept-unsupported on by default",
    )
    parser.add_argument(
        "--accept-unsupported",
        action=argparse.BooleanOptionalAction,
        help="store and return settings of tables that have no effect, such as Kinesis "
        "destinations, so that templates with such settings are accepted; default: on "
        "for a database in memory, and with --like; otherwise off",
    )
    parser.add_argument(
        "--objects",
        metavar="DIR",
        help="the buckets of imports, exports and bulk puts: a folder with a subfolder for "
        "each bucket, or s3:// for buckets of S3 or of a service with S3's API; default: "
        "none",
    )
    parser.add_argument(
        "--kinesis",
        metavar="FILE|URL",
        help="send the changes of tables with Kinesis destinations to a file, one line of JSON "
        "for each, or to a service with the API of Kinesis; default: none is sent",
    )
    parser.add_argument(
        "--trigger",
        metavar="TABLE=FUNCTION|FILE",
        action="append",
        default=[],
        help="call a function with the records of the table's stream, as Lambda does: "
        "module:handler, in a separate process, or http://127.0.0.1:3001/.../invocations; or a "
        "JSON file with such triggers and their settings; may be repeated",
    )
    parser.add_argument(
        "--trigger-host",
        metavar="HOST",
        action="append",
        default=[],
        help="a host, other than this machine, to which triggers may send records; may be repeated",
    )
    parser.add_argument(
        "--archive",
        metavar="DIR|s3://BUCKET/PREFIX",
        help="copy the log of the database file to this place, about once a second; hashrange "
        "restore can then build the file as of any moment, on any machine; default: no archive",
    )
    parser.add_argument(
        "--archive-days",
        metavar="N",
        type=_number_of("days"),
        default=35,
        help="number of days for which moments can be restored, default: 35",
    )
    parser.add_argument(
        "--archive-lag-max",
        metavar="SECONDS",
        type=_number_of("seconds"),
        help="/readyz of the admin port answers 503 while the archive is more than this many "
        "seconds behind; default: /readyz does not check the archive",
    )
    parser.add_argument(
        "--fault",
        metavar="FAULT=RATE",
        action="append",
        default=[],
        help="let this share of requests fail on purpose, e.g. throttle=0.1; may be repeated; the "
        "faults: throttle, account-limit, unprocessed, conflict, in-progress, error, error-after, "
        "disconnect, latency",
    )
    parser.add_argument(
        "--eventual",
        choices=("drawn", "worst"),
        help="return old values to eventually consistent reads: with a random lag (drawn), or "
        "with the largest lag (worst); default: these reads see every commit",
    )


def _add_observation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--admin-port",
        metavar="PORT",
        type=port_number,
        help="serve health checks and metrics at this port; default: no admin port",
    )
    parser.add_argument(
        "--admin-host",
        metavar="HOST",
        default="127.0.0.1",
        help="the address of the admin port, default: 127.0.0.1",
    )
    parser.add_argument(
        "--resettable",
        action="store_true",
        help="for tests, in memory: POST /reset at the admin port restores the initial state; "
        "POST /snapshots/keep?name=NAME keeps the current state, and "
        "/snapshots/load?name=NAME restores it",
    )
    parser.add_argument(
        "--console",
        action="store_true",
        help="serve a read-only web console at port "
        f"{CONSOLE_PORT} of 127.0.0.1, or at a free port if that is in use",
    )
    parser.add_argument(
        "--console-as",
        metavar="ARN",
        help="with --access: the principal whose permissions the console has",
    )
    parser.add_argument(
        "--access-log", action="store_true", help="print one line on stderr for each request"
    )
    parser.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="the format of the lines on stderr, default: text",
    )


def _workers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= WORKERS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {WORKERS_MAX}")
    return int(text)


def _number_of(unit: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of {unit}")
        return number

    return parse


def serve(**values: Any) -> None:
    """Serve the DynamoDB API over HTTP until Ctrl-C or SIGTERM."""
    from hashrange.server.workers.options import Options

    options = Options(**values)
    with told_in_one_line():
        options.check()
        if options.workers > 1:
            from hashrange.server.workers.supervisor import supervise

            supervise(options)
        else:
            from hashrange.server.workers.alone import serve_alone

            serve_alone(options, partial(_console, options) if options.console else None)


def _console(options: "Options", database: "Database") -> "AbstractContextManager[str]":
    from hashrange.tools.target import target_of

    package = load_console()
    name = "a database in memory" if options.path is None else printed(options.path)
    try:
        target = target_of(database, name, principal=options.console_as)
    except ValueError as error:
        fail(f"--console-as: {error}")
    page = package.Console(target)
    shown: AbstractContextManager[str] = package.serving(page, CONSOLE_PORT, spare=True)
    return shown
