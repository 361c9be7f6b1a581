"""The parameters that Query and Scan share: their checks, and the response with a page of items."""

from msgspec import Struct

from hashrange.engine import keys, ranges, throughput
from hashrange.engine.capacity import Receipt
from hashrange.engine.decision import Decide, Response, answer
from hashrange.engine.fetch import Admit, Moment
from hashrange.engine.keys import invalid_parameter
from hashrange.engine.keyspace.bounds import Bounds
from hashrange.expressions import Condition, KeyQuery, Projection
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Index, Table, TableOrIndex
from hashrange.operations.common import inputs, number_sets, outputs
from hashrange.operations.queries import indexes, pages
from hashrange.operations.queries.pages import PageOptions

Given = requests.Query | requests.Scan


class Parameters(Struct, gc=False):
    """A checked Query or Scan, with its filter and projection parsed."""

    body: Given
    filter: Condition | None
    projection: Projection | None

    @property
    def weight(self) -> int:
        """The number of times that the request processes each row that it reads (see
        `engine.cost`)."""
        if self.filter:
            return 1 + self.filter.operators
        return int(self.projection is not None)


_SELECTS = ("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")


def _fault(request: Given, message: str) -> ValidationException:
    return inputs.in_envelope(request, ValidationException(message))


def check_select(request: Given) -> None:
    """Raises ValidationException if Select, which must be present, has an invalid value."""
    if request.select not in _SELECTS:
        raise _fault(
            request,
            f"Value '{request.select}' at 'select' failed to satisfy constraint: "
            f"Member must satisfy enum value set: [{', '.join(_SELECTS)}]",
        )


def check_selected(request: Given) -> None:
    """Raises ValidationException if Select, which must be present, contradicts other members."""
    select = request.select
    chosen = None
    if request.projection_expression is not None:
        chosen = "ProjectionExpression"
    elif request.attributes_to_get is not None:
        chosen = "AttributesToGet"
    if select == "SPECIFIC_ATTRIBUTES" and chosen is None:
        raise _fault(
            request,
            "Must specify the AttributesToGet or ProjectionExpression when choosing "
            "to get SPECIFIC_ATTRIBUTES",
        )
    if chosen and select != "SPECIFIC_ATTRIBUTES":
        raise _fault(
            request,
            f"Cannot specify the {chosen} when choosing to get "
            f"{'only the Count' if select == 'COUNT' else select}",
        )
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.index_name is None:
        raise _fault(
            request, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


def find_source(table: Table, request: Given) -> TableOrIndex:
    """The table or index to read. Raises ValidationException if the index does not exist or cannot
    serve the read."""
    if request.index_name is None:
        return table
    index = table.index(request.index_name)
    if index is None:
        raise ValidationException(
            f"The table does not have the specified index: {request.index_name}"
        )
    if not index.local:
        if request.consistent_read:
            raise ValidationException(
                "Consistent reads are not supported on global secondary indexes"
            )
        if index.building:
            raise indexes.not_built(index)
    return index


def check_projected(table: Table, source: TableOrIndex, parameters: Parameters) -> None:
    """Raises ValidationException if a global index lacks requested attributes."""
    if not isinstance(source, Index) or source.local or source.projection == "ALL":
        return
    if parameters.body.select == "ALL_ATTRIBUTES":
        raise invalid_parameter(
            f"Select type ALL_ATTRIBUTES is not supported for global secondary index "
            f"{source.name} because its projection type is not ALL"
        )
    if parameters.projection:
        indexes.check_projected(table, source, sorted(parameters.projection.attributes))


def check_paths(table: Table, parameters: Parameters) -> None:
    """Raises ValidationException if the filter or projection has a path into a key attribute."""
    for part in (parameters.projection, parameters.filter):
        if part and part.containers:
            keys.check_scalar(table, part.containers)


def read_page(
    table: Table,
    source: TableOrIndex,
    bounds: Bounds,
    parameters: Parameters,
    moment: Moment,
    query: KeyQuery | None = None,
) -> Decide:
    """Read a page within the bounds and return the response. `query` is None for a Scan."""
    request, filter_, projection = parameters.body, parameters.filter, parameters.projection
    chooses = projection is not None or request.select == "ALL_ATTRIBUTES"
    options = PageOptions(
        table,
        source,
        matches=filter_.matches if filter_ else None,
        project=projection.project if projection else None,
        weight=1 + filter_.operators if filter_ else 1,
        fetching=chooses and _must_fetch(table, source, parameters),
        consistent=bool(request.consistent_read),
        reverse=isinstance(request, requests.Query) and request.scan_index_forward is False,
        limit=request.limit,
        count_only=request.select == "COUNT",
        scanning=isinstance(request, requests.Scan),
    )
    mode = request.return_consumed_capacity
    receipt = Receipt() if mode or moment.settings.throughput != "off" else None
    if moment.asks_admission:
        raw = ranges.raw_of_query(query) if query is not None else b""
        yield from throughput.admit(Admit(table, source, bounds.start, written=False, raw=raw))
    page = yield from pages.read(options, (bounds,), receipt)
    response: Response = {} if options.count_only else {"Items": page.items}
    response["Count"] = page.count
    response["ScannedCount"] = page.scanned
    if page.ended_in is not None and page.last:
        response["LastEvaluatedKey"] = ranges.last_key(table, source, page.last)
    if receipt is not None:
        receipt.returned = page.count
        outputs.add_consumed(response, receipt, mode, request.table_name)
    return answer(number_sets.in_hash_order(response) if options.scanning else response, receipt)


def _must_fetch(table: Table, source: TableOrIndex, parameters: Parameters) -> bool:
    """Whether requested attributes must be read from the table, because a local index lacks them.
    (A global index that lacks them has already been refused.)"""
    if not indexes.is_partial(source):
        return False
    if parameters.body.select == "ALL_ATTRIBUTES":
        return True
    projection = parameters.projection
    return projection is not None and bool(
        indexes.unprojected(table, source, projection.attributes)
    )
