"""The arguments of `hashrange serve`, with the checks and files that do not need a database."""

import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hashrange.database.addresses import printed
from hashrange.model.consistency import Eventual
from hashrange.model.faults import Faults
from hashrange.model.settings import Settings, Throughput
from hashrange.server.listener import (
    Credentials,
    Listener,
    ServerError,
    allowed_origins,
    check_address,
    credentials,
    is_loopback,
    listening_socket,
    tls_context,
)
from hashrange.server.logs import LogFormat
from hashrange.server.reload import Files
from hashrange.server.workers.likeness import ITSELF, LIKENESSES, Likeness
from hashrange.transfers.buckets import S3
from hashrange.wire import KeyRing

if TYPE_CHECKING:
    import socket

    from hashrange.kv import Durability
    from hashrange.server.triggers.settings import Trigger

TOKEN_VARIABLE = "HASHRANGE_ADMIN_TOKEN"
TOKEN_LETTERS_MIN = 16
VOLUME_VARIABLE = "HASHRANGE_VOLUME"

DAY_SECONDS = 86_400

NO_AUTH = (
    "--no-auth: EVERY CLIENT that reaches %s can read, change and delete everything; "
    "use it only on a network that nobody else can reach"
)

NO_VOLUME = "no volume is mounted at %s: %s will be lost when this container is removed"

_log = logging.getLogger("hashrange")


class Options(NamedTuple):
    """The options of the command line, under the same names."""

    path: Path | str | None
    port: int | None
    host: str
    workers: int
    apart: bool
    tables: Path | None
    keys: Path | None
    access: Path | None
    no_auth: bool
    tls_cert: Path | None
    tls_key: Path | None
    cors: list[str]
    durability: "Durability"
    throughput: Throughput
    record: Path | None
    record_keys: Literal["hmac", "exact"]
    like: str | None
    accept_unsupported: bool | None
    objects: str | None
    kinesis: str | None
    trigger: list[str]
    trigger_host: list[str]
    archive: str | None
    archive_days: float
    archive_lag_max: float | None
    fault: list[str]
    eventual: str | None
    admin_port: int | None
    admin_host: str
    console: bool
    console_as: str | None
    access_log: bool
    log_format: LogFormat
    resettable: bool

    def check(self) -> None:
        """Check the options together. Raises ServerError for options that cannot be combined."""
        self.settings()
        if self.record is not None and self.throughput == "off":
            raise ServerError("--record needs --throughput measured or enforced")
        if self.workers > 1:
            self._check_workers()
        if self.resettable:
            self._check_resettable()
        if self.apart:
            self._check_apart()
        self._check_outside()
        if self.trigger:
            from hashrange.server.triggers.functions import check_functions

            check_functions(self.triggers())
        self._check_console()

    @property
    def likeness(self) -> Likeness:
        return LIKENESSES[self.like] if self.like else ITSELF

    def settings(self) -> Settings:
        return Settings(
            throughput=self.throughput,
            record=str(self.record) if self.record else None,
            record_keys=self.record_keys,
            consistency=Eventual(worst=self.eventual == "worst") if self.eventual else None,
            faults=_faults(self.fault),
            accept_unsupported=self._accept_unsupported(),
            kinesis=self.kinesis,
            objects=self.objects,
            archive=self.archive,
            archive_seconds=self.archive_days * DAY_SECONDS,
        )

    def triggers(self) -> "list[Trigger]":
        """The triggers of `--trigger`. Raises ServerError."""
        from hashrange.server.triggers.settings import triggers

        return triggers(self.trigger, self.trigger_host)

    def listener(
        self, sock: "socket.socket | None" = None, known: Credentials | None = None
    ) -> Listener:
        """The listener for clients, on a socket that is open already or on a new one.

        The keys are read from their files, unless `known` has them.
        """
        tls = tls_context(self.tls_cert, self.tls_key)
        known = known or credentials(self.keys, self.access, os.environ)
        if known and self.no_auth:
            raise ServerError(
                "--no-auth accepts every client, so it cannot be combined with keys: omit one"
            )
        keys, access = known or (None, None)
        origins = allowed_origins(self.cors)
        check_address(self.host, keys, trusting=self.no_auth)
        port = self.likeness.port if self.port is None else self.port
        ring = None if keys is None else KeyRing(keys)
        return Listener(sock or listening_socket(self.host, port), ring, tls, origins, access)

    def files(self) -> Files:
        """The files that the server reads again after SIGHUP."""
        return Files(self.keys, self.access, self.tls_cert, self.tls_key)

    def url(self, listener: Listener) -> str:
        return _url("https" if listener.tls else "http", self.host, listener.port)

    def own_url(self, listener: Listener) -> str:
        """The address at which programs on this machine find the server."""
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return self._replace(host=local).url(listener)

    def greeting(self, listener: Listener) -> str:
        workers = f" with {self.workers} workers" if self.workers > 1 else ""
        before = f"{self.likeness.says}\n" if self.likeness.says else ""
        return f"{before}Serving {self._where()} on {self.url(listener)}{workers} - Ctrl-C ends it"

    def warn_of_no_auth(self, listener: Listener) -> None:
        if self.no_auth and not is_loopback(self.host):
            _log.warning(NO_AUTH, self.url(listener))

    def check_volume(self) -> None:
        """Check the database's folder in a container: it should be a volume, and writable for this
        user.

        Raises ServerError if it is not writable, and logs a warning if it is not a volume.
        """
        volume = os.environ.get(VOLUME_VARIABLE)
        path = self.path
        if not isinstance(path, Path) or not volume or not path.absolute().is_relative_to(volume):
            return
        if not os.access(volume, os.W_OK | os.X_OK):
            raise ServerError(
                f"{volume}: user {os.getuid()} may not write there; give the volume to that user"
            )
        if not os.path.ismount(volume):
            _log.warning(NO_VOLUME, volume, path)

    def _accept_unsupported(self) -> bool | None:
        if self.accept_unsupported is None and self.like:
            return True
        return self.accept_unsupported

    def _where(self) -> str:
        if self.apart:
            return f"a database for each key and region in {self.path or 'memory'}"
        if self.path is None:
            return "a database in memory"
        if isinstance(self.path, Path):
            return f"{self.path} (durability {self.durability})"
        return printed(self.path)

    def _check_workers(self) -> None:
        if sys.platform == "win32":
            raise ServerError(
                "--workers: this system cannot share a listening socket; omit --workers"
            )
        if self.path is None:
            raise ServerError("--workers needs a file: a database in memory has one process")
        if self.throughput == "enforced":
            raise ServerError(
                "--throughput enforced needs --workers 1: each worker would have its own meter"
            )
        if self.record is not None:
            raise ServerError(
                "--record needs --workers 1: each worker sees only a part of the load"
            )
        if self.eventual:
            raise ServerError("--eventual needs --workers 1: old values are kept in one process")
        if self.console:
            raise ServerError(
                "--console needs --workers 1; or run hashrange console URL separately"
            )

    def _check_apart(self) -> None:
        if self.path is not None and not (isinstance(self.path, Path) and self.path.is_dir()):
            raise ServerError(
                f"--apart: {self._where()}: name a folder for the files, or omit PATH"
            )
        other = {
            "--workers": self.workers > 1,
            "--tables": self.tables,
            "--access": self.access,
            "--admin-port": self.admin_port is not None,
            "--console": self.console,
            "--objects": self.objects,
            "--kinesis": self.kinesis,
            "--archive": self.archive,
            "--trigger": self.trigger,
            "--record": self.record,
        }
        if conflicting := [name for name, value in other.items() if value]:
            raise ServerError(
                f"--apart cannot be combined with {conflicting[0]}, which is for a single database"
            )

    def _check_outside(self) -> None:
        """Check that the files and folders outside the database can be used."""
        if self.objects and self.objects != S3 and not Path(self.objects).is_dir():
            raise ServerError(
                f"--objects: {self.objects}: no such folder; name one with a subfolder for each "
                f"bucket, or {S3}"
            )
        if self.kinesis and "://" not in self.kinesis and not Path(self.kinesis).parent.is_dir():
            raise ServerError(f"--kinesis: {self.kinesis}: the folder of the file does not exist")

    def _check_console(self) -> None:
        if self.console_as and not (self.console and self.access):
            raise ServerError("--console-as needs --console and --access")
        if self.console and self.access and not self.console_as:
            raise ServerError(
                "--console with --access needs --console-as ARN: the principal whose policies "
                "apply to its pages"
            )

    def _check_resettable(self) -> None:
        if self.path is not None:
            raise ServerError("--resettable is for tests: only a database in memory can be reset")
        if self.admin_port is None:
            raise ServerError("--resettable needs --admin-port, which answers POST /reset")
        if self.eventual or self.throughput == "enforced" or self.record:
            raise ServerError(
                "--resettable cannot be combined with --eventual, --throughput enforced or "
                "--record: they keep state that a reset does not restore"
            )


