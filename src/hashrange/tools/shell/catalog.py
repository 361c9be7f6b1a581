"""The tables as a session knows them: their names, their keys, and the attributes seen so far."""

from collections.abc import Iterable, Mapping
from typing import Any

from hashrange.tools.shell.execution import Item
from hashrange.tools.target import Target

TABLES_MAX = 10_000
"""The largest number of table names that are listed."""
SAMPLED_ITEMS = 100
_ATTRIBUTES_MAX = 1_000


class Catalog:
    """The tables of a database. Their descriptions are cached for completion and the order of
    columns; `.schema` requests the description again."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._names: list[str] | None = None
        self._descriptions: dict[str, Mapping[str, Any]] = {}
        self._attributes: dict[str, set[str]] = {}
        self._sampled: set[str] = set()

    def tables(self, *, fresh: bool = False) -> list[str]:
        """The names of all tables, in order. Raises errors of boto3."""
        if self._names is None or fresh:
            names: list[str] = []
            for page in self._target.client.get_paginator("list_tables").paginate():
                names += page["TableNames"]
                if len(names) >= TABLES_MAX:
                    break
            self._names = names
        return self._names

    def forget(self) -> None:
        """Drop the cached names and descriptions, because tables have been created or deleted."""
        self._names = None
        self._descriptions.clear()

    def describe(self, table: str) -> Mapping[str, Any]:
        """The present description of a table. Raises errors of boto3."""
        description: Mapping[str, Any] = self._target.client.describe_table(TableName=table)[
            "Table"
        ]
        self._descriptions[table] = description
        return description

    def known(self, table: str) -> Mapping[str, Any] | None:
        """The description of a table, possibly outdated; None if it is not available."""
        if table not in self._descriptions:
            try:
                self.describe(table)
            except Exception:  # a request made only for convenience must not fail a statement
                return None
        return self._descriptions[table]

    def key(self, table: str, index: str | None = None) -> list[str]:
        """The key attributes of a table. If an index is named, its key attributes come first."""
        description = self.known(table)
        if description is None:
            return []
        sources = [each for each in indexes_of(description) if each["IndexName"] == index]
        schemas = [each["KeySchema"] for each in (*sources, description)]
        names = [element["AttributeName"] for schema in schemas for element in schema]
        return list(dict.fromkeys(names))

    def saw(self, table: str, items: Iterable[Item]) -> None:
        """Remember the attributes of items that a statement returned."""
        known = self._attributes.setdefault(table, set())
        for item in items:
            if len(known) < _ATTRIBUTES_MAX:
                known.update(item)

    def attributes(self, table: str) -> list[str]:
        """The known names of a table's attributes, for completion.

        The first call for a table also reads a few of its items, except on AWS, where reads are
        billed.
        """
        if table not in self._sampled and not self._target.is_aws:
            self._sampled.add(table)
            try:
                page = self._target.client.scan(TableName=table, Limit=SAMPLED_ITEMS)
            except Exception:  # as above
                page = {"Items": []}
            self.saw(table, page["Items"])
        description = self.known(table)
        defined = description["AttributeDefinitions"] if description else []
        names = {each["AttributeName"] for each in defined}
        return sorted(names | self._attributes.get(table, set()))

    def indexes(self, table: str) -> list[str]:
        description = self.known(table)
        return [each["IndexName"] for each in indexes_of(description)] if description else []


def indexes_of(description: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The indexes in a table's description."""
    return [
        *description.get("LocalSecondaryIndexes", ()),
        *description.get("GlobalSecondaryIndexes", ()),
    ]
