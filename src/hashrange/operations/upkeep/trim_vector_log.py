"""Deletes some old records in the log of a vector index."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, Trim, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.vectors import views


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    index_name: str


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.find_table(request.table_name)
    index = table.vector_index(request.index_name) if table else None
    if index is None:
        return answer({"Done": True})
    keys = yield from views.outdated(index, moment.now)
    if not keys:
        return answer({"Done": True})
    return Decision([Trim(index.log, keys)], {"Done": False})
