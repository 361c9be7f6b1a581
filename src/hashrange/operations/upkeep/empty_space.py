"""Deletes some rows of a dropped space. This step is repeated until no rows are left."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, Empty, answer
from hashrange.engine.fetch import Moment

ROWS_PER_STEP = 500


class Request(msgspec.Struct, rename="pascal"):
    space: int


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    if request.space not in (yield from fetch.dropped_spaces()):
        return answer({"Done": True})
    return Decision([Empty(request.space, ROWS_PER_STEP)], {"Done": False})
