"""A database in memory, and a way to see the stored items."""

from collections.abc import Callable
from typing import Any

import pytest
from small import no_pauses as no_pauses

import hashrange
from hashrange import design as st

Item = dict[str, Any]


@pytest.fixture
def database() -> hashrange.Database:
    return hashrange.connect()


@pytest.fixture
def stored(database: hashrange.Database) -> Callable[[st.Table], list[Item]]:
    """All items of a table, in wire form."""

    def scan(table: st.Table) -> list[Item]:
        found: list[Item] = database.execute("Scan", {"TableName": table.name})["Items"]
        return found

    return scan
