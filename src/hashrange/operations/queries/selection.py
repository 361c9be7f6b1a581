"""The items of a table that a FilterSpecification selects.

They are the items that a Query or Scan with the same members would return. The service's messages
for an invalid FilterSpecification are not known; those of Query and Scan are used.
"""

from typing import Any, NamedTuple

import msgspec

from hashrange.engine import ranges
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.expressions import Condition, Projection
from hashrange.model.tables import Table
from hashrange.operations.queries import parameters, query, scan

EVERYTHING = Bounds(b"", None)


class Selection(NamedTuple):
    """The bounds of the rows, the filter of their items, if any, and the projection."""

    bounds: Bounds
    filter: Condition | None
    projection: Projection | None


def of(specification: dict[str, Any], table: Table) -> Selection:
    """The selection that a specification describes.

    Raises ValidationException if the specification is not valid, or does not fit the table.
    """
    body = msgspec.json.encode({**specification, "TableName": table.name})
    if "KeyConditionExpression" not in specification:
        chosen = scan.parse(body).parameters
        parameters.check_paths(table, chosen)
        return Selection(EVERYTHING, chosen.filter, chosen.projection)
    request = query.parse(body)
    request.key_condition.check_partition(table)
    bounds = ranges.of_query(table, request.key_condition.resolve(table, table.types))
    chosen = request.parameters
    if chosen.filter is not None:
        query.check_filter(request.body, table, chosen.filter)
    parameters.check_paths(table, chosen)
    return Selection(bounds, chosen.filter, chosen.projection)
