"""Finds the key in the middle, by bytes, of a large partition. Another step splits it at this
key."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import partitions
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    index_name: str | None
    number: int
    size: int


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    place = yield from partitions.find(request.table_name, request.index_name, request.number)
    at = (yield from partitions.middle(place, request.size)) if place else None
    if at is None:
        return answer({"Done": True})
    return answer({"Done": False, "Next": _split(request, at)})


def _split(request: Request, at: bytes) -> dict[str, object]:
    body = {
        "TableName": request.table_name,
        "IndexName": request.index_name,
        "Number": request.number,
        "At": at,
    }
    return {"Operation": "upkeep.SplitPartition", "Body": body}
