"""Gives an index log to each table that has none. From then on, its global indexes are updated from
the log.

A table usually gets its log when it is created. Only a database that was spread over several
machines later has tables without one.
"""

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange
from hashrange.engine.fetch import Moment


def parse(body: bytes) -> None:
    return None


def decide(request: None, moment: Moment) -> Decide:
    tables = yield from fetch.all_tables()
    lacking = [table for table in tables if table.index_log is None]
    spaces = yield from fetch.new_spaces(len(lacking))
    changes = [
        TableChange(table, replace(table, index_log=space))
        for table, space in zip(lacking, spaces, strict=True)
    ]
    return Decision(changes, {"Done": True})
