"""Remembers for which tickets requests have recently waited for a lock in vain.

A row stays locked while the machine that began the transaction cannot be reached. New requests for
this row are kept apart, so that they do not delay requests for other rows.
"""

from collections.abc import Iterable

from hashrange.runtime.awaited.tickets import Ticket

LOCKED_SECONDS = 30.0
"""How long a ticket is remembered after a request has waited for its lock in vain."""


class LockedTickets:
    def __init__(self) -> None:
        self._since: dict[Ticket, float] = {}
        """For each ticket, the time when a request for it last waited for a lock in vain."""

    def has(self, tickets: frozenset[Ticket]) -> bool:
        """Whether requests for one of these tickets would probably wait for a lock in vain."""
        return bool(self._since) and not tickets.isdisjoint(self._since)

    def note(self, tickets: Iterable[Ticket], locked: bool, now: float) -> None:
        """Remember how a group of requests for these tickets ended. If `locked` is true, the group
        has waited for a lock in vain; otherwise the tickets are no longer remembered."""
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
