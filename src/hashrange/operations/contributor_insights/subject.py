"""The table or global index that has Contributor Insights, and how it is described."""

from typing import Any

from hashrange.engine.fetch import Fetch, described_table
from hashrange.model.errors import ResourceNotFoundException
from hashrange.model.tables import Index, Table

Response = dict[str, Any]


def find(table_name: str, index_name: str | None) -> Fetch[tuple[Table, Table | Index]]:
    """The table with this name, and the owner of the insights, which is the index or else the
    table.

    Raises ResourceNotFoundException, also for a local index, which cannot have insights of its own.
    """
    table = yield from described_table(table_name)
    if index_name is None:
        return table, table
    index = table.index(index_name)
    if index is None or index.local:
        raise ResourceNotFoundException(
            f"Requested resource not found: Index: {index_name} not found for table: {table.name}"
        )
    return table, index


def shown(table: Table, owner: Table | Index, status: str) -> Response:
    """The members that all responses on Contributor Insights share. `owner` is the table or index
    that has the insights."""
    response = {"TableName": table.name}
    if isinstance(owner, Index):
        response["IndexName"] = owner.name
    response["ContributorInsightsStatus"] = status
    if owner.insights is not None:
        response["ContributorInsightsMode"] = owner.insights.mode
    return response


def status(owner: Table | Index, now: float) -> str:
    return "DISABLED" if owner.insights is None else owner.insights.status(now)
