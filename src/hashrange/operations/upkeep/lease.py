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
    """`seconds` is 0 to end the holder's own lease.

    With `asks`, if another process holds the lease, a note for that process is left in it.
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
