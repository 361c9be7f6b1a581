"""Leases: each names the process that has a duty, and the time at which the lease expires."""

from hashrange.engine import fetch
from hashrange.engine.decision import Lease, LeaseChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system


def take(
    duty: str, holder: str, seconds: float, asks: bool, moment: Moment
) -> Fetch[tuple[Lease, LeaseChange | None]]:
    """Take or renew the lease of a duty for `holder`, unless another process has it.

    Returns the lease, whichever process has it, and its change, if any. A new lease lasts
    `seconds`. It is renewed only after half of this time, so that most calls write nothing. If
    another process has the lease and `asks` is true, the time of this call is stored in
    `Lease.asked`, so that the holder looks for work.
    """
    held = yield from fetch.system_row(system.lease(duty)[1], Lease)
    if held is not None and held.holder == holder and held.until - moment.now > seconds / 2 > 0:
        return held, None
    if held is None or held.holder == holder or moment.now >= held.until:
        taken = Lease(holder, moment.now + seconds, held.asked if held else 0)
        return taken, LeaseChange(duty, taken)
    if not asks:
        return held, None
    noted = Lease(held.holder, held.until, moment.now)
    return noted, LeaseChange(duty, noted)
