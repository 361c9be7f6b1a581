"""Deletes some changes in a table's history that are older than the table's recovery period."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import backups, fetch
from hashrange.engine.decision import Decide, Decision, answer
from hashrange.engine.fetch import Moment


class Request(msgspec.Struct, rename="pascal"):
    table_name: str


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.find_table(request.table_name)
    changes = (yield from backups.trim_step(table, moment)) if table else []
    return Decision(changes, {"Done": False}) if changes else answer({"Done": True})
