"""How long a client may be slow or silent before it is disconnected."""

from dataclasses import dataclass

RATE_MIN = 1024
"""Bytes per second: a client that sends a request, or reads an answer, more slowly than this on
average over `SLOW_SECONDS_MAX` is disconnected."""

SLOW_SECONDS_MAX = 20

CONTENDED_RATE_MIN = 64 * 1024
"""The same for a request whose room others wait for, after `CONTENDED_SECONDS_MAX`."""

CONTENDED_SECONDS_MAX = 5

SILENT_SECONDS_MAX = 60
"""How long a client may take to begin its first request."""

IDLE_SECONDS_MAX = 600
"""How long an idle connection is kept open."""


@dataclass(slots=True)
class Patience:
    """What a client has moved since it last did all that was asked of it.

    The bytes of the whole time count, so that a client cannot stay by moving a few of them just
    before each look.
    """

    seconds: float = 0.0
    moved_bytes: int = 0

    def renew(self) -> None:
        self.seconds, self.moved_bytes = 0.0, 0

    def is_over(self, seconds: float, moved_bytes: int, rate_min: int, seconds_max: int) -> bool:
        """Whether a client that has moved so much in the last seconds was too slow for too long.

        A `rate_min` of 0 asks for any movement.
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
