"""Limits the memory of a server's clients, for each client and for all together.

    bodies   requests that are being received, or that wait until they are run
    work     requests that have been decoded and are not answered yet
    unsent   answers that their clients have not read

Memory for a body is reserved before the body is read, so an admitted body can always be completed.
The smallest requests need no reservation. Others reserve memory from one of four shares: large
requests, and strangers (clients that have not sent a valid request yet), have shares of their own.
docs/reference/limits.md has the total.
"""

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from hashrange import wire

KB = 1024
MB = 1024 * KB

STRANGER_BYTES = 4 * KB
"""The number of bytes of an unfinished request that a stranger (a client that has not sent a valid
request yet) may hold without a reservation. It is also the largest number of bytes that are read
from a stranger at once."""

CLIENT_BYTES = 16 * KB
"""The number of bytes of an unfinished request that a client may hold without a reservation, once
it has sent a valid request."""

BODY_READ_BYTES = 256 * KB
"""The largest number of bytes that are read at once from a body with a reservation."""

HEAD_RESERVED_BYTES = 24 * KB
"""The reservation for the head of a request. It suffices for the largest head."""

LARGE_BYTES = 512 * KB
"""The size above which a body is large. Large bodies have memory of their own, so they do not
delay smaller bodies. A request with the largest item is below this size."""

SMALL_CALL_BYTES = 4 * KB
MEDIUM_CALL_BYTES = 64 * KB

VALUES_MAX = 204_800
"""The largest number of values in a request. No item has more values, because an item has at most
400 KB, and each value takes at least two bytes. Without this limit, 16 MB of JSON could contain a
million values, which would take 300 MB of memory, and a quarter of a second to decode."""

OBJECTS_ON_LOOP_MAX = 4_000
"""The number of JSON objects above which a request is decoded in a thread. Each attribute value is
an object, but a member of a set is not."""

_OBJECT_BYTES = 264  # the memory of a decoded `{"N":"1"}`: a dict with one string
_SMALL_BYTES_PER_BYTE = 24  # memory per byte of a request that has only such objects
_BYTES_PER_BYTE = 12  # memory per byte of a request that has only short strings in sets
_COUNTED_BYTES = 256 * KB

_ROUND_SECONDS = 0.2


class Waiting(Protocol):
    """A client that waits for a reservation."""

    def reserved(self) -> None: ...


