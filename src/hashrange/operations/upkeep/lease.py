"""Takes or renews the lease for a duty, such as upkeep, unless another process holds it.

Several processes could do upkeep correctly, but they would do the same work, and together exceed
its rate limits.
"""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import lease
from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment


class Request(msgspec.Struct, rename="pascal"):
    """A request of the process `holder`. If `seconds` is 0, its lease ends.

    With `asks`, if another process holds the lease, the time of this request is stored in the
    lease, to tell that process that there is work.
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
