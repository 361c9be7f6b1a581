"""The HTTP server: a listener, its clients' connections, and the turns they are served in."""

from hashrange.server.server import Server, serve

__all__ = ["Server", "serve"]
