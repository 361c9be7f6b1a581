"""Reading a model from another format, as the source of a Python module."""

from collections.abc import Callable, Mapping

from hashrange.design.errors import suggest
from hashrange.design.exchange import cloudformation, workbench_models
from hashrange.design.source.bare_model import bare_table
from hashrange.design.source.exported import ExchangeError, Exported
from hashrange.design.source.model_source import TableSource, write
from hashrange.design.source.table_shape import shape_of


def read(document: str, source: str) -> Exported:
    """The Python source of the model in a document.

    `source` is the document's format: "cloudformation" or "nosql-workbench". Raises ExchangeError
    if the document is not of that format.
    """
    reader = READERS.get(source)
    if reader is None:
        raise ExchangeError(f"{source!r} is not a format{suggest(source, READERS)}")
    return reader(document)


def _cloudformation(document: str) -> Exported:
    template = cloudformation.parse(document)
    tables: list[TableSource] = []
    warnings: list[str] = []
    for name, properties in cloudformation.table_resources(template).items():
        ttl = properties.get("TimeToLiveSpecification") or {}
        attribute = ttl.get("AttributeName") if ttl.get("Enabled", True) else None
        table = bare_table(shape_of(name, properties, attribute))
        recovery = properties.get(cloudformation.RECOVERY) or {}
        table.recovery = recovery.get("PointInTimeRecoveryEnabled") is True
        tables.append(table)
        warnings += [
            f"{name}: {member} is left out, because a model cannot express it"
            for member in properties
            if member not in cloudformation.UNDERSTOOD
        ]
    text = write(tables, "The tables of a CloudFormation template.")
    return Exported(text, tuple(warnings))


READERS: Mapping[str, Callable[[str], Exported]] = {
    "cloudformation": _cloudformation,
    "nosql-workbench": workbench_models.read,
}
