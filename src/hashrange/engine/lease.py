"""Leases: rows that say which of several processes has a duty, and until when."""

from hashrange.engine import fetch
from hashrange.engine.decision import Lease, LeaseChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system


def take(duty: str, holder: str, seconds: float, moment: Moment) -> Fetch[LeaseChange | None]:
    """The lease that the holder may have now; None while another process has it."""
    held = yield from fetch.system_row(system.lease(duty)[1], Lease)
    if held is not None and held.holder != holder and moment.now < held.until:
        return None
    return LeaseChange(duty, Lease(holder, moment.now + seconds))
