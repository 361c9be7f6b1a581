"""SIGHUP: reads the files of keys and certificates again, while the server goes on."""

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hashrange.interfaces.server.listener import (
    Listener,
    ServerError,
    configured_keys,
    load_certificate,
    tls_context,
)

_log = logging.getLogger("hashrange")


class Files(NamedTuple):
    """The files that a running server reads again."""

    keys: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None


class Reload:
    """Runs beside the server. A faulty file changes nothing, and gets one line in the log."""

    def __init__(self, listener: Listener, files: Files) -> None:
        self._listener = listener
        self._files = files

    async def start(self) -> None:
        """Without files the signal ends the process, as usual. Windows has no such signal."""
        if any(self._files) and hasattr(signal, "SIGHUP"):
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self.reload)

    def stop(self) -> None:
        """The handler goes with its loop."""

    def reload(self) -> None:
        if self._files.keys:
            _try(self._read_keys, "file of keys")
        if self._files.certificate:
            _try(self._read_certificate, "certificate")

    def _read_keys(self) -> None:
        """Read the keys into the mapping that the server verifies with."""
        keys, read = self._listener.keys, configured_keys(self._files.keys, {})
        assert keys is not None, "the server was started with this file"
        assert read is not None, "a file without keys is an error"
        keys.clear()
        keys.update(read)

    def _read_certificate(self) -> None:
        """Read the files into the listener's context, after a trial in another context."""
        tls, (_, certificate, private_key) = self._listener.tls, self._files
        assert tls is not None, "the server was started with these files"
        assert certificate is not None
        tls_context(certificate, private_key)
        load_certificate(tls, certificate, private_key)


def _try(read: Callable[[], None], what: str) -> None:
    try:
        read()
    except (ServerError, OSError) as error:
        _log.error("SIGHUP: the %s did not change: %s", what, error)
    else:
        _log.info("SIGHUP: the %s was read again", what)
