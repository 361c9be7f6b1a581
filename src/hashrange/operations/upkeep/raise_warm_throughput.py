"""Raises the warm throughput of an on-demand table or index to twice its peak throughput."""

import msgspec
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine import fetch, partitions
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Moment
from hashrange.model import limits


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    index_name: str | None
    read: int
    write: int


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.find_table(request.table_name)
    source = partitions.source(table, request.index_name) if table else None
    if table is None or source is None or not table.on_demand:
        return answer({"Done": True})
    read = min(request.read, limits.TABLE_READ_UNITS_MAX)
    write = min(request.write, limits.TABLE_WRITE_UNITS_MAX)
    changed = table.with_changed(replace(source, warm=source.warm.raised(read, write)))
    return Decision([TableChange(table, changed)], {"Done": False})