class Share:
    """Memory that clients share. Clients whose bodies do not fit wait, first come, first served."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.free = bytes_max
        self.waiting: dict[Waiting, int] = {}

    def take(self, size: int, client: Waiting) -> bool:
        """Reserve memory, and return True. If there is not enough, return False, and call
        `client.reserved` later."""
        if not self.waiting and size <= self.free:
            self.free -= size
            return True
        self.waiting[client] = size
        return False

    def give(self, size: int) -> None:
        self.free += size
        self._grant()

    def withdraw(self, client: Waiting) -> None:
        """Remove a client from the queue."""
        del self.waiting[client]
        self._grant()

    def _grant(self) -> None:
        while self.waiting:
            client, size = next(iter(self.waiting.items()))
            if size > self.free:
                return
            del self.waiting[client]
            self.free -= size
            client.reserved()


class DecodedCalls:
    """Decoded calls of one kind. While they hold too much memory, further calls wait in the order
    of their arrival."""

    def __init__(self, bytes_max: int) -> None:
        self.held = 0
        self.bytes_max = bytes_max
        self.waiting: deque[tuple[int, Callable[[], object]]] = deque()

    def leave(self, size: int) -> None:
        """Release the memory of an answered request, and admit the next waiting requests."""
        self.held -= size
        while self.waiting and self.held < self.bytes_max:
            size, begin = self.waiting.popleft()
            self.held += size
            begin()


class Slow(Protocol):
    """A client that does not read its answers at once."""

    def unsent_bytes(self) -> int: ...
    def abort(self) -> None: ...


class Unsent:
    """Answers that clients have not read. Above a limit, the slowest client is disconnected."""

    def __init__(self, bytes_max: int, timer: Callable[[], float] = monotonic) -> None:
        self._bytes_max = bytes_max
        self._timer = timer
        self._clients: dict[Slow, tuple[int, float]] = {}  # (unsent bytes, time) when added
        self._bytes_at_first = 0

    def add(self, client: Slow) -> None:
        self.remove(client)
        size = client.unsent_bytes()
        self._clients[client] = size, self._timer()
        self._bytes_at_first += size
        if self._bytes_at_first > self._bytes_max:
            self._limit()

    def remove(self, client: Slow) -> None:
        size, _ = self._clients.pop(client, (0, 0.0))
        self._bytes_at_first -= size

    def _limit(self) -> None:
        left = sum(client.unsent_bytes() for client in self._clients)
        while left > self._bytes_max:
            slowest = self._slowest(self._timer())
            left -= slowest.unsent_bytes()
            self.remove(slowest)
            slowest.abort()

    def _slowest(self, now: float) -> Slow:
        """The client that reads most slowly, among the clients that have had time to read. If there
        is none, the client whose answer was added last."""

        def rate(client: Slow) -> float:
            size, since = self._clients[client]
            return (size - client.unsent_bytes()) / (now - since + _ROUND_SECONDS)

        old = [one for one, (_, since) in self._clients.items() if now - since > _ROUND_SECONDS]
        return min(old, key=rate) if old else next(reversed(self._clients))


class Budget:
    """The memory that the clients of one server share."""

    def __init__(self) -> None:
        self.calls = DecodedCalls(24 * MB), DecodedCalls(32 * MB)
        """The decoded calls in two groups: small calls, and all other calls."""
        self.unsent = Unsent(40 * MB)
        self._bodies = Share(16 * MB)
        self._large_bodies = Share(50 * MB)
        self._strangers_bodies = Share(2 * MB)
        self._strangers_large_bodies = Share(17 * MB)
        self._shares = (
            self._bodies,
            self._large_bodies,
            self._strangers_bodies,
            self._strangers_large_bodies,
        )
        buffer = memoryview(bytearray(BODY_READ_BYTES))
        self.body_buffer = buffer
        self.client_buffer = buffer[:CLIENT_BYTES]
        self.stranger_buffer = buffer[:STRANGER_BYTES]

    def share(self, size: int, stranger: bool) -> Share:
        """The share from which a body of `size` bytes gets its memory."""
        if stranger:
            return self._strangers_large_bodies if size > LARGE_BYTES else self._strangers_bodies
        return self._large_bodies if size > LARGE_BYTES else self._bodies

    def figures(self) -> dict[str, int]:
        """Numbers for monitoring, by name. May be called from any thread."""
        queues = (*self._shares, *self.calls)
        return {
            "bytes_in_flight": sum(share.bytes_max - share.free for share in self._shares),
            "decoded_bytes_in_flight": sum(calls.held for calls in self.calls),
            "requests_waiting": sum(len(queue.waiting) for queue in queues),
        }


def objects_of(body: bytes) -> int:
    """An upper bound for the number of JSON objects in a body: every "{" counts, even within a
    string."""
    return _count(body, b"{")


def decoded_bytes(body: bytes) -> int:
    """An upper bound for the memory of a decoded body, in bytes."""
    size = len(body)
    if size <= MEDIUM_CALL_BYTES:
        return size * _SMALL_BYTES_PER_BYTE
    return size * _BYTES_PER_BYTE + objects_of(body) * _OBJECT_BYTES


def check_values(body: bytes) -> None:
    """Refuse a body with too many values. The body is examined piece by piece, so that other
    threads can run meanwhile.

    Raises RequestTooLargeException.
    """
    if _may_have_too_many_values(body) and _values(body) > VALUES_MAX:
        raise wire.RequestTooLargeException(f"A request may have {VALUES_MAX:,} values at most")


def _may_have_too_many_values(body: bytes) -> bool:
    counted = 0
    for at in range(0, len(body), _COUNTED_BYTES):
        piece = body[at : at + _COUNTED_BYTES]
        counted += _count(piece, b",") + _count(piece, b"{")
        if counted > VALUES_MAX:
            return True
    return False


def _values(body: bytes, piece_bytes: int = _COUNTED_BYTES) -> int:
    """The number of values in a body, without text in strings. Stops counting above the limit."""
    commas = braces = 0
    in_string, cut_off = 0, b""
    for at in range(0, len(body), piece_bytes):
        piece = cut_off + body[at : at + piece_bytes]
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        cut_off = piece[len(piece) - backslashes % 2 :]  # the first half of an escape
        piece = piece[: len(piece) - backslashes % 2]
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[in_string::2])
        commas += _count(outside, b",")
        braces += _count(outside, b"{")
        if max(commas, braces) > VALUES_MAX:
            break
        in_string ^= (len(parts) - 1) % 2
    return max(commas, braces) + 1


def _count(text: bytes, character: bytes) -> int:
    """Like `text.count`, but forty times as fast if `character` is rare in the text."""
    return len(text) - len(text.replace(character, b""))
