"""Takes or renews the lease for a duty, such as upkeep, unless another process holds it.

It would be correct for several processes to do steps of upkeep at once, but they would do the same
work, and their rates would add up.
"""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import lease
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment


class Request(msgspec.Struct, rename="pascal"):
    """If `seconds` is 0, the lease of `holder` ends.

    With `asks`, if another process holds the lease, the time of this request is noted in the lease,
    so that the other process sees that it was asked for work.
    """

    holder: str
    seconds: float
    duty: str = "upkeep"
    asks: bool = False


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    holder = request.holder
    held, change = yield from lease.take(
        request.duty, holder, request.seconds, request.asks, moment
    )
    left = max(0.0, held.until - moment.now)
    response = {"Granted": held.holder == holder, "Seconds": left, "Asked": held.asked}
    return Decision([change] if change else [], response)
