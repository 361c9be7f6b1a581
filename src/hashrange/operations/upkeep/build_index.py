"""Does one step of building an index that UpdateTable added."""

from typing import Any

import msgspec
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.indexes import backfill
from hashrange.model.tables import Index, Table, VectorIndex


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    index_name: str


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.find_table(request.table_name)
    index = table.named_index(request.index_name) if table else None
    if table is None or index is None or not index.building:
        return answer({"Done": True})
    if not index.backfilling:
        second_phase = _change(table, index, backfilling=True)
        return Decision([second_phase], {"Done": False})
    step, rest = yield from backfill.next_step(table, index)
    if rest is None:
        built = _change(table, index, building=False, backfilling=None, built_to=b"")
        return Decision([step, built], {"Done": True})
    return Decision([step, _change(table, index, built_to=rest)], {"Done": False})


def _change(table: Table, index: Index | VectorIndex, **members: Any) -> TableChange:
    return TableChange(table, table.with_changed(replace(index, **members)))
