"""The time for which a client may be slow or silent before it is disconnected."""

from dataclasses import dataclass

RATE_MIN = 1024
"""The rate, in bytes per second, that a client must exceed while it sends a request or reads an
answer. A client that does not do so on average over `SLOW_SECONDS_MAX` is disconnected."""

SLOW_SECONDS_MAX = 20

CONTENDED_RATE_MIN = 64 * 1024
"""The rate, in bytes per second, that a client must exceed while others wait for the memory that
its request has reserved. A client that does not do so on average over `CONTENDED_SECONDS_MAX` is
disconnected."""

CONTENDED_SECONDS_MAX = 5

SILENT_SECONDS_MAX = 60
"""The time within which a new client must begin its first request."""

IDLE_SECONDS_MAX = 600
"""The time after which an idle connection is closed."""


@dataclass(slots=True)
class Patience:
    """The number of bytes that a client has moved since the server last began to wait for it.

    The average over the whole wait counts, so a client cannot stay connected by moving a few bytes
    just before each check.
    """

    seconds: float = 0.0
    moved_bytes: int = 0

    def renew(self) -> None:
        self.seconds, self.moved_bytes = 0.0, 0

    def is_over(self, seconds: float, moved_bytes: int, rate_min: int, seconds_max: int) -> bool:
        """Add the bytes that a client has moved in the last `seconds`. Returns True if the wait has
        lasted for `seconds_max` or longer, and the client's average was too low.

        A client must move more than `rate_min` bytes per second. If `rate_min` is 0, a single byte
        is enough, and starts a new average.
        """
        if moved_bytes and not rate_min:
            self.renew()
            return False
        self.seconds += seconds
        self.moved_bytes += moved_bytes
        if self.seconds < seconds_max:
            return False
        over = self.moved_bytes <= rate_min * self.seconds
        self.renew()
        return over
