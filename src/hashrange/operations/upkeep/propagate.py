"""Applies some records of a table's index log: writes the entries of its global indexes."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, Propagate, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.indexes import propagation


class Request(msgspec.Struct, rename="pascal"):
    """`keys` are the keys of the first records in some slots of the index log, when they were read.

    A record that no longer exists has been applied. A record that still exists is still the first
    of its slot, because records are appended at the end of a slot and removed in order.
    """

    table_name: str
    log: int
    keys: list[bytes]


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.find_table(request.table_name)
    if table is None or table.index_log != request.log:
        return answer({"Done": True})
    records = yield from propagation.records(request.log, request.keys)
    if not records:
        return answer({"Done": True})
    sizes = yield from propagation.sizes_there(table, records)
    return Decision([Propagate(table, records, sizes)], {"Done": False})
