"""Counts the next rows of a partition that was created by a split."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import partitions
from hashrange.engine.decision import Decide, Decision, answer
from hashrange.engine.fetch import Moment


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    index_name: str | None
    number: int


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    place = yield from partitions.find(request.table_name, request.index_name, request.number)
    if place is None or place.partition.counted_in is None:
        return answer({"Done": True})
    return Decision((yield from partitions.count_step(place)), {"Done": False})
