"""`/inspect`: partitions, item collections, load and hot keys as JSON.

`/inspect?table=NAME` shows one table. A request needs the token of the admin port, because the page
shows keys of items. Metrics and logs never show keys.
"""

from typing import Any, Protocol

from hashrange.server.admin.routes import Answer, Query, Route, Routes, json_answer, text_answer


class Inspected(Protocol):
    """The part of a database that `/inspect` uses."""

    def inspect(self, table_name: str | None = None, /) -> list[dict[str, Any]]: ...


class Inspection:
    def __init__(self, database: Inspected) -> None:
        self._database = database

    def routes(self) -> Routes:
        return {"/inspect": Route(self.show)}

    def show(self, query: Query) -> Answer:
        name = query.get("table")
        return shown(name, self._database.inspect(name))


def shown(table_name: str | None, tables: list[dict[str, Any]]) -> Answer:
    if table_name is not None and not tables:
        return text_answer(f"no table {table_name!a}", 404)
    return json_answer({"tables": tables})
