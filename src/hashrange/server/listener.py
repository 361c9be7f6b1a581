"""The listener: the address that clients connect to, with its keys and TLS settings.

The address is bound before anything else is opened, so that a second server on the same port
fails before it touches a file.
"""

import errno
import ipaddress
import logging
import os
import socket
import ssl
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hashrange.failing import Failure
from hashrange.wire import NO_ORIGINS, KeyRing, Keys, KeysError, OriginError, Origins, read_keys

if TYPE_CHECKING:
    from hashrange.access.generation import Access

KEYS_VARIABLE = "HASHRANGE_KEYS"

_log = logging.getLogger("hashrange")

_OTHER_FILES = 128
"""The number of file descriptors that are kept free for other uses than clients' connections. Half
of them are for connections that read the database."""


class ServerError(Failure):
    """The server cannot start; the message is one line for the operator."""


class Listener(NamedTuple):
    """An open socket. Without keys, any well-formed credentials are accepted; without TLS, all
    traffic is readable. Web pages may call the server only if their origin is in `origins`.
    `access` is the content of the access file at the start."""

    sock: socket.socket
    ring: KeyRing | None = None
    tls: ssl.SSLContext | None = None
    origins: Origins = NO_ORIGINS
    access: "Access | None" = None

    @property
    def port(self) -> int:
        port: int = self.sock.getsockname()[1]
        return port


def open_listener(
    host: str,
    port: int,
    keys: Keys | None = None,
    tls: ssl.SSLContext | None = None,
    origins: Origins = NO_ORIGINS,
    trusting: bool = False,
) -> Listener:
    """Listen on an address; port 0 is any free one. Raises ServerError.

    An address that other machines could reach is refused without keys, unless `trusting` is true.
    """
    check_address(host, keys, trusting)
    ring = None if keys is None else KeyRing(keys)
    return Listener(listening_socket(host, port), ring, tls, origins)


def check_address(host: str, keys: Keys | None, trusting: bool) -> None:
    """If there are no keys, refuse an address that other machines can reach, unless `trusting` is
    true. Raises ServerError."""
    if keys is None and not trusting and not is_loopback(host):
        raise ServerError(
            f"{host} is not a loopback address: name the accepted keys with "
            f"--keys FILE or {KEYS_VARIABLE}, or accept every client with --no-auth"
        )


def listening_socket(host: str, port: int) -> socket.socket:
    """Listen on an address. Raises ServerError, with one line that names the address."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = min(addresses)  # IPv4 before IPv6
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ServerError(f"port {port} of {host} is in use; choose another port") from None
        reason = str(error.strerror).partition(" (")[0]  # the socket module adds the address
        raise ServerError(f"cannot listen on {host}:{port}: {reason}") from None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def configured_keys(path: Path | None, environment: Mapping[str, str]) -> Keys | None:
    """The keys in a file or, without a file, in the environment. None if there are none.

    Logs a warning if other users can read the file. Raises ServerError or OSError.
    """
    if path and os.name != "nt" and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        _log.warning("%s: other users can read the keys in it; run chmod 600 on it", path)
    source, text = (
        (
            str(path),
            path.read_text("utf-8-sig", "replace"),
        )  # utf-8-sig: drops a byte order mark
        if path
        else (KEYS_VARIABLE, environment.get(KEYS_VARIABLE))
    )
    if text is None:
        return None
    try:
        return read_keys(text)
    except KeysError as error:
        raise ServerError(f"{source}: {error}") from None


class Credentials(NamedTuple):
    """The keys that a server accepts, as read once; with their principals if there is an access
    file."""

    keys: Keys
    access: "Access | None"


def credentials(
    keys_path: Path | None, access_path: Path | None, environment: Mapping[str, str]
) -> Credentials | None:
    """The keys that a server accepts; None if it accepts any keys. Raises ServerError or
    OSError."""
    if access_path is None:
        keys = configured_keys(keys_path, environment)
        return None if keys is None else Credentials(keys, None)
    from hashrange.access.generation import AccessError
    from hashrange.database.access_file import others_may, read_access

    if environment.get(KEYS_VARIABLE):
        raise ServerError(f"--access takes keys only from --keys FILE; unset {KEYS_VARIABLE}")
    if keys_path is None:
        raise ServerError("--access names principals by their access keys: give --keys FILE too")
    if others_may(keys_path, stat.S_IRGRP | stat.S_IROTH):
        raise ServerError(f"{keys_path}: other users can read the keys in it; run chmod 600 on it")
    keys = configured_keys(keys_path, {})
    assert keys is not None, "a file of keys must have a key"
    try:
        access = read_access(access_path)
        access.check_keys(keys)
    except AccessError as error:
        raise ServerError(f"{access_path}: {error}") from None
    named = {name: key._replace(principal=access.by_key[name]) for name, key in keys.items()}
    return Credentials(named, access)


def allowed_origins(origins: Iterable[str]) -> Origins:
    """The origins of web pages that may call the server. Raises ServerError."""
    try:
        return Origins(origins)
    except OriginError as error:
        raise ServerError(f"--cors: {error}") from None


def tls_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """A TLS context from files in PEM form; None without files. The certificate's file may contain
    the key too.

    Raises ServerError or OSError.
    """
    if certificate is None:
        if key is not None:
            raise ServerError("--tls-key needs --tls-cert")
        return None
    for file in filter(None, (certificate, key)):
        file.open("rb").close()  # opening it names the file in an OSError; OpenSSL does not
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    load_certificate(context, certificate, key)
    return context


def load_certificate(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    """Load a certificate and its key into a context.

    Raises ServerError. The context must not be used after an error: it may have only the
    certificate.
    """
    try:
        # Refuse a key with a passphrase; OpenSSL would ask for it on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        reason = "must be a certificate and its private key, in PEM form and without a passphrase"
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            reason = "the private key does not belong to the certificate"
        files = f"{certificate}, {key}" if key else str(certificate)
        raise ServerError(f"{files}: {reason}") from None


def connections_possible(connections_max: int) -> int:
    """The number of connections that the limit of open files allows, at most `connections_max`.
    Raises this process's limit first, if necessary."""
    if sys.platform == "win32":
        return connections_max
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections_max + _OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return min(connections_max, max(wanted, soft) - _OTHER_FILES)
