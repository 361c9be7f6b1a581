"""One client of the server: between its socket and the runtime, one request at a time.

Pipelined requests wait, parsed, until the requests before them are answered. So a read sees the
write before it, and answers leave in order. While a request waits, nothing more is read from the
client. While the client does not read its answers, none of its requests is run. `intake` limits
what the client may send, and `budget` has the memory that all clients share.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from random import random
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from time import perf_counter
from typing import cast

from hashrange import wire
from hashrange.clients.calls import refusal
from hashrange.model.errors import ThrottlingException
from hashrange.runtime.ending import Outcome
from hashrange.server.budget import (
    LARGE_BYTES,
    MB,
    MEDIUM_CALL_BYTES,
    OBJECTS_ON_LOOP_MAX,
    SMALL_CALL_BYTES,
    DecodedCalls,
    decoded_bytes,
    objects_of,
)
from hashrange.server.clients import Answered, Clients
from hashrange.server.intake import Intake
from hashrange.server.patience import (
    CONTENDED_RATE_MIN,
    CONTENDED_SECONDS_MAX,
    IDLE_SECONDS_MAX,
    RATE_MIN,
    SILENT_SECONDS_MAX,
    SLOW_SECONDS_MAX,
    Patience,
)

ROOM_SECONDS_MAX = 30
"""The longest wait for memory. After this time, the client is told to try again later."""

LINGER_SECONDS = 2
"""The time for which a refused client stays connected, so that it can read the refusal."""

THROTTLED_SECONDS = 0.5
"""The shortest delay of the answer to a throttled request; the longest is twice as long. Some
clients repeat a request at once, and hundreds of them should not do so at the same moment."""

LARGE_REFUSAL_SECONDS = 0.01
"""The delay, per megabyte of the request, of the answer to a large refused request. Otherwise a
client that sends invalid requests of 16 MB without a pause would keep a core busy."""

_NO_LINGER = pack("ii", 1, 0)

_TAKEN_PER_TURN = 16
"""The number of requests of one client that are handled before the loop serves other clients."""

_CONTINUE = b"HTTP/1.1 100 "
"""The first bytes of an interim answer (100 Continue), which precedes the final answer."""

_OUTBOX_BYTES_MAX = 64 * 1024
"""The size up to which answers are sent together. Copying more bytes would cost more time."""

_COMPRESSED_AT_ONCE_BYTES_MAX = 256 * 1024
"""The largest answer that is compressed on the event loop. A thread compresses larger answers."""


def _takes_long(call: wire.Call) -> bool:
    """Whether a call must be decoded in a thread, so that it does not delay other clients.

    These are PartiQL calls, which take longest to parse, very large calls, and large calls with
    many values. Other calls are faster on the loop: a thread takes a third longer.
    """
    body = call.body
    return (
        len(body) > LARGE_BYTES
        or "Execute" in call.operation
        or (len(body) > MEDIUM_CALL_BYTES and objects_of(body) > OBJECTS_ON_LOOP_MAX)
    )


def _delay_seconds(call: wire.Call, refused: BaseException) -> float:
    """The delay before the refusal of a call is sent."""
    if isinstance(refused, ThrottlingException):
        return THROTTLED_SECONDS * (1 + random())
    size = len(call.body)
    return size / MB * LARGE_REFUSAL_SECONDS if size > LARGE_BYTES else 0


class ClientConnection(asyncio.BufferedProtocol):
    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._runtime = clients.runtime
        self._turns = clients.turns
        self._wire = clients.parser()
        self._intake = Intake(clients.budget, self._wire, self._go_on)
        self._stranger = True
        self._waiting: deque[wire.Event] = deque()
        self._call: wire.Call | None = None
        self._decoded = clients.budget.calls
        self._counted_in: DecodedCalls | None = None  # the calls that include the running one
        self._counted_bytes = 0
        self._aside: Future[bytes] | None = None
        self._call_started = 0.0
        self._client = ""
        self._observer = clients.observer
        self._outbox = b""
        self._ended = False  # nothing more is run or sent
        self._advancing = False
        self._paused = False
        self._crowded = False  # more data was read than this turn of the loop handles
        self._writable = True
        self._stopping = False
        self._answers = 0
        self._swept = (0, 0, 0)
        self._patience = Patience()
        self._waiting_seconds = 0.0

    # ---- callbacks of the event loop ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")[:2]
        self._wire.address = peer[0]
        self._wire.secure = transport.get_extra_info("sslcontext") is not None
        if self._observer:
            self._client = ":".join(map(str, peer))
        self._transport.set_write_buffer_limits(1)  # so that each unread answer counts
        if not self._clients.admit(self):
            self._ended = True
            self._transport.write(wire.unavailable())
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._waiting.clear()
        self._wire.close()
        self._clients.forget(self)
        self._clients.budget.unsent.remove(self)
        if self._aside and self._aside.cancel():
            self._call = None
        self._intake.lost(self._call)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._intake.buffer

    def buffer_updated(self, nbytes: int) -> None:
        in_time = self._turns.arrive(self, self._intake.buffer[:nbytes].tobytes())
        if not in_time and not self._paused:
            self._crowded = True
            self._pause_or_resume()

    def eof_received(self) -> bool:
        """A client that has stopped sending may still read: answer its requests, then close."""
        if self._ended:
            return False
        self._stopping = True
        self._turns.arrive(self, b"")
        return True

    def pause_writing(self) -> None:
        self._writable = False
        self._clients.budget.unsent.add(self)

    def resume_writing(self) -> None:
        self._writable = True
        self._clients.budget.unsent.remove(self)
        self._go_on()

    def unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    def abort(self) -> None:
        """Disconnect at once, without waiting until a slow client has read its answers."""
        if self.unsent_bytes():
            socket = self._transport.get_extra_info("socket")
            socket.setsockopt(SOL_SOCKET, SO_LINGER, _NO_LINGER)
        self._transport.abort()

    # ---- requests, in order ----

    def handle(self, data: bytes) -> None:
        self._crowded = False
        if self._ended:
            return
        events = self._wire.feed(data)
        self._waiting.extend(events)
        if self._intake.share or self._wire.reading:
            self._intake.fed(events)
        self._advance()

    def _go_on(self) -> None:
        """Run waiting requests, in a turn: many connections may become free at the same time."""
        if self._waiting and self._turns.turn is None:
            self._turns.arrive(self, b"")
        else:
            self._advance()

    def _advance(self) -> None:
        """Run the requests that have arrived, in order, until a request is not answered at once."""
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
        pause = bool(self._waiting) or self._intake.blocked or self._crowded
        if self._paused != pause and not self._ended:
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
            if self._observer and not event.data.startswith(_CONTINUE):
                refusal = (event.error, event.access_key)
                self._observer(Answered(self._client, None, b"", event.data, 0.0, *refusal))
            self._send(event.data)
            self._intake.answered(event)
            if event.close:
                self._finish(self._turn_away)
            return
        if self._stranger:
            self._become_known()
        self._call = event
        if self._observer:
            self._call_started = perf_counter()
        if event.coding or (len(event.body) > SMALL_CALL_BYTES and _takes_long(event)):
            self._aside = self._clients.call_aside(event, self._done)
        else:
            self._enter(event)

    def _become_known(self) -> None:
        self._stranger = False
        self._intake.admit()
        self._clients.strangers.pop(self, None)

    def _enter(self, call: wire.Call) -> None:
        """Run a call, or let it wait until there is memory for its decoded form."""
        small, large = self._decoded
        calls = small if len(call.body) <= SMALL_CALL_BYTES else large
        if calls.held >= calls.bytes_max:
            size = decoded_bytes(call.body)
            calls.waiting.append((size, partial(self._entered, calls, size, call)))
            return
        self._submit(call)
        if self._call is call:  # it was not answered at once
            self._counted_in, self._counted_bytes = calls, decoded_bytes(call.body)
            calls.held += self._counted_bytes

    def _entered(self, calls: DecodedCalls, size: int, call: wire.Call) -> None:
        self._counted_in, self._counted_bytes = calls, size
        self._clients.loop.call_soon(self._submit, call)

    def _submit(self, call: wire.Call) -> None:
        if self._ended:
            self._done(b"")
            return
        try:
            self._runtime.submit(
                call.operation, call.body, self._done, call.caller, self._turns.turn
            )
        except Exception as error:
            self._done(error)

    def _done(self, outcome: Outcome) -> None:
        try:
            call = self._call
            assert call is not None
            if isinstance(outcome, ConnectionError):  # an injected fault: no answer
                self._transport.abort()
                return
            last = call.form.close or (self._stopping and not self._waiting)
            form = call.form._replace(close=True) if last else call.form
            if not isinstance(outcome, bytes):
                answer = wire.fail(refusal(call.operation, outcome), form)
                if delay := _delay_seconds(call, outcome):
                    tell = partial(self._answer, call, outcome, answer, last)
                    self._clients.loop.call_later(delay, tell)
                    return
            elif form.coding and len(outcome) > _COMPRESSED_AT_ONCE_BYTES_MAX:
                answered = partial(self._answer, call, outcome, last=last)
                self._clients.compress_aside(outcome, form, answered)
                return
            else:
                answer = wire.succeed(outcome, form)
            self._answer(call, outcome, answer, last)
        except Exception:  # an internal error: no answer will come, so the client must not wait
            self._transport.abort()
            raise

    def _answer(self, call: wire.Call, outcome: Outcome, answer: bytes, last: bool) -> None:
        self._call = self._aside = None
        if self._counted_in:
            calls, self._counted_in = self._counted_in, None
            calls.leave(self._counted_bytes)
        if self._observer:
            seconds = perf_counter() - self._call_started
            self._observer(Answered(self._client, call, outcome, answer, seconds))
        self._send(answer)
        if self._intake.share:
            self._intake.answered(call)
        if last:
            self._finish(self._close)
        elif self._waiting or self._paused or self._stopping:
            self._go_on()

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
        """Close the connection. Answers that are already written are still sent."""
        self._transport.close()

    def _turn_away(self) -> None:
        """Half-close the connection, and wait for the client to close. A full close during its
        request would reset the connection before it has read the refusal."""
        if not self._transport.is_closing():
            if self._transport.can_write_eof():  # not within TLS
                self._transport.write_eof()
            self._clients.loop.call_later(LINGER_SECONDS, self._transport.abort)

    def stop(self) -> None:
        """Finish the running request, if there is one, then close."""
        self._stopping = True
        self._waiting.clear()
        self._advance()

    @property
    def idle_seconds(self) -> float:
        """The seconds since the last progress; 0 while a request is under way."""
        busy = self._call or self._waiting or self._wire.reading or self.unsent_bytes()
        return 0 if busy else self._patience.seconds

    def sweep(self, seconds: float) -> None:
        """Disconnect a client that makes too little progress; called every `seconds` seconds."""
        before = self._swept
        self._swept = self._answers, self.unsent_bytes(), self._wire.held_bytes
        if self._intake.waits:
            self._waiting_seconds += seconds
            if self._waiting_seconds >= ROOM_SECONDS_MAX:
                self._send(wire.unavailable())
                self._finish(self._turn_away)
            return
        self._waiting_seconds = 0
        moved = sum(abs(now - then) for now, then in zip(self._swept, before, strict=True))
        if self._call is not None or self._swept[0] != before[0]:
            self._patience.renew()
        elif self._patience.is_over(seconds, moved, *self._pace()):
            self.abort()

    def _pace(self) -> tuple[int, int]:
        """The required bytes per second, and the number of seconds over which they are averaged."""
        if self._intake.contended:
            return CONTENDED_RATE_MIN, CONTENDED_SECONDS_MAX
        answers, unsent, held = self._swept
        if unsent or self._wire.reading or (held and not answers):
            return RATE_MIN, SLOW_SECONDS_MAX
        return 0, IDLE_SECONDS_MAX if answers else SILENT_SECONDS_MAX
