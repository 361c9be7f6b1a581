"""Serving a console on a port of the loopback address, from a thread of its own."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket

import uvicorn

from hashrange.server.listener import ServerError, listening_socket
from hashrange.tools.console.app import application
from hashrange.tools.console.console import Console

HOST = "127.0.0.1"


@contextmanager
def serving(console: Console, port: int = 0, spare: bool = False) -> Iterator[str]:
    """Serve while the `with` block runs. `with` gives the URL to open, which has the token.

    With port 0, any free port is used. If the port is in use, any free port is used with `spare`,
    otherwise ServerError is raised.
    """
    with _listening(port, spare) as sock:
        port = sock.getsockname()[1]
        token = secrets.token_urlsafe(32)
        config = uvicorn.Config(
            application(console, port, token),
            access_log=False,  # addresses contain keys of items
            log_config=None,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [sock]}, name="hashrange-console", daemon=True
        )
        thread.start()
        try:
            yield f"http://{HOST}:{port}/?token={token}"
        finally:
            server.should_exit = True
            thread.join()


def _listening(port: int, spare: bool) -> socket:
    try:
        return listening_socket(HOST, port)
    except ServerError:
        if not spare:
            raise
        return listening_socket(HOST, 0)
