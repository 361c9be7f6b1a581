"""One client of the server: between its socket and the runtime, one request at a time.

Requests that a client pipelines wait, parsed, until their predecessors are answered: a read
sees the write before it, and answers leave in order. While one waits, nothing more is read
from the client; while the client does not read, nothing more is run for it.
"""

import asyncio
import logging
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, cast

from hashrange import wire
from hashrange.interfaces.calls import Outcome, refusal

if TYPE_CHECKING:
    from hashrange.interfaces.server import Server

UNFINISHED_SECONDS_MAX = 60
"""How long a client may take to send one request, or to read one answer."""

IDLE_SECONDS_MAX = 600
"""How long a connection is kept open for a request to come."""

LINGER_SECONDS = 2
"""How long a refused client may go on sending, unread, so that it can read why."""

_TAKEN_PER_TURN = 16
"""How many requests of one client are taken before the event loop sees to the others."""

access_log = logging.getLogger("hashrange.access")


class ClientConnection(asyncio.Protocol):
    def __init__(self, server: "Server") -> None:
        self._server = server
        self._submit = server.runtime.submit
        self._wire = wire.Connection(server.targets)
        self._waiting: deque[wire.Event] = deque()
        self._call: wire.Call | None = None
        self._call_started = 0.0
        self._logs = access_log.isEnabledFor(logging.INFO)
        self._advancing = False
        self._paused = False
        self._writable = True
        self._stopping = False
        self._finished = False
        self._answers = 0
        self._progress = (0, 0, False)
        self._still_seconds = 0.0

    # ---- what the event loop says ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._finished = True
        self._waiting.clear()
        self._server.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self._waiting.extend(self._wire.feed(data))
        self._advance()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._advance()

    # ---- requests, in order ----

    def _advance(self) -> None:
        """Take what waits, as far as it goes; a call that is answered at once does not recurse."""
        if self._advancing:
            return
        self._advancing = True
        taken = 0
        while self._waiting and self._call is None and self._writable and not self._finished:
            if taken == _TAKEN_PER_TURN:
                self._server.loop.call_soon(self._advance)
                break
            taken += 1
            self._take(self._waiting.popleft())
        self._advancing = False
        self._hold_back()

    def _hold_back(self) -> None:
        """Read from the client only while nothing of it waits."""
        if self._finished or self._paused == bool(self._waiting):
            return
        self._paused = not self._paused
        if self._paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _take(self, event: wire.Event) -> None:
        if isinstance(event, wire.Answer):
            self._send(event.data)
            if event.close:
                self._turn_away()
            return
        self._call = event
        if self._logs:
            self._call_started = perf_counter()
        try:
            self._submit(event.operation, event.body, self._done, event.region)
        except Exception as error:
            self._done(error)

    def _done(self, outcome: Outcome) -> None:
        call = self._call
        assert call is not None
        self._call = None
        form = call.form._replace(close=True) if self._stopping else call.form
        if isinstance(outcome, bytes):
            answer = wire.succeed(outcome, form)
        else:
            answer = wire.fail(refusal(call.operation, outcome), form)
        if self._logs:
            self._log(call, answer)
        self._send(answer)
        if form.close and not self._finished:
            self._close()
        if self._waiting:
            self._advance()

    def _log(self, call: wire.Call, answer: bytes) -> None:
        access_log.info(
            "operation=%s status=%s request_bytes=%d response_bytes=%d ms=%.3f",
            call.operation,
            answer[9:12].decode(),
            len(call.body),
            len(answer),
            (perf_counter() - self._call_started) * 1000,
        )

    def _send(self, answer: bytes) -> None:
        if not self._finished:
            self._answers += 1
            self._transport.write(answer)

    # ---- the end ----

    def _close(self) -> None:
        """What is written is still sent."""
        self._finished = True
        self._transport.close()

    def _turn_away(self) -> None:
        """Say that no more comes, then wait for the client's end: closing while it sends would
        reset the connection under the answer that says why."""
        self._finished = True
        if not self._transport.is_closing():
            self._transport.write_eof()
            self._server.loop.call_later(LINGER_SECONDS, self._transport.abort)

    def stop(self) -> None:
        """Finish the request that is running, if one is, then close."""
        self._stopping = True
        self._waiting.clear()
        if self._call is None and not self._finished:
            self._close()

    def sweep(self, seconds: float) -> None:
        """Called every so many seconds: give up a client that does not move."""
        unsent_bytes = self._transport.get_write_buffer_size()
        progress = (self._answers, unsent_bytes, self._wire.reading)
        if self._call is not None or progress != self._progress:
            self._progress = progress
            self._still_seconds = 0
            return
        self._still_seconds += seconds
        unfinished = unsent_bytes > 0 or self._wire.reading
        if self._still_seconds >= (UNFINISHED_SECONDS_MAX if unfinished else IDLE_SECONDS_MAX):
            self._transport.abort()
