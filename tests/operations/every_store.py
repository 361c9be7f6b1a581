"""Databases of the tests that ask for an answer over every store."""

from pathlib import Path

import pytest


@pytest.fixture(
    params=[
        "memory",
        "file",
        pytest.param("postgresql", marks=pytest.mark.slow),
        pytest.param("citus", marks=pytest.mark.slow),
    ]
)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """The address of an empty database: None in memory, or of each store."""
    if request.param == "memory":
        return None
    if request.param == "file":
        return str(tmp_path / "a.db")
    schema: str = request.getfixturevalue("durable_postgres_server").new_schema()
    return f"{schema}&dialect=citus" if request.param == "citus" else schema
