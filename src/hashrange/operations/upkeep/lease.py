"""Let one of several processes do the upkeep for some seconds, unless another one already does.

Steps of upkeep may be done by several processes at once, but they would do the same work, and
their rates would add up.
"""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, Lease, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace import system


class Request(msgspec.Struct, rename="pascal"):
    """`seconds` is 0 to end the holder's own lease."""

    holder: str
    seconds: float


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    held = yield from fetch.system_row(system.UPKEEP[1], Lease)
    if held is not None and held.holder != request.holder and moment.now < held.until:
        return answer({"Granted": False})
    return Decision([Lease(request.holder, moment.now + request.seconds)], {"Granted": True})
