"""The lease of the upkeep: a row that says which of several processes does it, and until when."""

from hashrange.engine import fetch
from hashrange.engine.decision import Lease
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system


def take(holder: str, seconds: float, moment: Moment) -> Fetch[Lease | None]:
    """The lease that the holder may have now; None while another process has it."""
    held = yield from fetch.system_row(system.UPKEEP[1], Lease)
    if held is not None and held.holder != holder and moment.now < held.until:
        return None
    return Lease(holder, moment.now + seconds)
