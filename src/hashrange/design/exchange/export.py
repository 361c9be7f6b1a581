"""Writing a model in another format."""

from collections.abc import Callable, Mapping, Sequence

from hashrange.design.errors import suggest
from hashrange.design.exchange import (
    cloudformation,
    description,
    electrodb,
    iam,
    json_schema,
    terraform,
    workbench,
)
from hashrange.design.source.exported import ExchangeError, Exported
from hashrange.design.table import Table

WRITERS: Mapping[str, Callable[[Sequence[Table]], Exported]] = {
    "cloudformation": cloudformation.export,
    "terraform": terraform.export,
    "nosql-workbench": workbench.export,
    "iam": iam.export,
    "json": description.export,
    "jsonschema": json_schema.export,
    "electrodb": electrodb.export,
}


def export(tables: Table | Sequence[Table], to: str) -> Exported:
    """Write the tables in a format, e.g. "terraform".

    The formats are "cloudformation", "terraform", "nosql-workbench", "iam", "json", "jsonschema"
    and "electrodb". `.text` is the document, and `.warnings` has a line for each part of a model
    that the document does not express. Raises ExchangeError for an unknown format.
    """
    writer = WRITERS.get(to)
    if writer is None:
        raise ExchangeError(f"{to!r} is not a format{suggest(to, WRITERS)}")
    return writer([tables] if isinstance(tables, Table) else tables)
