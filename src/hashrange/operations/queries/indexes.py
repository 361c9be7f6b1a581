"""Checks that an index can serve a read. Query, Scan and SELECT share these checks."""

from collections.abc import Iterable

from hashrange.engine.keys import invalid_parameter
from hashrange.model.errors import ValidationException
from hashrange.model.tables import Index, Table, TableOrIndex


def is_partial(source: TableOrIndex) -> bool:
    """Whether the source is an index that lacks some attributes of its items."""
    return isinstance(source, Index) and source.projection != "ALL"


def unprojected(table: Table, source: TableOrIndex, names: Iterable[str]) -> list[str]:
    """The names of the attributes that the source lacks, in the order of `names`. A table lacks
    none."""
    if not isinstance(source, Index) or source.projection == "ALL":
        return []
    held = {*table.key, *source.key, *source.include}
    return [name for name in names if name not in held]


def not_built(index: Index) -> ValidationException:
    """The error of a read of an index that is still being built."""
    return ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")


def check_projected(table: Table, source: TableOrIndex, names: Iterable[str]) -> None:
    """Raises ValidationException if a global index lacks requested attributes.

    Attributes that a local index lacks are read from the table.
    """
    if isinstance(source, Index) and not source.local:
        missing = unprojected(table, source, names)
        if missing:
            raise invalid_parameter(
                f"Global secondary index {source.name} does not project [{', '.join(missing)}]"
            )


def check_filter_projected(table: Table, source: TableOrIndex, names: Iterable[str]) -> None:
    """Raises ValidationException if the index, even a local one, lacks attributes of a filter.

    Source: ScyllaDB's tests on AWS. Do not call this for a Scan, whose filter treats such
    attributes as absent.
    """
    missing = unprojected(table, source, names)
    if missing:
        assert isinstance(source, Index)
        raise invalid_parameter(
            f"Secondary index {source.name} does not project one or more filter "
            f"attributes: [{', '.join(missing)}]"
        )
