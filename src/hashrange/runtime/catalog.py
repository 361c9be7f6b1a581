"""A cache of table definitions, each set valid for one version of the catalog."""

from hashrange import kv
from hashrange.engine.keyspace import system
from hashrange.model.tables import Table
from hashrange.runtime.source import Source, row

Tables = dict[str, Table]


class Catalog:
    """Definitions by name. Tables are read when first asked for, never ahead."""

    def __init__(self) -> None:
        self.known: tuple[int, Tables] = (-1, {})
        """The version, and its definitions; one value, so that threads see them agree."""

    def at(self, version: int) -> Tables:
        """The definitions known of this version; to be added to by `find_table`."""
        known, tables = self.known
        if version > known:
            tables = {}
            self.known = (version, tables)
        return tables if version >= known else {}


def find_table(source: Source, tables: Tables, name: str) -> Table | None:
    """The definition of a table out of the cache, else out of the database."""
    table = tables.get(name)
    if table is None:
        value = row(source, kv.SYSTEM_SPACE, system.table_row(name))
        if value is None:
            return None
        table = tables[name] = system.decode(value, Table)
    return table
