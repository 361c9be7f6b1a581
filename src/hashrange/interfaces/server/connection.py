"""One client of the server: between its socket and the runtime, one request at a time.

Pipelined requests wait, parsed, until the requests before them are answered: a read sees the
write before it, and answers leave in order. While a request waits, nothing more is read from the
client; while the client does not read its answers, none of its requests is run.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import cast

from hashrange import wire
from hashrange.interfaces.calls import Outcome, refusal
from hashrange.interfaces.server.clients import Answered, Clients

UNFINISHED_SECONDS_MAX = 60
"""How long a client may take to send one request (the first counts from when it connected), or
to read one answer."""

IDLE_SECONDS_MAX = 600
"""How long an idle connection is kept open."""

LINGER_SECONDS = 2
"""How long a refused client stays connected, so that it can read the refusal. Nothing more that
it sends is handled."""

_SMALL_BYTES = 4 * 1024
"""Larger PartiQL statements are answered in a thread, because they may take long to parse, while
the event loop has other clients to serve."""

_LARGE_BYTES = 512 * 1024
"""Other requests that are larger are answered in a thread too. The limit is above the largest item,
because the detour through a thread would make a request for one item cost a third more."""

_TAKEN_PER_TURN = 16
"""How many requests of one client are taken before the event loop serves the others."""

_OUTBOX_BYTES_MAX = 64 * 1024
"""Answers are joined up to this size; for larger ones the copy would cost more than it saves."""


def _takes_long(call: wire.Call) -> bool:
    return len(call.body) > _LARGE_BYTES or "Execute" in call.operation


class ClientConnection(asyncio.Protocol):
    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._runtime = clients.runtime
        self._turns = clients.turns
        self._wire = clients.parser()
        self._waiting: deque[wire.Event] = deque()
        self._call: wire.Call | None = None
        self._call_started = 0.0
        self._client = ""
        self._observer = clients.observer
        self._outbox = b""
        self._ended = False  # nothing more is run or sent
        self._advancing = False
        self._paused = False
        self._writable = True
        self._stopping = False
        self._answers = 0
        self._progress = (0, 0, False)
        self._still_seconds = 0.0

    # ---- callbacks of the event loop ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._observer:
            self._client = ":".join(map(str, transport.get_extra_info("peername")[:2]))
        if not self._clients.admit(self):
            self._ended = True
            self._transport.write(wire.unavailable())
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._waiting.clear()
        self._wire.close()
        self._clients.connected.discard(self)

    def data_received(self, data: bytes) -> None:
        self._turns.arrive(self, data)

    def eof_received(self) -> bool:
        """A client that has stopped sending may still read: answer its requests, then close."""
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
        """Run the waiting requests until one has to wait. Calls answered at once do not recurse."""
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
        if self._paused != bool(self._waiting) and not self._ended:
            self._pause_or_resume()

    def _pause_or_resume(self) -> None:
        """Stop reading from the client while one of its requests waits."""
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
        if self._observer:
            self._call_started = perf_counter()
        try:
            if len(event.body) > _SMALL_BYTES and _takes_long(event):
                self._clients.call_aside(event, self._done)
            else:
                self._runtime.submit(
                    event.operation, event.body, self._done, event.caller, self._turns.turn
                )
        except Exception as error:
            self._done(error)

    def _done(self, outcome: Outcome) -> None:
        try:
            call = self._call
            assert call is not None
            self._call = None
            last = call.form.close or (self._stopping and not self._waiting)
            form = call.form._replace(close=True) if last else call.form
            if isinstance(outcome, bytes):
                answer = wire.succeed(outcome, form)
            else:
                answer = wire.fail(refusal(call.operation, outcome), form)
            if self._observer:
                seconds = perf_counter() - self._call_started
                self._observer(Answered(self._client, call, outcome, answer, seconds))
            self._send(answer)
            if last:
                self._finish(self._close)
            elif self._waiting:
                self._advance()
        except Exception:  # internal error: no answer will come, so do not let the client wait
            self._transport.abort()
            raise

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
        """End the connection after its answers are sent."""
        if not self._ended:
            self._ended = True
            self.flush()
            end()

    def _close(self) -> None:
        """Answers that are already written are still sent."""
        self._transport.close()

    def _turn_away(self) -> None:
        """Half-close, then wait for the client to close: closing while it still sends would reset
        the connection before it has read the refusal."""
        if not self._transport.is_closing():
            if self._transport.can_write_eof():  # not within TLS
                self._transport.write_eof()
            self._clients.loop.call_later(LINGER_SECONDS, self._transport.abort)

    def stop(self) -> None:
        """Finish the request that is running, if one is, then close."""
        self._stopping = True
        self._waiting.clear()
        self._advance()

    def sweep(self, seconds: float) -> None:
        """Disconnect a client that makes no progress; called every `seconds` seconds."""
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
