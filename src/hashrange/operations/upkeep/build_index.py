"""Does one step of building an index that UpdateTable added.

For an index that is built from the index log (see `build_from_log`), this is only the first step,
the last step, or a step that stores the progress in the table's definition.
"""

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
    """A request for the next step. Only a build from the index log uses `space`, `built_to` and
    `scanned`.

    The build of the index with this `space` has come to the key `built_to`. None means that it has
    come to the last item or, if the index was already `scanned`, to its end.
    """

    table_name: str
    index_name: str
    space: int | None = None
    built_to: bytes | None = None
    scanned: bool = False


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
    if index in table.built_from_log:
        if (request.space, request.scanned) != (index.space, index.scanned):
            return answer({"Done": False})
        if request.built_to is None and not index.scanned:
            return Decision([_change(table, index, scanned=True)], {"Done": False})
        return _reached(table, index, request.built_to)
    step, rest = yield from backfill.next_step(table, index)
    decision = _reached(table, index, rest)
    return Decision([step, *decision.changes], decision.respond)


def _reached(table: Table, index: Index | VectorIndex, key: bytes | None) -> Decision:
    if key is None:
        ended = {"building": False, "backfilling": None, "built_to": b"", "scanned": False}
        built = _change(table, index, **ended)
        return Decision([built], {"Done": True})
    return Decision([_change(table, index, built_to=key)], {"Done": False})


def _change(table: Table, index: Index | VectorIndex, **members: Any) -> TableChange:
    return TableChange(table, table.with_changed(replace(index, **members)))
