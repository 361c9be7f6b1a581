"""A cache of table definitions, all of one version of the catalog."""

from collections.abc import Generator
from typing import Any

from hashrange import kv
from hashrange.engine.keyspace import system
from hashrange.model.tables import Table

Tables = dict[str, Table]


class Catalog:
    """The cached definitions of tables, by name. A definition is read when it is first needed."""

    def __init__(self) -> None:
        self.known: tuple[bytes | None, Tables] = (b"", {})
        """The version and its definitions: one value, so that every thread sees a consistent
        pair."""

    def at(self, version: bytes | None) -> Tables:
        """The cached definitions of this version; `find_table` adds to them.

        Versions are random and have no order. The cache keeps the version that was last requested.
        """
        known, tables = self.known
        if version != known:
            tables = {}
            self.known = (version, tables)
        return tables


def find_table(tables: Tables, name: str) -> Generator[kv.Read, Any, Table | None]:
    """The definition of a table from the cache, or else from the database."""
    table = tables.get(name)
    if table is None:
        [value] = yield kv.Get(((kv.SYSTEM_SPACE, system.table_row(name)),))
        if value is None:
            return None
        table = tables[name] = system.decode(value, Table)
    return table
