"""Deletes some expired items, or does one step of building the index of expiry times."""

from math import ceil

import msgspec
from msgspec.structs import replace

from hashrange.decoders import decoder
from hashrange.engine import fetch
from hashrange.engine.decision import AnyChange, Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Moment
from hashrange.engine.indexes import backfill, expiry


class Request(msgspec.Struct, rename="pascal"):
    table_name: str


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    table = yield from fetch.find_table(request.table_name)
    if table is None or table.ttl is None:
        return answer({"Done": True})
    if table.ttl.building:
        step, rest = yield from backfill.next_step(table, table.ttl)
        ttl = replace(table.ttl, building=rest is not None, built_to=rest or b"")
        changes: list[AnyChange] = [step, TableChange(table, replace(table, ttl=ttl))]
        return Decision(changes, {"Done": False})
    items_max = ceil(moment.settings.expirations_per_second)
    expired = yield from expiry.expired(table, moment.now, items_max)
    if not expired:
        return answer({"Done": True})
    return Decision(expired, {"Done": False, "Deleted": len(expired)})
