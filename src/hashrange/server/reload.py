"""SIGHUP: reads the files of keys and certificates again while the server runs."""

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hashrange.server.listener import (
    Credentials,
    Listener,
    ServerError,
    credentials,
    load_certificate,
    tls_context,
)

if TYPE_CHECKING:
    from hashrange.database.database import Database

_log = logging.getLogger("hashrange")


class Files(NamedTuple):
    """The files that a running server reads again."""

    keys: Path | None = None
    access: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None


class Reload:
    """Handles SIGHUP beside the server. A faulty file changes nothing, and is reported in one line
    of the log.

    The console acts as the principal `console_as`, so every new version of the access file must
    contain this principal.
    """

    def __init__(
        self,
        listener: Listener,
        files: Files,
        database: "Database | None" = None,
        console_as: str | None = None,
    ) -> None:
        self._listener = listener
        self._access = listener.access
        self._files = files
        self._database = database
        self._console_as = console_as

    async def start(self) -> None:
        """Handle the signal from now on. Without files to read, the signal still ends the process,
        as usual. Windows has no such signal."""
        if any(self._files) and hasattr(signal, "SIGHUP"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self.reload)

    def stop(self) -> None:
        """Do nothing: the event loop removes the handler when it closes."""

    def reload(self) -> None:
        self.read_keys()
        self.read_certificate()

    def read_keys(self) -> None:
        """Read the files of keys and principals again."""
        if self._files.keys:
            what = "set of keys and policies" if self._files.access else "file of keys"
            _try(self._read_keys, what)

    def read_certificate(self) -> None:
        if self._files.certificate:
            _try(self._read_certificate, "certificate")

    @property
    def credentials(self) -> Credentials | None:
        """The current keys; None if the server accepts any keys."""
        ring = self._listener.ring
        return None if ring is None else Credentials(ring.keys, self._access)

    def take(self, generation: Credentials | None) -> None:
        """Use these keys from now on."""
        ring = self._listener.ring
        if ring is not None and generation is not None:
            ring.keys, self._access = generation
            if self._database is not None:
                self._database.access = generation.access

    def _read_keys(self) -> None:
        """Read the files, and use the new keys from now on.

        Raises ServerError, for example if the access file has another account: tables keep their
        account.
        """
        read = credentials(self._files.keys, self._files.access, {})
        began = self._access
        assert read is not None, "a file of keys must have a key"
        if began and read.access and began.account != read.access.account:
            raise ServerError(
                f"the account is still {began.account}; restart the server to change it"
            )
        if self._console_as is not None and read.access:
            try:
                read.access.principal(self._console_as)
            except ValueError as error:
                raise ServerError(f"--console-as: {error}") from None
        self.take(read)

    def _read_certificate(self) -> None:
        """Load the certificate into the listener's context. It is first tried in another context,
        so that a faulty file changes nothing."""
        tls, (_, _, certificate, private_key) = self._listener.tls, self._files
        assert tls is not None, "the server must serve HTTPS"
        assert certificate is not None
        tls_context(certificate, private_key)
        load_certificate(tls, certificate, private_key)


def _try(read: Callable[[], None], what: str) -> None:
    try:
        read()
    except (ServerError, OSError) as error:
        _log.error("SIGHUP: the %s is invalid; the previous one stays in use: %s", what, error)
    else:
        _log.info("SIGHUP: the %s was read again", what)
