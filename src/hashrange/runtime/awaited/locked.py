"""Remembers which tickets wait for a lock in vain, so that requests for them are kept apart.

A row stays locked while the machine that began its transaction is away. Requests for it must not
hold up those for other rows.
"""

from collections.abc import Iterable

from hashrange.runtime.awaited.tickets import Ticket

LOCKED_SECONDS = 30.0
"""How long it is remembered that a row stays locked."""


class LockedTickets:
    def __init__(self) -> None:
        self._since: dict[Ticket, float] = {}
        """When each ticket was last met by requests that waited for a lock in vain."""

    def has(self, tickets: frozenset[Ticket]) -> bool:
        """Whether one of these waits in vain, as far as is known."""
        return bool(self._since) and not tickets.isdisjoint(self._since)

    def note(self, tickets: Iterable[Ticket], locked: bool, now: float) -> None:
        """Requests for these tickets were together, and have waited for a lock in vain, or not."""
        if not self._since and not locked:
            return
        met = frozenset(tickets)
        self._since = {
            ticket: since
            for ticket, since in self._since.items()
            if ticket not in met and now - since < LOCKED_SECONDS
        }
        if locked:
            self._since |= dict.fromkeys(met, now)