class AdminListener(NamedTuple):
    """The admin port: its socket, its token, and the line that tells the user its address."""

    sock: "socket.socket"
    token: str
    greeting: str


@contextmanager
def admin_listener(options: Options) -> Iterator[AdminListener | None]:
    """Listen for clients of the admin port. Returns None if the options do not ask for the port."""
    if options.admin_port is None:
        yield None
        return
    with listening_socket(options.admin_host, options.admin_port) as sock:
        token, shown = _admin_token()
        at = _url("http", options.admin_host, sock.getsockname()[1])
        yield AdminListener(sock, token, f"Admin port: {at} - {shown}")


def _admin_token() -> tuple[str, str]:
    """The token, and the text to print about it. A configured token is not printed."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        made = secrets.token_urlsafe(24)
        return made, f"Authorization: Bearer {made}"
    if len(token) < TOKEN_LETTERS_MIN or not (token.isascii() and token.isprintable()):
        raise ServerError(
            f"{TOKEN_VARIABLE}: a token must have at least {TOKEN_LETTERS_MIN} printable ASCII "
            "characters"
        )
    return token, f"its token is in {TOKEN_VARIABLE}"


def _faults(texts: list[str]) -> Faults | None:
    rates: dict[str, Any] = {}
    for text in texts:
        name, _, rate = text.partition("=")
        rates[name] = rate
        with suppress(ValueError):  # `check` reports a value that is not a number
            rates[name] = float(rate)
    faults = Faults(rates=rates)
    try:
        faults.check()
    except ValueError as error:
        raise ServerError(f"--fault: {error}; an example is throttle=0.1") from None
    return faults if rates else None


def _url(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
