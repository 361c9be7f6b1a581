"""How fast requests may follow each other, and how long to wait after a refusal."""

import random
import threading
import time

from hashrange.clients.connection import THROTTLED, JsonConnection, Refused

ATTEMPTS_MAX = 12
_FIRST_SECONDS = 0.05
_PAUSE_SECONDS_MAX = 10.0


class Pace:
    """Limits the units that all threads together consume in a second; 0: no limit."""

    def __init__(self, units_per_second: float = 0.0) -> None:
        self.rate = units_per_second
        self._lock = threading.Lock()
        self._free_at = 0.0

    def consumed(self, units: float) -> None:
        """Wait until as much may be consumed again."""
        if not self.rate:
            return
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + units / self.rate
            pause = self._free_at - now
        time.sleep(pause)


def pause(attempt: int) -> None:
    """Wait after an attempt that failed (they count from 0): longer each time, and by chance."""
    most = min(_PAUSE_SECONDS_MAX, _FIRST_SECONDS * 2**attempt)
    time.sleep(random.uniform(most / 2, most))


def patiently(connection: JsonConnection, operation: str, body: bytes) -> bytes:
    """Make a request again for as long as the service throttles it. Raises Refused."""
    for attempt in range(ATTEMPTS_MAX):
        try:
            return connection.call(operation, body)
        except Refused as refusal:
            if refusal.code not in THROTTLED or attempt == ATTEMPTS_MAX - 1:
                raise
        pause(attempt)
    raise AssertionError("the last attempt returns or raises")
