"""Limits the pace of requests, and pauses after refusals."""

import random
import threading
import time

from hashrange.clients.connection import THROTTLED, JsonConnection, Refused

ATTEMPTS_MAX = 12
_FIRST_SECONDS = 0.05
_PAUSE_SECONDS_MAX = 10.0


class Pace:
    """Limits the units that all threads together consume in a second. If `rate` is 0, there is no
    limit."""

    def __init__(self, units_per_second: float = 0.0) -> None:
        self.rate = units_per_second
        self._lock = threading.Lock()
        self._free_at = 0.0

    def consumed(self, units: float) -> None:
        """Count `units` as consumed, and wait until more may be consumed."""
        if not self.rate:
            return
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + units / self.rate
            pause = self._free_at - now
        time.sleep(pause)


def pause(attempt: int) -> None:
    """Wait after a failed attempt (numbered from 0): longer each time, and partly at random."""
    most = min(_PAUSE_SECONDS_MAX, _FIRST_SECONDS * 2**attempt)
    time.sleep(random.uniform(most / 2, most))


def patiently(connection: JsonConnection, operation: str, body: bytes) -> bytes:
    """Make a request, and repeat it while the service throttles it. Raises Refused."""
    for attempt in range(ATTEMPTS_MAX):
        try:
            return connection.call(operation, body)
        except Refused as refusal:
            if refusal.code not in THROTTLED or attempt == ATTEMPTS_MAX - 1:
                raise
        pause(attempt)
    raise AssertionError("the last attempt neither returned nor raised an error")
