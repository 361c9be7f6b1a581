"""The messages between the supervisor and a worker, over a pair of connected sockets.

    supervisor -> worker    (ASK, number, question, argument), (RELOAD, keys) or (REFUSE, reason)
    worker -> supervisor    (READY,), (ANSWER, number, answer) or (REFUSE, reason)

A message is sent as its length, in four bytes, followed by its pickle. The first message to a
worker is its task. If one side is gone, the other side reads the end of the stream.
"""

import asyncio
import pickle
import socket
import struct
from typing import Any

ASK, RELOAD, REFUSE = "ask", "reload", "refuse"
READY, ANSWER = "ready", "answer"

_length = struct.Struct(">I")


def packed(message: Any) -> bytes:
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _length.pack(len(content)) + content


def receive_first(sock: socket.socket) -> Any:
    """The first message, before there is an event loop. Raises EOFError."""
    with sock.makefile("rb", buffering=0) as file:
        [length] = _length.unpack(_exactly(file, _length.size))
        return pickle.loads(_exactly(file, length))


def _exactly(file: Any, size: int) -> bytes:
    content = b""
    while len(content) < size:
        more = file.read(size - len(content))
        if not more:
            raise EOFError
        content += more
    return content


class Channel:
    """One side of the channel, on the running event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, sock: socket.socket) -> "Channel":
        return cls(*await asyncio.open_unix_connection(sock=sock))

    def send(self, message: Any) -> None:
        self._writer.write(packed(message))

    async def receive(self) -> Any:
        """The next message, or None if the other side is gone."""
        try:
            [length] = _length.unpack(await self._reader.readexactly(_length.size))
            return pickle.loads(await self._reader.readexactly(length))
        except (OSError, EOFError):
            return None

    def close(self) -> None:
        self._writer.close()
