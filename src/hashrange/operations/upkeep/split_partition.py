"""Splits a partition of a table or a global index in two, at a key."""

from math import ceil

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import partitions
from hashrange.engine.decision import Decide, Decision, answer
from hashrange.engine.fetch import Moment


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    index_name: str | None
    number: int
    at: bytes


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    place = yield from partitions.find(request.table_name, request.index_name, request.number)
    if place is None:
        return answer({"Done": True})
    changes = partitions.split(place, request.at, ceil(moment.now * 1000))
    return Decision(changes, {"Done": not changes})
