"""One client of the server: between its socket and the runtime, one request at a time.

Requests that a client pipelines wait, parsed, until their predecessors are answered: a read
sees the write before it, and answers leave in order. While one waits, nothing more is read
from the client; while the client does not read, nothing more is run for it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, cast

from hashrange import wire
from hashrange.interfaces.calls import Outcome, refusal

if TYPE_CHECKING:
    from hashrange.interfaces.server import Server

UNFINISHED_SECONDS_MAX = 60
"""How long a client may take to send one request, its first from when it connected, or to read
one answer."""

IDLE_SECONDS_MAX = 600
"""How long a connection is kept open for a request to come."""

LINGER_SECONDS = 2
"""How long a refused client may go on sending, unread, so that it can read why."""

_SMALL_BYTES = 4 * 1024
"""Requests with larger bodies may take long to parse, while the event loop has others to serve:
statements are answered in a thread then, what else there is beyond the next limit."""

_LARGE_BYTES = 512 * 1024
"""The largest item is below, since the way through a thread costs such a one a third more."""

_TAKEN_PER_TURN = 16
"""How many requests of one client are taken before the event loop sees to the others."""

_OUTBOX_BYTES_MAX = 64 * 1024
"""Answers leave together up to here; more would only be copied."""

access_log = logging.getLogger("hashrange.access")


def _takes_long(call: wire.Call) -> bool:
    return len(call.body) > _LARGE_BYTES or "Execute" in call.operation


class ClientConnection(asyncio.Protocol):
    def __init__(self, server: "Server") -> None:
        self._server = server
        self._turns = server.turns
        self._wire = wire.Connection(server.targets, server.verifier)
        self._waiting: deque[wire.Event] = deque()
        self._call: wire.Call | None = None
        self._call_started = 0.0
        self._logs = access_log.isEnabledFor(logging.INFO)
        self._outbox = b""
        self._ended = False  # nothing more is run or sent
        self._advancing = False
        self._paused = False
        self._writable = True
        self._stopping = False
        self._answers = 0
        self._progress = (0, 0, False)
        self._still_seconds = 0.0

    # ---- what the event loop says ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._server.connections) >= self._server.connections_max:
            self._ended = True
            self._transport.write(wire.unavailable())
            self._transport.close()
            return
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._waiting.clear()
        self._server.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self._turns.arrive(self, data)

    def eof_received(self) -> bool:
        """A client that sends no more may still read: answer what it has sent, then close."""
        if self._ended:
            return False
        self._stopping = True
        self._turns.arrive(self, b"")
        return True

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._advance()

    # ---- requests, in order ----

    def handle(self, data: bytes) -> None:
        if not self._ended:
            self._waiting.extend(self._wire.feed(data))
            self._advance()

    def _advance(self) -> None:
        """Take what waits, as far as it goes; a call that is answered at once does not recurse."""
        if self._advancing:
            return
        self._advancing = True
        taken = 0
        while self._waiting and self._call is None and self._writable and not self._ended:
            if taken == _TAKEN_PER_TURN:
                self._turns.arrive(self, b"")
                break
            taken += 1
            self._take(self._waiting.popleft())
        self._advancing = False
        if self._stopping and self._call is None and not self._waiting:
            self._finish(self._close)
        self._hold_back()

    def _hold_back(self) -> None:
        """Read from the client only while nothing of it waits."""
        if self._ended or self._paused == bool(self._waiting):
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
                self._finish(self._turn_away)
            return
        self._call = event
        if self._logs:
            self._call_started = perf_counter()
        try:
            if len(event.body) > _SMALL_BYTES and _takes_long(event):
                self._server.call_aside(event, self._done)
            else:
                self._turns.calls.submit(event.operation, event.body, self._done, event.region)
        except Exception as error:
            self._done(error)

    def _done(self, outcome: Outcome) -> None:
        try:
            self._answer(outcome)
        except Exception:  # our mistake: the client learns at once that nothing more comes
            self._transport.abort()
            raise

    def _answer(self, outcome: Outcome) -> None:
        call = self._call
        assert call is not None
        self._call = None
        last = call.form.close or (self._stopping and not self._waiting)
        form = call.form._replace(close=True) if last else call.form
        if isinstance(outcome, bytes):
            answer = wire.succeed(outcome, form)
        else:
            answer = wire.fail(refusal(call.operation, outcome), form)
        if self._logs:
            self._log(call, answer)
        self._send(answer)
        if last:
            self._finish(self._close)
        elif self._waiting:
            self._advance()

    def _log(self, call: wire.Call, answer: bytes) -> None:
        access_log.info(
            "operation=%s status=%s access_key=%s request_bytes=%d response_bytes=%d ms=%.3f",
            call.operation,
            answer[9:12].decode(),
            call.access_key,
            len(call.body),
            len(answer),
            (perf_counter() - self._call_started) * 1000,
        )

    def _send(self, answer: bytes) -> None:
        if self._ended:
            return
        self._answers += 1
        if not self._outbox:
            self._turns.depart(self)
        self._outbox += answer
        if len(self._outbox) > _OUTBOX_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        outbox, self._outbox = self._outbox, b""
        if outbox and not self._transport.is_closing():
            self._transport.write(outbox)

    # ---- the end ----

    def _finish(self, end: Callable[[], None]) -> None:
        """After what is to be sent."""
        if not self._ended:
            self._ended = True
            self.flush()
            end()

    def _close(self) -> None:
        """What is written is still sent."""
        self._transport.close()

    def _turn_away(self) -> None:
        """Say that no more comes, then wait for the client's end: closing while it sends would
        reset the connection under the answer that says why."""
        if not self._transport.is_closing():
            if self._transport.can_write_eof():  # not within TLS
                self._transport.write_eof()
            self._server.loop.call_later(LINGER_SECONDS, self._transport.abort)

    def stop(self) -> None:
        """Finish the request that is running, if one is, then close."""
        self._stopping = True
        self._waiting.clear()
        self._advance()

    def sweep(self, seconds: float) -> None:
        """Called every so many seconds: give up a client that does not move."""
        unsent_bytes = self._transport.get_write_buffer_size()
        progress = (self._answers, unsent_bytes, self._wire.reading)
        if self._call is not None or progress != self._progress:
            self._progress = progress
            self._still_seconds = 0
            return
        self._still_seconds += seconds
        unfinished = unsent_bytes > 0 or self._wire.reading or not self._answers
        if self._still_seconds >= (UNFINISHED_SECONDS_MAX if unfinished else IDLE_SECONDS_MAX):
            self._transport.abort()
