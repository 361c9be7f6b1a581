"""Cutting a test off from the network and from this machine's credentials."""

import os
import socket
from typing import Any, NoReturn

import pytest


def cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to use the network, or this machine's credentials, fails."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
