"""One step of building an index that UpdateTable added."""

import msgspec

from hashrange.engine import backfill, fetch
from hashrange.engine.decision import AnyChange, Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Moment
from hashrange.model.tables import Index, Table


class Request(msgspec.Struct, rename="pascal"):
    table_name: str
    index_name: str


def parse(body: bytes) -> Request:
    return msgspec.json.decode(body, type=Request)


def decide(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.find_table(request.table_name)
    index = table.index(request.index_name) if table else None
    if table is None or index is None or not index.building:
        return answer({"Done": True})
    if not index.backfilling:
        second_phase = _with_index(table, msgspec.structs.replace(index, backfilling=True))
        return Decision([TableChange(table, second_phase)], lambda _: {"Done": False})
    step = yield from backfill.index_step(table, index)
    changes: list[AnyChange] = [step]
    done = step.resume is None
    if done:
        built = msgspec.structs.replace(index, building=False, backfilling=None)
        changes.append(TableChange(table, _with_index(table, built)))
    return Decision(changes, lambda _: {"Done": done})


def _with_index(table: Table, index: Index) -> Table:
    indexes = tuple(index if old.name == index.name else old for old in table.indexes)
    return msgspec.structs.replace(table, indexes=indexes)
