"""A database as named on the command line: a file, an address, or AWS itself.

    app.db                      a file, opened in this process
    http://127.0.0.1:8000       a server that speaks the DynamoDB API
    postgresql://host/name      a database over PostgreSQL, opened in this process
    aws, aws:profile@region     AWS, with the credentials that boto3 finds

All of them are used through boto3's clients, so a command that works with one works with all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hashrange.clients.connection import JsonConnection, connection_of, remote_connection
from hashrange.database.addresses import AWS, Kind, kind_of, without_password
from hashrange.failing import Failure

if TYPE_CHECKING:
    from hashrange.database.database import Database

NO_CREDENTIALS = "hashrange"
"""The access key and the secret key if boto3 finds no credentials. A server on loopback accepts
any credentials."""

_AWS_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")


class TargetError(Failure):
    """The database cannot be opened; the message is one line for the user."""


@dataclass(frozen=True)
class Target:
    """An open database. `client` and `streams` are boto3's clients for it.

    `name` is safe to print: it has no password. If the database is open in this process, `database`
    is the database itself, which offers more than the API.
    """

    name: str
    kind: Kind
    client: Any
    streams: Any
    database: "Database | None" = None

    def connection(self, threads: int) -> JsonConnection:
        """A connection for requests as JSON. At most `threads` requests are sent to a server at
        once."""
        if self.database is None:
            return remote_connection(self.client, self.name, threads)
        return connection_of(self.database.runtime, threads)

    @property
    def is_aws(self) -> bool:
        """Whether writes go to AWS, named either `aws` or by an address of AWS."""
        if self.kind != "server":
            return self.kind == "aws"
        host = urlsplit(self.client.meta.endpoint_url).hostname or ""
        return host.endswith(_AWS_HOSTS)


@contextmanager
def open_target(name: str, *, create: bool = False, **config: Any) -> Iterator[Target]:
    """Open the database `name`; with `create`, create a missing file.

    `config` is passed to botocore's Config for servers and AWS, e.g. `max_pool_connections`. Raises
    `TargetError`, and `StoreError` for a file that is not a database.
    """
    kind, printed = kind_of(name), _printed(name)
    if kind in ("file", "postgresql"):
        with _in_process(name, kind, create) as database:
            yield target_of(database, printed, kind)
    else:
        yield Target(printed, kind, *_remote(name, kind, config))


def target_of(
    database: "Database", name: str, kind: Kind = "file", principal: str | None = None
) -> Target:
    """The target for a database that is already open in this process.

    With a `principal`, an ARN, the target has only clients of that principal, which its policies
    restrict. Raises ValueError if the access file does not have this principal.
    """
    session = database.boto3_session(principal=principal)
    clients = session.client("dynamodb"), session.client("dynamodbstreams")
    return Target(name, kind, *clients, database if principal is None else None)


def _printed(name: str) -> str:
    """The name without a password, for messages. Raises TargetError if it is not a valid
    address."""
    try:
        return without_password(name)
    except ValueError as error:
        raise TargetError(f"the address of the database is not valid: {error}") from None


def server_arguments(session: Any, url: str) -> dict[str, Any]:
    """The arguments for a boto3 client of a server, with a region and credentials, which boto3
    requires.

    If the boto3 session has no credentials, dummies are used; on loopback, servers accept any.
    """
    arguments = {"endpoint_url": url, "region_name": session.region_name or "us-east-1"}
    if session.get_credentials() is None:
        arguments |= dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), NO_CREDENTIALS)
    return arguments


def _in_process(name: str, kind: Kind, create: bool) -> "Database":
    from hashrange.database.connecting import connect

    if kind == "file" and not create:
        path = Path(name)
        if path.is_dir():
            raise TargetError(f"{name}: is a directory; name a file")
        if not path.exists():
            raise TargetError(f"{name}: no such file")
    return connect(name)


def _remote(name: str, kind: Kind, config: dict[str, Any]) -> tuple[Any, Any]:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    match = AWS.fullmatch(name) if kind == "aws" else None
    arguments: dict[str, Any] = {"config": Config(**config)}
    try:
        session = boto3.Session(
            profile_name=match["profile"] if match else None,
            region_name=match["region"] if match else None,
        )
        if kind == "server":
            arguments |= server_arguments(session, name)
        elif session.region_name is None:
            raise TargetError(f"{name}: no region; name it: aws@eu-west-1")
        return session.client("dynamodb", **arguments), session.client(
            "dynamodbstreams", **arguments
        )
    except (BotoCoreError, ValueError) as error:
        raise TargetError(f"{_printed(name)}: {error}") from None
