"""Global tables: there are none.

Lists of global tables are empty. A request for a global table gets the error that it does not
exist.
"""

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, answer
from hashrange.engine.fetch import Moment
from hashrange.model.errors import (
    ApiError,
    GlobalTableNotFoundException,
    ResourceNotFoundException,
)
from hashrange.operations.operation import Json

LISTS: dict[str, str] = {
    "ListGlobalTables": "GlobalTables",
}
"""For each operation, the member of the response that is an empty list."""

NOT_GLOBAL = "Global table with name: '{}' does not exist."
_NO_GLOBAL_TABLE = (GlobalTableNotFoundException, NOT_GLOBAL, "GlobalTableName")
_NO_REPLICAS = (ResourceNotFoundException, NOT_GLOBAL, "TableName")
NOT_FOUND: dict[str, tuple[type[ApiError], str, str]] = {
    "DescribeGlobalTable": (
        GlobalTableNotFoundException,
        f"Global table not found: {NOT_GLOBAL}",
        "GlobalTableName",
    ),
    "DescribeGlobalTableSettings": _NO_GLOBAL_TABLE,
    "DescribeTableReplicaAutoScaling": _NO_REPLICAS,
    "UpdateGlobalTableSettings": _NO_GLOBAL_TABLE,
    "UpdateTableReplicaAutoScaling": _NO_REPLICAS,
}
"""For each operation, the error, its message, and the member that names the absent resource."""


def listed(name: str, request: Json, moment: Moment) -> Decide:
    yield from ()
    return answer({LISTS[name]: []})


def not_found(name: str, request: Json, moment: Moment) -> Decide:
    yield from ()
    error, message, member = NOT_FOUND[name]
    raise error(message.format(fetch.plain_name(request[member])))
