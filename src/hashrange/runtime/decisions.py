"""A decision with its tables looked up: what is left to answer are the reads of `kv`."""

from collections.abc import Generator
from typing import Any

from hashrange.engine.decision import Decide, Decision
from hashrange.engine.fetch import Moment, TableNamed, plain_name, usable
from hashrange.operations.operation import Operation
from hashrange.runtime.catalog import Tables, find_table

Steps = Generator[Any, Any, Decision]
"""The decision of a request. It yields only reads of `kv`."""


def begin(operation: Operation, request: Any, moment: Moment, tables: Tables) -> Steps:
    """The decision of a request, about to make its first read."""
    if not operation.on_table:
        return _with_tables(operation.decide(request, moment), tables)
    table = tables.get(request.given.table_name)
    if table is not None and table.active_at <= moment.now:
        return operation.decide(request, table, moment)
    return _on_table(operation, request, moment, tables)


def _on_table(operation: Operation, request: Any, moment: Moment, tables: Tables) -> Steps:
    table = yield from find_table(tables, plain_name(request.given.table_name))
    decision: Decision = yield from operation.decide(request, usable(table, moment), moment)
    return decision


def _with_tables(decide: Decide, tables: Tables) -> Steps:
    reply: Any = None
    try:
        while True:
            read = decide.send(reply)
            if type(read) is TableNamed:
                reply = yield from find_table(tables, read.name)
            else:
                reply = yield read
    except StopIteration as end:
        decision: Decision = end.value
        return decision
